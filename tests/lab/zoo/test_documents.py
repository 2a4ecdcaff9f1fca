import pytest

from headwater_lab.zoo.documents import ZooDocument, is_not_modified

CHANGED_AT = 784111777.6
CHANGED = "Sun, 06 Nov 1994 08:49:37 GMT"
LATER = "Sun, 06 Nov 1994 09:00:00 GMT"
EARLIER = "Sun, 06 Nov 1994 08:00:00 GMT"
STRONG = ZooDocument(b"", "text/xml", '"v1"', CHANGED_AT)
WEAK = ZooDocument(b"", "text/xml", 'W/"v1"', CHANGED_AT)
UNTAGGED = ZooDocument(b"", "text/xml", None, CHANGED_AT)


@pytest.mark.parametrize(
    ("document", "if_none_match", "if_modified_since", "expected"),
    [
        (STRONG, None, None, False),
        (STRONG, '"v1"', None, True),
        (STRONG, 'W/"v1"', None, True),
        (WEAK, '"v1"', None, True),
        (WEAK, 'W/"v1"', None, True),
        (STRONG, '"v2"', None, False),
        (STRONG, '"a,b", W/"v1" , "c"', None, True),
        (STRONG, '"a,v1"', None, False),
        (STRONG, "*", None, True),
        (STRONG, "v1", None, False),
        (STRONG, '"v2"', LATER, False),
        (STRONG, '"v1"', EARLIER, True),
        (STRONG, None, CHANGED, True),
        (STRONG, None, LATER, True),
        (STRONG, None, EARLIER, False),
        (STRONG, None, "the day before yesterday", False),
        (UNTAGGED, '"v1"', LATER, False),
        (UNTAGGED, None, LATER, True),
        (ZooDocument(b"", "text/xml"), None, LATER, False),
    ],
)
def test_a_reader_gets_304_exactly_when_it_has_the_document(
    document: ZooDocument, if_none_match: str | None, if_modified_since: str | None, expected: bool
):
    assert is_not_modified(document, if_none_match, if_modified_since) is expected

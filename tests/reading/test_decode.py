import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.reading.decode import decode

RUSSIAN = "<rss>Привет, мир: это длинная строка</rss>"
JAPANESE = "<rss>日本語の見出し</rss>"
CHINESE = "<rss>中文网页的标题和内容</rss>"


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        pytest.param("<rss>é</rss>".encode(), None, "<rss>é</rss>", id="UTF-8 without any label"),
        pytest.param(
            codecs.BOM_UTF8 + "<rss>é</rss>".encode(), "text/xml; charset=latin-1", "<rss>é</rss>", id="BOM first"
        ),
        pytest.param(
            codecs.BOM_UTF16_LE + "<rss>é</rss>".encode("utf-16-le"), None, "<rss>é</rss>", id="UTF-16 LE BOM"
        ),
        pytest.param(
            codecs.BOM_UTF16_BE + "<rss>é</rss>".encode("utf-16-be"), None, "<rss>é</rss>", id="UTF-16 BE BOM"
        ),
        pytest.param(
            codecs.BOM_UTF32_LE + "<rss>é</rss>".encode("utf-32-le"), None, "<rss>é</rss>", id="UTF-32 LE BOM"
        ),
        pytest.param(
            codecs.BOM_UTF32_BE + "<rss>é</rss>".encode("utf-32-be"), None, "<rss>é</rss>", id="UTF-32 BE BOM"
        ),
        pytest.param("<rss>é</rss>".encode("utf-16-le"), None, "<rss>é</rss>", id="UTF-16 LE without BOM"),
        pytest.param("<rss>é</rss>".encode("utf-16-be"), None, "<rss>é</rss>", id="UTF-16 BE without BOM"),
        pytest.param("<rss>é</rss>".encode("utf-32-be"), None, "<rss>é</rss>", id="UTF-32 BE without BOM"),
        pytest.param(RUSSIAN.encode("koi8-r"), "text/xml; charset=koi8-r", RUSSIAN, id="HTTP charset"),
        pytest.param(
            RUSSIAN.encode("koi8-r"), 'text/xml;charset = "KOI8-R"', RUSSIAN, id="HTTP charset, oddly written"
        ),
        pytest.param(
            b'<?xml version="1.0" encoding="windows-1251"?>' + RUSSIAN.encode("cp1251"), None, RUSSIAN, id="declared"
        ),
        pytest.param(
            b"<?xml version='1.0' encoding='gb2312'?>" + CHINESE.encode("gb18030"), None, CHINESE, id="gb2312"
        ),
        pytest.param(
            b'<?xml version="1.0" encoding="iso-8859-1"?><a>\x93x\x94</a>', None, "<a>“x”</a>", id="1252 as latin-1"
        ),
        pytest.param(
            b'<?xml version="1.0" encoding="us-ascii"?><a>\x93x\x94</a>', None, "<a>“x”</a>", id="1252 as ASCII"
        ),
        pytest.param(
            b'<?xml version="1.0" encoding="utf-8"?><a>\x93x\x94 \xe9</a>', None, "<a>“x” é</a>", id="1252 as UTF-8"
        ),
        pytest.param(
            b'<?xml version="1.0" encoding="latin1"?><a>\xc3\xa9</a>', None, "<a>é</a>", id="UTF-8 as latin-1"
        ),
        pytest.param(
            "<a>é’</a>".encode() + b"\xe9", "text/xml; charset=utf-8", "<a>é’</a>é", id="UTF-8 with one stray byte"
        ),
        pytest.param(
            b'<?xml version="1.0" encoding="utf-8"?>' + CHINESE.encode(),
            "text/xml; charset=GBK",
            CHINESE,
            id="UTF-8 declared, and GBK by HTTP",
        ),
        pytest.param(
            b'<?xml version="1.0" encoding="utf-8"?>' + CHINESE.encode("gbk"),
            "text/xml; charset=GBK",
            CHINESE,
            id="GBK by HTTP, and UTF-8 declared",
        ),
        pytest.param(
            b'<?xml version="1.0" encoding="utf-8"?>' + JAPANESE.encode("iso2022_jp"),
            "text/xml; charset=iso-2022-jp",
            JAPANESE,
            id="ISO-2022-JP, which is all ASCII, and UTF-8 declared",
        ),
        pytest.param(
            b'<?xml version="1.0" encoding="x-sjis"?>' + JAPANESE.encode("cp932"),
            None,
            JAPANESE,
            id="a browser's label",
        ),
        pytest.param(b"\0<a>x</a>", None, "\0<a>x</a>", id="a stray zero byte in front"),
        pytest.param(b"<\0a>x</a>", None, "<\0a>x</a>", id="a stray zero byte in the first tag"),
        pytest.param("<a>é</a>".encode(), "text/xml; charset=nonsense", "<a>é</a>", id="unknown label"),
        pytest.param(
            b'<?xml version="1.0" encoding="utf-16"?><a>x</a>', None, "<a>x</a>", id="UTF-16 declared in ASCII"
        ),
        pytest.param(b"<a>x</a>", "text/xml; charset=idna", "<a>x</a>", id="a codec that is no encoding of pages"),
        pytest.param("<?xml version='1.0'?><a>x</a>".encode("cp037"), None, "<a>x</a>", id="EBCDIC"),
    ],
)
def test_bytes_are_read_in_the_encoding_they_are_really_in(body: bytes, content_type: str | None, expected: str):
    assert decode(body, content_type) == expected


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        pytest.param(b"<meta charset=koi8-r>" + RUSSIAN.encode("koi8-r"), "text/html", RUSSIAN, id="meta"),
        pytest.param(
            b'<meta http-equiv="Content-Type" content="text/html; charset=shift_jis">' + JAPANESE.encode("cp932"),
            "text/html",
            JAPANESE,
            id="meta http-equiv",
        ),
        pytest.param(
            b"<meta charset=koi8-r>" + RUSSIAN.encode("cp1251"), "text/html; charset=cp1251", RUSSIAN, id="HTTP first"
        ),
        pytest.param(b"<meta charset=cp1251>" + RUSSIAN.encode(), None, RUSSIAN, id="UTF-8 as windows-1251"),
        pytest.param(
            b"<meta charset=cp1251>\x98" + RUSSIAN.encode("cp1251"), None, f"\ufffd{RUSSIAN}", id="one invalid byte"
        ),
        pytest.param(b"<meta charset=utf-7>+ADw-b+AD4-", None, ">+ADw-b+AD4-", id="UTF-7 is never read"),
        pytest.param(b"<meta charset=hex>" + RUSSIAN.encode(), None, RUSSIAN, id="not an encoding of text"),
        pytest.param("<p>é’</p>".encode("cp1252"), "text/html", "<p>é’</p>", id="windows-1252 without a label"),
    ],
)
def test_in_html_a_meta_names_the_encoding_too(body: bytes, content_type: str | None, expected: str):
    assert decode(body, content_type, html=True).endswith(expected)


def test_outside_html_a_meta_is_text_like_any_other():
    assert decode(b"<rss>&lt;<meta charset=koi8-r>" + "é".encode("cp1252")) == "<rss>&lt;<meta charset=koi8-r>é"


@given(st.binary(max_size=200), st.sampled_from([None, "a;charset=big5", "a;charset=utf-16", "a;charset=punycode"]))
def test_any_bytes_become_text(body: bytes, content_type: str | None):
    assert isinstance(decode(body, content_type), str)
    assert isinstance(decode(body, content_type, html=True), str)

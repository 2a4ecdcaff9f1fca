"""The text of a query is read into its tree, and an error points at the place."""

from datetime import date, timedelta
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headwater.errors import QueryInvalid
from headwater.query.fields import FIELDS, phrase
from headwater.query.grammar import CHARACTERS_MAX, DEPTH_MAX, LEAVES_MAX, parse
from headwater.query.show import show
from headwater.query.tree import is_limited, leaves_of
from headwater.query.types import (
    And,
    Audience,
    Before,
    Comparator,
    Everything,
    HasEnclosure,
    InField,
    InState,
    LabelField,
    Labelled,
    Node,
    Not,
    OfCategory,
    OfHost,
    OfQuality,
    OfSource,
    OfStory,
    Or,
    StateField,
    Tagged,
    TextField,
    Within,
    Words,
)

ID = UUID(int=7)
A, B, C = Words("a"), Words("b"), Words("c")


ACCENTED = "Cafe\u0301"  # as some sites and file systems write it: a letter, then its accent


@pytest.mark.parametrize("text", ["{}", '"{}"', "title:{}", 'source:"{}"', "tag:{}", "author:{}"])
def test_a_letter_and_its_accent_are_one_character_in_every_leaf(text: str) -> None:
    typed = parse(text.format(ACCENTED), Audience.READER).tree

    assert typed == parse(text.format("Caf\u00e9"), Audience.READER).tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("*", Everything()),
        ("a", A),
        (" a  b ", And((A, B))),
        ("a b or c", Or((And((A, B)), C))),
        ("a OR b Or c", Or((A, B, C))),
        ("a (b or c)", And((A, Or((B, C))))),
        ("a (b c)", And((A, B, C))),
        ("a or (b or c)", Or((A, B, C))),
        ("-a", Not(A)),
        ("--a", A),
        ("-(a b)", Not(And((A, B)))),
        ('-"a b"', Not(Words("a b"))),
        ("well-known", Words("well-known")),
        ("a - b — & c", And((A, B, C))),
        ('"a  b"', Words("a b")),
        ("“a b” „c“", And((Words("a b"), C))),
        (r'"a \"b\" \\"', Words(r'a "b" ' + "\\")),
        ('"or"', Words("or")),
        ("12:30", Words("12:30")),
        ("https://example.org/a", Words("https://example.org/a")),
        ("Ukraine: news", And((Words("Ukraine"), Words("news")))),
        ("title:a", InField(TextField.TITLE, "a")),
        ('Author:"Ann Smith"', InField(TextField.AUTHOR, "Ann Smith")),
        ("source:guardian", InField(TextField.SOURCE, "guardian")),
        (f"source:{ID}", OfSource(ID)),
        ("category:news/local", OfCategory("news/local")),
        ('category:" News / Local /"', OfCategory("News/Local")),
        ("tag:later", Tagged("later")),
        ("tag:#C#", Tagged("c#")),
        ("tag:İstanbul", Tagged("İstanbul".lower())),
        ("topic:sport", Labelled(LabelField.TOPIC, "sport", (("topic", "sport"),))),
        ("topic:technology", Labelled(LabelField.TOPIC, "technology", (("category", "Technology"),))),
        (
            "topic:politics",
            Labelled(LabelField.TOPIC, "politics", (("category", "Politics"), ("topic", "politics and government"))),
        ),
        (
            "topic:business-finance",
            Labelled(LabelField.TOPIC, "business-finance", (("category", "Business & Finance"),)),
        ),
        ("type:press-release", Labelled(LabelField.TYPE, "press-release", (("type", "press release"),))),
        ("lang:EN", Labelled(LabelField.LANGUAGE, "EN", (("language", "en"),))),
        ("sentiment:mixed", Labelled(LabelField.SENTIMENT, "mixed", (("sentiment", "mixed"),))),
        ('keyword:"Rare Earth"', Labelled(LabelField.KEYWORD, "Rare Earth", (("keyword", "Rare Earth"),))),
        ("quality:>60", OfQuality(Comparator.MORE, 60)),
        ("quality:<=5", OfQuality(Comparator.AT_MOST, 5)),
        ("quality:100", OfQuality(Comparator.EQUAL, 100)),
        ("host:Example.ORG", OfHost("example.org")),
        ("host:bücher.example", OfHost("xn--bcher-kva.example")),
        (f"story:{ID}", OfStory(ID)),
        ("is:unread -is:starred", And((InState(StateField.UNREAD), Not(InState(StateField.STARRED))))),
        ("has:enclosure", HasEnclosure()),
        ("newer:2d", Within(timedelta(days=2))),
        ("older:3mo", Not(Within(timedelta(days=90)))),
        ("-older:1w", Within(timedelta(days=7))),
        ("before:2026-11-01", Before(date(2026, 11, 1))),
        ("after:2026-11-01", Not(Before(date(2026, 11, 2)))),
    ],
)
def test_a_query_is_read_into_its_tree(text: str, tree: Node) -> None:
    assert parse(text, Audience.READER).tree == tree
    assert parse(show(tree), Audience.READER).tree == tree


@pytest.mark.parametrize(
    ("text", "message", "place", "suggestion"),
    [
        ("", "empty", "", ""),
        ("— !", "empty", "— !", ""),
        ("a topik:sport", "Unknown field `topik:`, did you mean `topic:`?", "topik:", "topic:"),
        ("topik: sport", "Unknown field", "topik:", "topic:"),
        ("language:en", "did you mean `lang:`?", "language:", "lang:"),
        ("foobar:x", "write it in quotation marks", "foobar:", ""),
        ("a topic: b", "needs a value", "topic:", ""),
        ("title:(a b)", "in front of each word", "title:", ""),
        ("topic:sprot", "did you mean `sport`?", "sprot", "sport"),
        ("topic:xyz", "Use one of: arts", "xyz", ""),
        ('type:"press releas"', 'did you mean `"press release"`?', '"press releas"', '"press release"'),
        ("is:unred", "did you mean `unread`?", "unred", "unread"),
        ("has:fun", "Use one of: enclosure", "fun", ""),
        ("quality:>101", "0 to 100", ">101", ""),
        ("lang:klingon", "code of a language", "klingon", ""),
        ("host:https://example.org/a", "did you mean `example.org`?", "https://example.org/a", "example.org"),
        ("host:a b host:..", "name of a host", "..", ""),
        ("host:.example.org", "did you mean `example.org`?", ".example.org", "example.org"),
        ("host:*.example.org", "did you mean `example.org`?", "*.example.org", "example.org"),
        ("story:1", "id of a story", "1", ""),
        ("newer:2m", "2mo", "2m", ""),
        ("newer:2026-11-01", "after:2026-11-01", "2026-11-01", ""),
        ("older:0d", "a time such as", "0d", ""),
        ("older:101y", "At most 100 years", "101y", ""),
        ("before:2026-13-01", "no such day", "2026-13-01", ""),
        ("before:yesterday", "needs a day", "yesterday", ""),
        ("after:9999-12-31", "no day after", "9999-12-31", ""),
        ('title:"-"', "letter or digit", '"-"', ""),
        ('a "-"', "letter or digit", '"-"', ""),
        ('a "b', "not closed", '"', ""),
        ("a (b", "not closed", "(", ""),
        ("a b)", "no opening", ")", ""),
        ("a ()", "nothing in these parentheses", "(", ""),
        ("or a", "Nothing is before", "or", ""),
        ("a or", "Nothing follows", "or", ""),
        ("a -or", "nothing to exclude", "-", ""),
        ("a* b", "Parts of words", "a*", ""),
        ("a\0", "control character", "a\0", ""),
        ("a \ud800b", "control character", "\ud800b", ""),
        ("x" * 201, "200 characters", "x" * 201, ""),
    ],
)
def test_an_error_points_at_the_place(text: str, message: str, place: str, suggestion: str) -> None:
    with pytest.raises(QueryInvalid) as caught:
        parse(text, Audience.READER)

    error = caught.value
    assert message in str(error)
    assert text[error.position : error.position + error.length] == place
    assert error.suggestion == suggestion


@pytest.mark.parametrize("text", ["is:unread", "tag:later"])
def test_fields_of_a_reader_are_refused_in_a_query_about_all_articles(text: str) -> None:
    with pytest.raises(QueryInvalid, match="about one reader"):
        parse(text, Audience.EVERYONE)


@pytest.mark.parametrize(
    ("most", "more"),
    [
        (" ".join(["a" * 199] * 10), "a" * (CHARACTERS_MAX + 1)),
        (" ".join(["a"] * LEAVES_MAX), " ".join(["a"] * (LEAVES_MAX + 1))),
        ("(" * DEPTH_MAX + "a" + ")" * DEPTH_MAX, "(" * (DEPTH_MAX + 1) + "a" + ")" * (DEPTH_MAX + 1)),
        ("-" * DEPTH_MAX + "a", "-" * (DEPTH_MAX + 1) + "a"),
    ],
    ids=["characters", "leaves", "parentheses", "signs"],
)
def test_the_size_of_a_query_is_limited(most: str, more: str) -> None:
    assert parse(most, Audience.READER)
    with pytest.raises(QueryInvalid, match="at most"):
        parse(more, Audience.READER)


@pytest.mark.parametrize(
    ("text", "limited"),
    [
        ("a", True), ("*", True), ("* -a", True), ("-a", False), ("a -b", True), ("-a -b", False), ("a or -b", False),
        ("a or *", True), ("-(a -b)", False), ("-(-a or -b)", True), ("-(-a -b)", True), ("-*", False),
    ],
)  # fmt: skip
def test_a_query_is_limited_if_an_article_must_have_something(text: str, limited: bool) -> None:
    assert is_limited(parse(text, Audience.READER).tree) is limited


VALUES = ["a", '"a b"', "sport", "en", "mixed", "article", ">60", "unread", "enclosure", "2d", "2026-11-01", "x.org"]
PIECES = st.sampled_from([
    "a", "or", "-", "(", ")", '"', "“", "”", " ", "*", "\\", ":", "é", "的", "🎉", "\0", "\u2028", "'", "//", str(ID),
    *[f"{name}:" for name in FIELDS], *VALUES,
])  # fmt: skip
TEXTS = st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=60)


@given(TEXTS, st.sampled_from(Audience))
@example("-()", Audience.READER)
@example("a:)(", Audience.READER)
@example('"' * 3, Audience.READER)
def test_any_text_is_a_query_that_is_written_and_read_as_the_same_or_an_error_within_it(
    text: str, audience: Audience
) -> None:
    try:
        tree = parse(text, audience).tree
    except QueryInvalid as error:
        refused = error
    else:
        assert list(leaves_of(tree))
        assert parse(show(tree), audience).tree == tree
        return
    assert 0 <= refused.position <= refused.position + refused.length <= len(text)
    assert str(refused).endswith((".", "?"))


LETTERS = st.characters(exclude_categories=["Cc", "Cs"])
WELL_FORMED = st.recursive(
    st.sampled_from(["a", "*", '"a b"', '"or"', "é", *VALUES[:1]])
    | st.sampled_from([
        "topic:sport", "type:page", "lang:pt", "quality:<3", "quality:3", 'title:"a b"', "author:x", "source:y",
        'category:"a b/c"', "tag:t", "host:a.example", f"story:{ID}", "is:read", "has:enclosure", "newer:36h",
        "older:1w", "before:2026-01-01", "after:2026-01-01", 'keyword:"A b"', f"source:{ID}", 'tag:"a \\"b\\""',
    ])
    | st.text(LETTERS, max_size=8).map(lambda text: phrase("x" + text)),
    lambda inner: st.tuples(inner, inner).map(" ".join)
    | st.tuples(inner, inner).map(" or ".join)
    | inner.map(lambda part: f"-({part})")
    | inner.map(lambda part: f"({part})"),
    max_leaves=12,
)  # fmt: skip


@given(WELL_FORMED)
def test_a_query_in_normal_form_reads_as_itself(text: str) -> None:
    tree = parse(text, Audience.READER).tree
    written = show(tree)

    assert parse(written, Audience.READER).tree == tree
    assert show(parse(written, Audience.READER).tree) == written

"""Lexemes outside PostgreSQL say what `@@` says."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headwater.db import Connection
from headwater.query import store
from headwater.query.lexemes import SIMPLE, WORD_MAX_CHARS, Lexemes, has_phrase, parse_phrase, parse_vector
from tests.query.generated import WORDS

pytestmark = pytest.mark.database

# Words, and any text that PostgreSQL can store.
tokens = st.sampled_from(WORDS) | st.text(
    st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cs"]), max_size=6
)
texts = st.lists(tokens, max_size=12).map(" ".join)


@settings(max_examples=50)
@given(texts, st.lists(tokens, max_size=3).map(" ".join), st.sampled_from([SIMPLE, "english", "german", "french"]))
@example("it's a 'quoted' \\ text", "quoted \\ text", SIMPLE)
@example("a b a", "a a", SIMPLE)
@example("rock and the roll", "rock and the roll", "english")
@example("word " * 17_000 + "end", "word end", SIMPLE)  # positions end at 16,383
@example("word " * 300 + "end", "word end", SIMPLE)  # a lexeme has at most 256 positions
async def test_a_phrase_is_found_as_by_postgresql(shared_conn: Connection, text: str, phrase: str, config: str) -> None:
    cur = await shared_conn.execute(
        """
        SELECT vector::text, query::text, vector @@ query
        FROM to_tsvector(%(config)s::regconfig, %(text)s) AS vector,
            phraseto_tsquery(%(config)s::regconfig, %(phrase)s) AS query
        """,
        {"config": config, "text": text, "phrase": phrase},
    )
    row = await cur.fetchone()
    assert row is not None
    vector, query, expected = row
    parsed = parse_phrase(query)
    assert parsed is not None
    assert has_phrase(parse_vector(vector), parsed) is expected


@pytest.mark.parametrize("text", ["'a' & 'b'", "!'a'", "'a' <-> ( 'b' | 'c' )", "'a' <->", "a"])
def test_an_expression_that_is_no_phrase_is_not_read_as_one(text: str) -> None:
    assert parse_phrase(text) is None


@pytest.mark.parametrize(
    "word", ["\0", "a\0b", "\ud800", "x" * (WORD_MAX_CHARS + 1), "🚀" * 600, "", " ", "***", "' & | ! <-> :*", "&amp;"]
)
async def test_a_word_without_lexeme_is_loaded_as_such(conn: Connection, word: str) -> None:
    lexemes = Lexemes()
    await store.load_lexemes(conn, into=lexemes, words={SIMPLE: {word, "harbour"}, "english": {word, "harbours"}})
    assert lexemes.of(SIMPLE, word) == lexemes.of("english", word) == ()
    assert lexemes.of(SIMPLE, "harbour") == lexemes.of("english", "harbours") == (("harbour", 0),)


async def test_the_longest_word_is_looked_up_whole(conn: Connection) -> None:
    word = "😀a" * (WORD_MAX_CHARS // 2)  # four bytes and one
    lexemes = Lexemes()
    await store.load_lexemes(conn, into=lexemes, words={SIMPLE: {word}})
    cur = await conn.execute("SELECT phraseto_tsquery('simple', %(word)s)::text", {"word": word})
    assert await cur.fetchone() == (" <-> ".join(f"'{lexeme}'" for lexeme, _ in lexemes.of(SIMPLE, word)),)
    assert lexemes.of(SIMPLE, word)


async def test_words_are_loaded_once(conn: Connection) -> None:
    lexemes = Lexemes()
    assert lexemes.missing(SIMPLE, ["a", "b"]) == {"a", "b"}
    await store.load_lexemes(conn, into=lexemes, words={SIMPLE: {"a"}})
    assert lexemes.missing(SIMPLE, ["a", "b"]) == {"b"}
    lexemes.keep_only({"b"})
    assert lexemes.missing(SIMPLE, ["a", "b"]) == {"a", "b"}

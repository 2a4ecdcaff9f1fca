"""Reads the text of a query into its typed tree. docs/query.md describes the language. Pure."""

from collections.abc import Sequence
from typing import Final

from headwater.errors import QueryInvalid
from headwater.query.fields import is_field, read_field, suggest_field, unknown_field
from headwater.query.lexer import Token, TokenKind, has_word, tokens_of
from headwater.query.tree import all_of, any_of, negated
from headwater.query.types import Audience, Everything, Node, Query, Words

CHARACTERS_MAX: Final = 2_000
LEAVES_MAX: Final = 64
DEPTH_MAX: Final = 16
_SURELY: Final = 0.8  # `Status: …` in a pasted title is a word, `topik: sport` a mistake


def parse(text: str, audience: Audience) -> Query:
    """The query that a text is. Raises QueryInvalid."""
    if len(text) > CHARACTERS_MAX:
        raise QueryInvalid(
            f"A query has at most {CHARACTERS_MAX:,} characters", position=CHARACTERS_MAX,
            length=len(text) - CHARACTERS_MAX,
        )  # fmt: skip
    return Query(text, _Parser(list(tokens_of(text)), len(text), audience).whole())


class _Parser:
    """Recursive descent: alternatives of conjunctions of parts, each of which may be negated."""

    def __init__(self, tokens: Sequence[Token], end: int, audience: Audience) -> None:
        self._tokens = tokens
        self._end = end
        self._audience = audience
        self._at = 0
        self._leaves = 0
        self._depth = 0

    def whole(self) -> Node:
        if not self._tokens:
            raise QueryInvalid("The query is empty", position=0, length=self._end)
        tree = self._alternatives()
        if (left := self._peek()) is not None:
            raise left.invalid("There is no opening parenthesis for this one")
        return tree

    def _peek(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _is_next(self, *kinds: TokenKind) -> bool:
        token = self._peek()
        return token is not None and token.kind in kinds

    def _take(self) -> Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _alternatives(self) -> Node:
        parts = [self._conjunction()]
        while self._is_next(TokenKind.OR):
            self._take()
            parts.append(self._conjunction())
        return any_of(parts)

    def _conjunction(self) -> Node:
        parts: list[Node] = []
        while self._peek() is not None and not self._is_next(TokenKind.OR, TokenKind.CLOSE):
            parts.append(self._part())
        if not parts:
            raise self._missing()
        return all_of(parts)

    def _missing(self) -> QueryInvalid:
        """Nothing is where a part of the query must be."""
        before = self._tokens[self._at - 1] if self._at else None
        if before is not None and before.kind is TokenKind.OR:
            return before.invalid('Nothing follows `or`. To search for the word, write it as `"or"`')
        if before is not None and before.kind is TokenKind.OPEN:
            return before.invalid("There is nothing in these parentheses")
        found = self._peek()
        if found is not None and found.kind is TokenKind.OR:
            return found.invalid('Nothing is before `or`. To search for the word, write it as `"or"`')
        return (found or self._tokens[-1]).invalid("There is no opening parenthesis for this one")

    def _part(self) -> Node:
        token = self._take()
        match token.kind:
            case TokenKind.NOT:
                return self._negation(token)
            case TokenKind.OPEN:
                return self._group(token)
            case _:
                return self._leaf(token)

    def _negation(self, token: Token) -> Node:
        following = self._peek()
        if following is None or following.start != token.end or following.kind in {TokenKind.OR, TokenKind.CLOSE}:
            raise token.invalid("There is nothing to exclude after this sign")
        self._enter(token)
        part = self._part()
        self._depth -= 1
        return negated(part)

    def _group(self, token: Token) -> Node:
        self._enter(token)
        part = self._alternatives()
        if not self._is_next(TokenKind.CLOSE):
            raise token.invalid("This parenthesis is not closed")
        self._take()
        self._depth -= 1
        return part

    def _enter(self, token: Token) -> None:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise token.invalid(f"A query is nested at most {DEPTH_MAX} deep")

    def _leaf(self, token: Token) -> Node:
        self._leaves += 1
        if self._leaves > LEAVES_MAX:
            raise token.invalid(f"A query has at most {LEAVES_MAX} words and fields")
        match token.kind:
            case TokenKind.FIELD:
                return self._field(token)
            case TokenKind.EVERYTHING:
                return Everything()
            case _:
                return _words(token)

    def _field(self, name: Token) -> Node:
        value = self._peek()
        has_value = value is not None and value.start == name.end
        if value is not None and has_value and value.kind in {TokenKind.WORD, TokenKind.PHRASE}:
            if not is_field(name.text):
                raise unknown_field(name)
            return read_field(name, self._take(), self._audience)
        if is_field(name.text):
            group = " Write the field in front of each word in the parentheses" if has_value else ""
            raise name.invalid(f"`{name.text}:` needs a value, without a space before it.{group}".rstrip("."))
        if has_value or suggest_field(name.text, closeness=_SURELY):
            raise unknown_field(name)
        return Words(name.text)  # `Ukraine: what we know`


def _words(token: Token) -> Words:
    if not has_word(token.text):
        raise token.invalid("There is no letter or digit to search for")
    if token.kind is TokenKind.WORD and (token.text[0] == "*" or token.text[-1] == "*"):
        raise token.invalid("Parts of words are not searched, and `*` for everything is written by itself")
    return Words(token.text)

"""Splits the text of a query into tokens, each with its place. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from headwater.errors import QueryInvalid
from headwater.text import composed, printable

TOKEN_MAX = 200  # characters of a word, phrase or value: PostgreSQL refuses a word of 2,048 bytes
_CLOSING: Final = {'"': '"', "“": "”“", "”": "”", "„": "“”"}  # what ends a phrase, by what begins it
_BARE: Final = re.compile(r'[^\s()"“”„]+')
_FIELD: Final = re.compile(r"([^\W\d]\w*):(?!//)")  # not the scheme of a URL
_SPACE: Final = re.compile(r"\s+")


class TokenKind(Enum):
    WORD = auto()
    PHRASE = auto()
    FIELD = auto()  # `name:`; its value is the next token if that begins where this ends
    OR = auto()
    NOT = auto()
    EVERYTHING = auto()
    OPEN = auto()
    CLOSE = auto()


@dataclass(frozen=True, slots=True)
class Token:
    kind: TokenKind
    text: str  # of a phrase, what is between the quotation marks; of a field, its name
    start: int
    end: int

    def invalid(self, problem: str, suggestion: str = "") -> QueryInvalid:
        return QueryInvalid(problem, position=self.start, length=self.end - self.start, suggestion=suggestion)


def tokens_of(text: str) -> Iterator[Token]:
    """The tokens of a query. Words without letter or digit are left out, with their sign. Raises QueryInvalid."""
    at = 0
    while at < len(text):
        if space := _SPACE.match(text, at):
            at = space.end()
        elif text[at] in _CLOSING:
            token = _phrase(text, at)
            at = token.end
            yield token
        elif text[at] in "()":
            yield Token(TokenKind.OPEN if text[at] == "(" else TokenKind.CLOSE, text[at], at, at + 1)
            at += 1
        else:
            found = list(_bare(text, at))
            at = found[-1].end
            is_value = any(token.kind is TokenKind.FIELD for token in found)
            if is_value or found[-1].kind is not TokenKind.WORD or has_word(found[-1].text):
                yield from found


def has_word(text: str) -> bool:
    """Whether there is a letter or digit that could be found."""
    return any(character.isalnum() for character in text)


def _phrase(text: str, at: int) -> Token:
    closing = _CLOSING[text[at]]
    found: list[str] = []
    end = at + 1
    while end < len(text) and text[end] not in closing:
        if text[end] == "\\" and text[end + 1 : end + 2] in {'"', "\\"}:
            end += 1
        found.append(text[end])
        end += 1
    if end >= len(text):
        raise QueryInvalid("This quotation mark is not closed", position=at, length=1)
    return _checked(Token(TokenKind.PHRASE, " ".join("".join(found).split()), at, end + 1))


def _bare(text: str, at: int) -> Iterator[Token]:
    """What is written without quotation marks, up to a space or parenthesis."""
    found = _BARE.match(text, at)
    end = found.end() if found else at + 1
    if text[at] == "-":
        if end > at + 1 or text[end : end + 1] in {"(", *_CLOSING}:
            yield Token(TokenKind.NOT, "-", at, at + 1)
            at += 1
        else:  # a dash between spaces
            yield Token(TokenKind.WORD, "-", at, end)
            return
    while at < end and text[at] == "-":
        yield Token(TokenKind.NOT, "-", at, at + 1)
        at += 1
    if at < end:
        yield from _word(text, at, end)


def _word(text: str, at: int, end: int) -> Iterator[Token]:
    word = text[at:end]
    if named := _FIELD.match(word):
        yield Token(TokenKind.FIELD, named[1], at, at + named.end())
        if named.end() < len(word):
            yield _checked(Token(TokenKind.WORD, word[named.end() :], at + named.end(), end))
    elif word == "*":
        yield Token(TokenKind.EVERYTHING, word, at, end)
    elif word.lower() == "or":
        yield Token(TokenKind.OR, word, at, end)
    else:
        yield _checked(Token(TokenKind.WORD, word, at, end))


def _checked(token: Token) -> Token:
    """A word, phrase or value, composed, as texts are stored. Raises QueryInvalid."""
    token = replace(token, text=composed(token.text))
    if len(token.text) > TOKEN_MAX:
        raise token.invalid(f"A word or phrase has at most {TOKEN_MAX} characters")
    if printable(token.text) != token.text:
        raise token.invalid("A control character is not possible here")
    return token

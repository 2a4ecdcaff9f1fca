"""Imported by processes of the sandbox: a text with one of these words ends the process, as a crash in a library would,
or forges the answer."""

import os

from headwater.understanding import features, loaded
from headwater.understanding.types import Guess

POISON = "Xyzzyx"
FORGERY = "Plughplugh"
_find_language = features.find_language
assert loaded


def find_language(text: str, declared: str = "") -> Guess | None:
    if POISON in text:
        os.abort()
    if FORGERY in text:
        return Guess("a language with a name that is longer than the database can store " * 3, 1.0)
    return _find_language(text, declared)


features.find_language = find_language

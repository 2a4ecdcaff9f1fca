"""The language of a text, from its letters and from what its page declares."""

import re
from functools import cache
from typing import Final, cast

from py3langid.langid import MODEL_FILE, LanguageIdentifier

from headwater.understanding.types import Guess

_READ_CHARS: Final = 400
_LEAST_LETTERS: Final = 20  # below, a name or a brand decides
_LEAST_UNSPACED: Final = 6
_LEAST_SCORE: Final = 0.5
_DECLARED_WEIGHT: Final = 5  # a declared language is this many times as likely; templates often declare a wrong one
_NO_LANGUAGE: Final = "zxx"  # what py3langid says of text that is none
_CODE: Final = re.compile(r"[a-z]{2,3}(?=$|[-_])")
_LETTER: Final = re.compile(r"[^\W\d_]")
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def find_language(text: str, declared: str = "") -> Guess | None:
    """As in en or pt. None: the text is too short, or several languages are as likely."""
    text = text[:_READ_CHARS]
    if len(_LETTER.findall(text)) < _LEAST_LETTERS and len(_UNSPACED.findall(text)) < _LEAST_UNSPACED:
        return None
    code = _CODE.match(declared.strip().lower())
    ranked = cast("list[tuple[str, float]]", _identifier().rank(text))  # pyright: ignore[reportUnknownMemberType]
    scores = {language: score * (_DECLARED_WEIGHT if code and language == code[0] else 1) for language, score in ranked}
    best = max(scores, key=lambda language: scores[language])
    score = scores[best] / sum(scores.values())
    return Guess(best, score) if score >= _LEAST_SCORE and best != _NO_LANGUAGE else None


@cache
def _identifier() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)  # pyright: ignore[reportUnknownMemberType]

"""The request for the tags of an article: instructions first, then the article as data. Its text is hostile.

The article is a JSON object between two marks. `<` and `>` are escaped in it, so no text contains a mark or ends early.
"""

import json
import unicodedata
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

from headwater.ai.types import AiCall, AiMessage, Purpose
from headwater.labels.vocabulary import CATEGORIES, SENTIMENTS
from headwater.reading.text import without_markup
from headwater.understanding.tagging.types import TaggedText, TaggingOptions

TITLE_MAX: Final = 300
TEXT_MAX: Final = 4_000  # characters: what an article is about is said at its beginning
READ_MAX: Final = 4 * TEXT_MAX  # characters, before markup and invisible ones are removed
ANSWER_TOKENS: Final = 400  # five topics of 60 characters in any script
LEAST_TOPICS: Final = 3
MOST_TOPICS: Final = 5
MOST_CATEGORIES: Final = 3

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "topics": {"type": "array", "items": {"type": "string"}, "minItems": LEAST_TOPICS, "maxItems": MOST_TOPICS},
        "sentiment": {"type": "string", "enum": list(SENTIMENTS)},
        "categories": {
            "type": "array", "items": {"type": "string", "enum": list(CATEGORIES)}, "minItems": 1,
            "maxItems": MOST_CATEGORIES,
        },
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    },
    "required": ["topics", "sentiment", "categories", "confidence"],
    "additionalProperties": False,
}  # fmt: skip

INSTRUCTIONS: Final = (
    (files("headwater.understanding.tagging") / "prompt.txt")
    .read_text(encoding="utf-8")
    .replace("{categories}", ", ".join(f'"{one}"' for one in CATEGORIES))
    .strip()
)
# Changes with the prompt and the schema.
PROMPT_VERSION: Final = sha256((INSTRUCTIONS + json.dumps(SCHEMA)).encode()).hexdigest()[:8]

# Joiners are part of words in Persian, Hindi and other scripts.
_JOINERS: Final = "\u200c\u200d"
_REMOVED: Final = frozenset({"Cc", "Cf", "Co", "Cs"})
_BREAKS: Final = "\n\r\t\v\f\x85\u2028\u2029"


def call_of(article: TaggedText, options: TaggingOptions) -> AiCall | None:
    """The request for an article's tags; None if it has no text."""
    title = clean(without_markup(article.title[:READ_MAX]))[:TITLE_MAX].strip()
    text = clean(article.text[:READ_MAX] or without_markup(article.html[:READ_MAX]))[:TEXT_MAX].strip()
    if not title and not text:
        return None
    data = json.dumps({"title": title, "text": text}, ensure_ascii=False)
    data = data.replace("<", "\\u003c").replace(">", "\\u003e")
    messages = (AiMessage("system", INSTRUCTIONS), AiMessage("user", f"<article>\n{data}\n</article>"))
    return AiCall(
        Purpose.TAGGING, options.model, messages, max_tokens=ANSWER_TOKENS, temperature=0, schema=SCHEMA,
        timeout=options.timeout,
    )  # fmt: skip


def clean(text: str) -> str:
    """On one line, without characters that a person does not see: a model reads them."""
    spaced = "".join(" " if one in _BREAKS else one for one in text)
    return " ".join("".join(one for one in unicodedata.normalize("NFC", spaced) if not is_invisible(one)).split())


def is_invisible(character: str) -> bool:
    """Control and format characters, private ones, and the selectors beyond U+E0100, which can hide a text."""
    if character.isascii():
        return not character.isprintable()
    if character in _JOINERS:
        return False
    return unicodedata.category(character) in _REMOVED or 0xE0000 <= ord(character) <= 0xE0FFF

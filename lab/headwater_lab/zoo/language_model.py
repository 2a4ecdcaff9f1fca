"""A stand-in for a language model, with the API of OpenAI: its answers fit the requested schema, and cost money.

It understands nothing: it takes frequent words of the text, and one of the allowed values where there is a list.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from headwater_lab.zoo.seeded import SeededChoice

PRICE_IN, PRICE_OUT = Decimal(2), Decimal(6)  # dollars for a million tokens
MODEL = "zoo/parrot-1"


def complete(request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a request for a chat completion."""
    text = "\n".join(str(message.get("content", "")) for message in request.get("messages", ()))
    schema = request.get("response_format", {}).get("json_schema", {}).get("schema")
    words = _frequent(text)
    choice = SeededChoice(text)
    content = (
        json.dumps(_fit(schema, words, choice)) if schema else f"Much is written about {', '.join(words[:3])}. [1]"
    )
    tokens_in, tokens_out = len(text) // 4, len(content) // 4
    cost = (tokens_in * PRICE_IN + tokens_out * PRICE_OUT) / 1_000_000
    return {
        "id": "chatcmpl-zoo", "object": "chat.completion", "created": 0, "model": MODEL,
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}],
        "usage": {
            "prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out,
            "cost": float(cost),
        },
    }  # fmt: skip


def _frequent(text: str) -> list[str]:
    counts = Counter(re.findall(r"[a-z]{6,20}", text.lower()))
    return [word for word, _ in counts.most_common(12)] or ["nothing"]


def _fit(schema: Mapping[str, Any], words: Sequence[str], choice: SeededChoice) -> Any:  # noqa: ANN401  as the schema says
    if "enum" in schema:
        return choice.pick(schema["enum"])
    match schema.get("type"):
        case "object":
            return {name: _fit(of, words, choice) for name, of in schema.get("properties", {}).items()}
        case "array":
            count = max(schema.get("minItems", 1), min(3, schema.get("maxItems", 3)))
            items = schema.get("items", {})
            if "enum" in items:
                return choice.sample(items["enum"], 1)
            return [_fit(items, words[at:], choice) for at in range(count)]
        case "number":
            return round(0.6 + choice.roll(40) / 100, 2)
        case "integer":
            return 1 + choice.roll(5)
        case "boolean":
            return bool(choice.roll(2))
        case _:
            return words[0] if words else "nothing"

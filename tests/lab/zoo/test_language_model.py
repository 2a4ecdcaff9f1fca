"""The stand-in for a language model, asked by the real client."""

import json

import openai

from headwater_lab.zoo import Zoo
from headwater_lab.zoo.language_model import PRICE_IN, complete

SCHEMA = {
    "type": "object",
    "properties": {
        "topics": {"type": "array", "items": {"type": "string"}, "minItems": 3, "maxItems": 5},
        "sentiment": {"type": "string", "enum": ["positive", "negative"]},
        "confidence": {"type": "number"},
    },
}
ASKED = {
    "messages": [{"role": "user", "content": "The harbour festival. The festival in the harbour was crowded."}],
    "response_format": {"type": "json_schema", "json_schema": {"name": "tags", "schema": SCHEMA}},
}


async def test_the_openai_client_gets_an_answer_with_its_cost(zoo: Zoo) -> None:
    async with openai.AsyncOpenAI(api_key="none", base_url=zoo.model_url) as client:
        answer = await client.chat.completions.create(model="x", messages=[{"role": "user", "content": "Hello " * 40}])

    assert answer.choices[0].message.content
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == 60
    assert answer.usage.model_extra is not None
    assert answer.usage.model_extra["cost"] >= float(60 * PRICE_IN / 1_000_000)


def test_an_answer_fits_the_schema_and_takes_words_of_the_text() -> None:
    tags = json.loads(complete(ASKED)["choices"][0]["message"]["content"])

    assert set(tags) == {"topics", "sentiment", "confidence"}
    assert tags["topics"][:2] == ["harbour", "festival"]
    assert tags["sentiment"] in {"positive", "negative"}
    assert 0 <= tags["confidence"] <= 1
    assert complete(ASKED) == complete(ASKED)

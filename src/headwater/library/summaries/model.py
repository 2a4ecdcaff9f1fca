"""One request to a language model with an OpenAI-compatible API. The key is used in the request only."""

import asyncio
from decimal import Decimal
from importlib import import_module
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from headwater.library.summaries.decide import clean_answer, is_unavailable
from headwater.library.summaries.types import NotWritten, SummaryOptions, SummaryOutcome, Written

COUNT_MAX = 2**31 - 1
COST_MAX = 100_000


def _count(value: Any) -> int | None:  # noqa: ANN401  of outside
    return value if type(value) is int and 0 <= value <= COUNT_MAX else None


def _cost(value: Any) -> Decimal | None:  # noqa: ANN401  of outside
    return Decimal(str(value)) if type(value) in {int, float} and 0 <= value < COST_MAX else None


class _Usage(BaseModel):
    prompt_tokens: Annotated[int | None, BeforeValidator(_count)] = None
    completion_tokens: Annotated[int | None, BeforeValidator(_count)] = None
    cost: Annotated[Decimal | None, BeforeValidator(_cost)] = None


class _Message(BaseModel):
    content: str


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    model: str | None = None
    usage: _Usage | None = None


class _Fault(BaseModel):
    code: int


class _Refusal(BaseModel):
    """OpenRouter reports failures of a provider with status 200."""

    error: _Fault


async def ask(prompt: str, options: SummaryOptions) -> SummaryOutcome:
    # Imported when needed, because it takes a second; in a thread, so that no other request waits.
    await asyncio.to_thread(import_module, "openai")
    import openai  # noqa: PLC0415

    timeout = options.timeout.total_seconds()
    try:
        client = openai.AsyncOpenAI(api_key=options.api_key, base_url=options.base_url, max_retries=0, timeout=timeout)
        async with asyncio.timeout(timeout), client:
            answer = await client.chat.completions.with_raw_response.create(
                model=options.model, messages=[{"role": "user", "content": prompt}],
                temperature=options.temperature, max_tokens=options.max_tokens,
            )  # fmt: skip
            body = answer.http_response.content
    except TimeoutError:
        return NotWritten("timeout", is_unavailable=True)
    except openai.APIStatusError as error:
        return NotWritten(f"HTTP {error.status_code}", is_unavailable(error.status_code))
    except openai.APIConnectionError as error:
        return NotWritten(type(error.__cause__ or error).__name__, is_unavailable=True)
    except openai.OpenAIError as error:
        return NotWritten(type(error).__name__)
    return read_answer(body, options.model)


def read_answer(body: bytes, model: str) -> SummaryOutcome:
    try:
        completion = _Completion.model_validate_json(body)
    except ValidationError:
        return _read_refusal(body)
    choice = completion.choices[0]
    content = clean_answer(choice.message.content, is_cut_off=choice.finish_reason == "length")
    if not content:
        return NotWritten("empty response")
    usage = completion.usage or _Usage()
    used = clean_answer(completion.model or "", is_cut_off=False)[:200] or model
    return Written(content, used, usage.prompt_tokens, usage.completion_tokens, usage.cost)


def _read_refusal(body: bytes) -> NotWritten:
    try:
        code = _Refusal.model_validate_json(body).error.code
    except ValidationError:
        return NotWritten("not a chat completion")
    return NotWritten(f"error {code}", is_unavailable(code))

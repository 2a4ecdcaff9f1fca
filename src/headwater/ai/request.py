"""One request to a service with an OpenAI-compatible API. The key is used in the request only."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from functools import cache
from importlib import import_module
from typing import Annotated, Any, cast

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from headwater.ai.decide import is_free, is_unavailable
from headwater.ai.types import AiAnswer, AiCall, AiOptions, AiReply, Charge, NotAnswered, NotAnsweredKind
from headwater.text import is_blank, one_line

COUNT_MAX = 2**31 - 1
COST_MAX = 100_000
CONTENT_MAX = 100_000  # characters
MODEL_MAX = 200
BODY_MAX = 4_000_000  # bytes
ERROR_MAX = 65_536  # bytes of the body of an error
DIGITS_MAX = 8  # of a number of seconds
CONNECTING = 10  # seconds; shorter than the whole, because a call that was not connected costs nothing
# Failures before the request was sent.
_NOT_SENT = {"ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol", "ProxyError"}


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


class _Charged(BaseModel):
    usage: _Usage | None = None


class _Fault(BaseModel):
    code: int


class _Refusal(BaseModel):
    """OpenRouter reports failures of a provider with status 200."""

    error: _Fault


class _Unusable(Exception):
    """A response that is not given to `openai`, which would read and decompress all of it, however large it is."""

    def __init__(self, response: Any, body: bytes) -> None:  # noqa: ANN401  of a library that we do not import
        super().__init__(response.status_code)
        self.status: int = response.status_code
        self.retry_after: str = response.headers.get("Retry-After", "")
        self.body = body


async def _check(response: Any) -> None:  # noqa: ANN401  likewise
    """Before the body is read. Raises _Unusable for an error, a redirect, and a compressed response."""
    is_compressed = response.headers.get("Content-Encoding", "").strip().lower() not in {"", "identity"}
    if response.is_success and not is_compressed:
        return
    body = bytearray()
    if not is_compressed:
        with suppress(Exception):  # what does not arrive does not hide the status
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > ERROR_MAX:
                    break
    raise _Unusable(response, bytes(body))


@cache
def _tls() -> ssl.SSLContext:
    """Loading the certificates takes 150 ms."""
    return ssl.create_default_context()


def _prepare() -> None:
    import_module("openai")
    _tls()


async def request(call: AiCall, options: AiOptions) -> AiReply:
    # Imported when needed, because it takes a second; in a thread, so that no other request waits.
    await asyncio.to_thread(_prepare)
    import openai  # noqa: PLC0415

    timeout = call.timeout.total_seconds()
    try:
        client = openai.AsyncOpenAI(
            api_key=options.api_key, base_url=options.base_url, max_retries=0,
            timeout=openai.Timeout(timeout, connect=min(CONNECTING, timeout / 2)),
            default_headers={"Accept-Encoding": "identity"},
            http_client=openai.DefaultAsyncHttpxClient(
                verify=_tls(), follow_redirects=False, event_hooks={"response": [_check]}
            ),
        )  # fmt: skip
        async with asyncio.timeout(timeout), client:
            completions = cast("Any", client.chat.completions.with_streaming_response)
            async with completions.create(**_arguments(call)) as answer:
                body = await _read(answer.iter_bytes())
    except TimeoutError:
        return _failed("timeout", unavailable=True)
    except _Unusable as error:
        return _read_error(error)
    except openai.APIConnectionError as error:
        name = type(error.__cause__ or error).__name__
        return _failed(name, Charge(is_free=name in _NOT_SENT), unavailable=True)
    except openai.OpenAIError as error:
        return _failed(type(error).__name__)
    return read_answer(body, call.model) if isinstance(body, bytes) else body


async def _read(chunks: AsyncIterator[bytes]) -> bytes | AiReply:
    """The body of a response, unless it is too large, perhaps only after decompression, or its end is lost."""
    body = bytearray()
    try:
        async for chunk in chunks:
            body += chunk
            if len(body) > BODY_MAX:
                return _failed("response too large")
    except Exception as error:  # noqa: BLE001  of the HTTP library that `openai` chose, which we do not import
        return _failed(type(error).__name__, unavailable=True)
    return bytes(body)


def _arguments(call: AiCall) -> dict[str, Any]:
    messages = [{"role": one.role, "content": one.content} for one in call.messages]
    arguments: dict[str, Any] = {
        "model": call.model, "messages": messages, "temperature": call.temperature, "max_tokens": call.max_tokens
    }  # fmt: skip
    if call.schema is not None:
        schema = {"name": call.purpose.value, "strict": True, "schema": dict(call.schema)}
        arguments["response_format"] = {"type": "json_schema", "json_schema": schema}
    return arguments


def read_answer(body: bytes, model: str) -> AiReply:
    """What a response with status 200 says."""
    charge = _read_charge(body)
    try:
        completion = _Completion.model_validate_json(body)
    except ValidationError:
        return _read_refusal(body, charge)
    choice = completion.choices[0]
    content = choice.message.content[:CONTENT_MAX]
    if is_blank(content):
        return _failed("empty response", charge)
    used = one_line(completion.model or "")[:MODEL_MAX] or model
    is_cut_off = choice.finish_reason == "length"
    answer = AiAnswer(content, used, charge.tokens_in, charge.tokens_out, cost=charge.cost, is_cut_off=is_cut_off)
    return AiReply(answer, charge)


def _read_charge(body: bytes) -> Charge:
    """Read apart from the answer: an answer that we cannot use costs as much."""
    try:
        usage = _Charged.model_validate_json(body).usage or _Usage()
    except ValidationError:
        return Charge()
    return Charge(usage.prompt_tokens, usage.completion_tokens, usage.cost)


def _read_refusal(body: bytes, charge: Charge) -> AiReply:
    try:
        code = _Refusal.model_validate_json(body).error.code
    except ValidationError:
        return _failed("not a chat completion", charge)
    return _refused(f"error {code}", code, charge)


def _read_error(error: _Unusable) -> AiReply:
    if 200 <= error.status < 300:
        return _failed("compressed response")
    if error.status == 403 and _is_moderated(error.body):
        return _failed("the service refuses the text", Charge(is_free=True))
    return _refused(f"HTTP {error.status}", error.status, Charge(), _retry_after(error.retry_after))


def _is_moderated(body: bytes) -> bool:
    """Whether the text itself was refused: OpenRouter then gives reasons. Otherwise a 403 is about the key."""
    try:
        found: Any = json.loads(body)
        return bool(found["error"]["metadata"]["reasons"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return False


def _retry_after(value: str) -> timedelta | None:
    """The wait that a Retry-After header requests. Services give seconds, not dates."""
    return timedelta(seconds=int(value)) if value.isascii() and value.isdigit() and len(value) <= DIGITS_MAX else None


def _refused(reason: str, status: int, charge: Charge, retry_after: timedelta | None = None) -> AiReply:
    is_unpriced = charge.cost is None and charge.tokens_in is None
    charge = Charge(is_free=True) if is_unpriced and is_free(status) else charge
    return _failed(reason, charge, unavailable=is_unavailable(status), retry_after=retry_after)


def _failed(
    reason: str, charge: Charge | None = None, *, unavailable: bool = False, retry_after: timedelta | None = None
) -> AiReply:
    kind = NotAnsweredKind.UNAVAILABLE if unavailable else NotAnsweredKind.FAILED
    return AiReply(NotAnswered(reason, kind, retry_after), charge or Charge())

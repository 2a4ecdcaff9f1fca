"""What a call can cost at most, what it did cost, and what a status of the service means. Pure."""

from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_CEILING, Decimal
from json import dumps
from uuid import UUID

from headwater.ai.types import MICROS, AiCall, AiOptions, Charge, Reservation, Settlement

# A token is at least one byte of UTF-8 in the vocabularies in use. Roles and separators are a few tokens a message.
TOKENS_PER_MESSAGE = 16
TOKENS_PER_CALL = 64
# Time between the timeout of a call and its settlement, and between the clocks of two machines.
SETTLING = timedelta(minutes=5)

# The service refuses: no key, no credit, no such model or address, rate limit.
_REFUSALS = {401, 402, 403, 404, 408, 409, 425, 429}
# Of a proxy, which does not know whether the service has done its work.
_ANSWER_LOST = {499, 502, 504, *range(520, 528)}


def month_of(now: datetime) -> date:
    return now.astimezone(UTC).date().replace(day=1)


def reservation_of(call: AiCall, options: AiOptions, *, reservation_id: UUID, now: datetime) -> Reservation:
    expires_at = now + call.timeout + SETTLING
    most = most_cost(call, options)
    return Reservation(reservation_id, month_of(now), call.purpose.value, call.model, most, now, expires_at)


def most_cost(call: AiCall, options: AiOptions) -> int:
    """The most that a call can cost, by the prices that are set."""
    return _price(options, most_tokens_in(call), call.max_tokens)


def most_tokens_in(call: AiCall) -> int:
    """An upper bound of the tokens of a prompt."""
    texts = sum(len(one.content.encode("utf-8", "replace")) + TOKENS_PER_MESSAGE for one in call.messages)
    schema = len(dumps(dict(call.schema))) if call.schema is not None else 0
    return texts + schema + TOKENS_PER_CALL


def settlement_of(charge: Charge, reservation: Reservation, options: AiOptions, *, is_failure: bool) -> Settlement:
    """What is counted: the reported cost, else the reported tokens by our prices, else all that was reserved.

    No prompt has 0 tokens, and no answer: a service that reports 0 does not count."""
    tokens_in, tokens_out = charge.tokens_in or 0, charge.tokens_out or 0
    if charge.is_free:
        cost = 0
    elif charge.cost is not None:
        cost = to_micros(charge.cost)
    elif tokens_in and (tokens_out or (is_failure and charge.tokens_out is not None)):
        cost = _price(options, tokens_in, tokens_out)
    else:
        cost = reservation.amount_micros
    return Settlement(tokens_in, tokens_out, cost, is_failure)


def to_micros(dollars: Decimal) -> int:
    return int((dollars * MICROS).to_integral_value(ROUND_CEILING))


def _price(options: AiOptions, tokens_in: int, tokens_out: int) -> int:
    cost = tokens_in * options.price_in + tokens_out * options.price_out
    return int(cost.to_integral_value(ROUND_CEILING))


def is_unavailable(status: int) -> bool:
    """Whether an HTTP status means that the service is unavailable; otherwise our request was wrong."""
    return status >= 500 or status in _REFUSALS


def is_free(status: int) -> bool:
    """Whether a failure with this status costs nothing. Services do not charge for errors that they report."""
    return status >= 400 and status not in _ANSWER_LOST

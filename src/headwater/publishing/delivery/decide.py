"""What an answer of a destination means, and how long to wait. Pure."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, cast

import msgspec

from headwater.publishing.delivery.types import (
    Accepted,
    BatchResult,
    ContentRefused,
    DeliveringOptions,
    DestinationFailed,
    OutgoingMessage,
    SendOutcome,
)
from headwater.text import one_line, printable

REASON_MAX: Final = 300
QUOTED: Final = 200  # characters of an answer
SUSPECTS_MOST: Final = 4  # refused alone before anything was accepted: then the destination is taken to fail
ATTEMPTS_MOST: Final = 3  # of such a message: then it is refused for good
_REFUSED_CONTENT: Final = frozenset({400, 413, 415, 422})
_SECRET_PREFIX: Final = "whsec_"  # noqa: S105


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """The header `webhook-signature` of Standard Webhooks: HMAC-SHA256 over id, time and body."""
    try:
        key = base64.b64decode(secret.removeprefix(_SECRET_PREFIX), validate=True)
    except binascii.Error:  # not made by us
        key = secret.encode()
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def outcome_of_response(status: int, body: bytes, ids: Sequence[str], *, asked: timedelta | None = None) -> SendOutcome:
    """What a webhook's answer means. Only 2xx accepts; a redirect is not followed. `asked`: by Retry-After."""
    if 200 <= status < 300:
        return Accepted(refused_in(body, ids))
    reason = said(f"It answered with {status}", body)
    if status in _REFUSED_CONTENT:
        return ContentRefused(reason)
    if 300 <= status < 400:
        reason = f"It answered with {status}, and redirects are not followed: change its URL."
    return DestinationFailed(reason, asked)


def refused_in(body: bytes, ids: Sequence[str]) -> dict[str, str]:
    """The messages that a webhook refused: `{"refused": [{"id": …, "reason": …}]}`. Any other body accepts all."""
    try:
        found: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    listed = cast("Mapping[str, Any]", found).get("refused") if isinstance(found, dict) else None
    if not isinstance(listed, list):
        return {}
    known, refused = set(ids), dict[str, str]()
    for entry in (cast("Mapping[str, object]", one) for one in cast("list[object]", listed) if isinstance(one, dict)):
        message_id = entry.get("id")
        if isinstance(message_id, str) and message_id in known:
            refused[message_id] = shortened(f"It was refused: {entry.get('reason') or 'without a reason'}")
    return refused


def said(what: str, body: bytes) -> str:
    text = one_line(body[: 4 * QUOTED].decode("utf-8", "replace").replace("\ufffd", ""))[:QUOTED]
    return shortened(f"{what}: {text}" if text else f"{what}.")


def shortened(reason: str) -> str:
    """A reason that can be stored and shown, on one line."""
    return one_line(printable(reason))[:REASON_MAX]


def joined(messages: Sequence[OutgoingMessage], outcome: Accepted | DestinationFailed) -> BatchResult:
    refused = [(one.revision, outcome.refused[one.id]) for one in messages if one.id in outcome.refused]
    return BatchResult([one.revision for one in messages if one.id not in outcome.refused], refused)


def both(first: BatchResult, second: BatchResult) -> BatchResult:
    return BatchResult(
        [*first.delivered, *second.delivered], [*first.refused, *second.refused],
        [*first.suspects, *second.suspects], second.failure,
    )  # fmt: skip


def decided(found: BatchResult, attempts: Mapping[int, int], *, has_accepted: bool) -> BatchResult:
    """Which suspects are refused for good: those of a destination that accepts others, and those tried too often.

    Otherwise the destination fails, and all from the first suspect on are sent again, so that the order is kept.
    """
    if not found.suspects:
        return found
    is_good = has_accepted or bool(found.delivered) or bool(found.refused)
    given_up = [one for one in found.suspects if is_good or attempts.get(one[0], 0) + 1 >= ATTEMPTS_MOST]
    if len(given_up) == len(found.suspects):
        return BatchResult(found.delivered, [*found.refused, *given_up], (), found.failure)
    return BatchResult((), (), found.suspects, found.failure or DestinationFailed(found.suspects[0][1]))


def with_gone(found: BatchResult, gone: Sequence[tuple[int, str]], revisions: Sequence[int]) -> BatchResult:
    """With deliveries whose article no longer exists, up to the first that is to be sent again."""
    settled = {*found.delivered, *(revision for revision, _ in [*found.refused, *gone])}
    first_left = min((revision for revision in revisions if revision not in settled), default=None)
    now = [one for one in gone if first_left is None or one[0] < first_left]
    return BatchResult(found.delivered, sorted([*found.refused, *now]), found.suspects, found.failure)


def wait(failures: int, options: DeliveringOptions, *, chance: float, asked: timedelta | None = None) -> timedelta:
    """How long to wait after so many failures in a row; `chance` from 0 to 1 spreads the channels."""
    longest = min(options.wait_min * 2 ** min(max(failures - 1, 0), 30), options.wait_max)
    return max(longest * (0.5 + chance / 2), min(asked or timedelta(0), options.asked_max))


def first_pack(sizes: Sequence[int], most_bytes: int) -> int:
    """How many of the first messages fit into one request; at least one."""
    total = 0
    for count, size in enumerate(sizes):
        total += size
        if count and total > most_bytes:
            return count
    return len(sizes)

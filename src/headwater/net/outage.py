"""When it is not the others that fail but our own network: then nothing is held against anybody. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

OUTAGE_HOSTS = 5
OUTAGE_SHARE = 0.8
OUTAGE_WINDOW = timedelta(minutes=2)
ATTEMPTS_REMEMBERED = 1000


@dataclass(frozen=True, slots=True)
class Attempt:
    """One answer, or none, of one host."""

    at: datetime
    host: str
    failed_by_network: bool


@dataclass(frozen=True, slots=True)
class Outage:
    """A process of this stage has had no network of its own since then."""

    stage: str
    since: datetime


def is_own_outage(attempts: Iterable[Attempt], now: datetime, *, going_on: bool = False) -> bool:
    """Whether so many hosts fail by network at once that it must be our own network that is gone.

    Once that is so it takes hosts that answer to end it: the few probes of an outage tell no more than that it goes on.
    """
    recent = [attempt for attempt in attempts if now - attempt.at <= OUTAGE_WINDOW]
    failing = {attempt.host for attempt in recent if attempt.failed_by_network}
    answering = {attempt.host for attempt in recent if not attempt.failed_by_network}
    silent = failing - answering
    return len(silent) >= (1 if going_on else OUTAGE_HOSTS) and len(silent) >= OUTAGE_SHARE * len(failing | answering)

"""Tells an outage of our own network from hosts that are down. Pure.

Only a host that answered within the last days says something about our network when it fails: feeds that never worked
are just broken feeds, however many of them are added at once. Hosts are counted by site, so that one owner's thousand
host names count once: a site is a registrable domain by the public suffix list.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from headwater.urls import domain_of

KNOWN_FOR = timedelta(days=7)
"""A host is known to work for this long after its last answer."""
SUSPECT_SITES = 2
OUTAGE_SITES = 5
OUTAGE_WINDOW = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Outage:
    """A process of this stage has had no network of its own since then."""

    stage: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request to a host. `is_known`: the host answered within the last days."""

    host: str
    asked_at: datetime
    failed_by_network: bool
    is_known: bool


def is_known(answered_at: datetime | None, now: datetime) -> bool:
    """Whether a host that last answered then is known to work."""
    return answered_at is not None and now - answered_at <= KNOWN_FOR


class OutageDetector:
    """Our own network is down when five known sites fail by network and no request made meanwhile is answered.

    It is back with the first answer to a later request, or when no known site has failed for ten minutes.
    """

    def __init__(self) -> None:
        self._failing: dict[str, datetime] = {}  # by site: when it was last asked in vain
        self._began_at: datetime | None = None

    @property
    def is_outage(self) -> bool:
        """Whether our own network is down, as far as is known."""
        return self._began_at is not None

    @property
    def failing_sites(self) -> int:
        """How many known sites fail."""
        return len(self._failing)

    def is_suspected(self, now: datetime) -> bool:
        """Whether some known sites fail, none answers, and more must be asked before it is called an outage."""
        self._forget(now)
        return not self.is_outage and len(self._failing) >= SUSPECT_SITES

    def note(self, attempt: Attempt, now: datetime) -> bool:
        """Whether this attempt failed because of our own network."""
        self._forget(now)
        if not attempt.failed_by_network:
            self._note_answer(attempt)
            return False
        if attempt.is_known:
            self._failing[domain_of(attempt.host)] = attempt.asked_at
        if self.is_outage and not self._failing:
            self._began_at = None
        elif not self.is_outage and len(self._failing) >= OUTAGE_SITES:
            self._began_at = now
        return self.is_outage

    def _note_answer(self, attempt: Attempt) -> None:
        """The network worked when this was asked: failures of earlier requests say nothing about it."""
        if self._failing:
            self._forget_before(attempt.asked_at)
        if self._began_at is not None and attempt.asked_at >= self._began_at:
            self._failing.clear()
            self._began_at = None

    def _forget(self, now: datetime) -> None:
        """Drop what is too old, and what a clock that has since been set back dated in the future."""
        if self._began_at is not None and self._began_at > now:
            self._began_at = now
        if self._failing:
            self._failing = {site: at for site, at in self._failing.items() if now - OUTAGE_WINDOW <= at <= now}

    def _forget_before(self, moment: datetime) -> None:
        self._failing = {site: asked_at for site, asked_at in self._failing.items() if asked_at >= moment}

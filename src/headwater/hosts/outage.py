"""Distinguishes an outage of our own network from hosts that are down.

Only a host that answered within the last days says something about our network when it fails: feeds that never worked
are just broken feeds, however many are added at once. Hosts are counted by site (registrable domain), so that one
owner's thousand host names count once.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from headwater.db import Connection
from headwater.hosts.store.outages import report_outage
from headwater.ids import new_id
from headwater.observability import metrics
from headwater.observability.log import get_logger
from headwater.types import FailureClass
from headwater.urls import domain_of

log = get_logger()

KNOWN_FOR = timedelta(days=7)
"""A host is known to work for this long after its last answer."""
SUSPECT_SITES = 2
OUTAGE_SITES = 5
OUTAGE_WINDOW = timedelta(minutes=10)
OUTAGE_PROBE = timedelta(seconds=30)
OURS = frozenset({FailureClass.NETWORK, FailureClass.DNS})


@dataclass(frozen=True, slots=True)
class HostAttempt:
    """One request to a host. `is_known`: the host answered within the last days."""

    host: str
    asked_at: datetime
    failed_by_network: bool
    is_known: bool


def is_known(answered_at: datetime | None, now: datetime) -> bool:
    return answered_at is not None and now - answered_at <= KNOWN_FOR


class OutageDetector:
    """Our own network is down when five known sites fail by network and no request made meanwhile is answered. It is
    back with the first answer to a later request, or when no known site has failed for ten minutes."""

    def __init__(self) -> None:
        self._failing: dict[str, datetime] = {}  # by site: time of its last failed request
        self._began_at: datetime | None = None

    @property
    def is_outage(self) -> bool:
        return self._began_at is not None

    @property
    def failing_sites(self) -> int:
        return len(self._failing)

    def is_suspected(self, now: datetime) -> bool:
        """Whether some known sites fail, none answers, and more must be asked before it counts as an outage."""
        self._forget(now)
        return not self.is_outage and len(self._failing) >= SUSPECT_SITES

    def note(self, attempt: HostAttempt, now: datetime) -> bool:
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

    def _note_answer(self, attempt: HostAttempt) -> None:
        """The network worked at the time of this request: failures of earlier requests do not count."""
        self._failing = {site: asked_at for site, asked_at in self._failing.items() if asked_at >= attempt.asked_at}
        if self._began_at is not None and attempt.asked_at >= self._began_at:
            self._failing.clear()
            self._began_at = None

    def _forget(self, now: datetime) -> None:
        """Drop what is too old, and what a clock that has since been set back dated in the future."""
        if self._began_at is not None and self._began_at > now:
            self._began_at = now
        if self._failing:
            self._failing = {site: at for site, at in self._failing.items() if now - OUTAGE_WINDOW <= at <= now}


class OutageReporter:
    """Reports what the detector of this process finds, for one stage: in the log, the metrics and the database."""

    def __init__(self, detector: OutageDetector, stage: str) -> None:
        self._detector = detector
        self._stage = stage
        self._worker = new_id()
        self._is_written = False

    def note(
        self, host: str, asked_at: datetime, answered_at: datetime | None, now: datetime, *, failed_by_network: bool
    ) -> bool:
        """Whether this request failed because of our own network. Logs the beginning and the end of an outage."""
        before = self._detector.is_outage
        is_ours = self._detector.note(HostAttempt(host, asked_at, failed_by_network, is_known(answered_at, now)), now)
        if self._detector.is_outage and not before:
            log.error("own network is down", stage=self._stage, sites=self._detector.failing_sites)
        if before and not self._detector.is_outage:
            log.warning("own network is back", stage=self._stage)
        metrics.OWN_OUTAGE.set(self._detector.is_outage)
        return is_ours

    async def write(self, conn: Connection, now: datetime) -> None:
        """Write the beginning, the continuation and the end of an outage for other processes."""
        is_outage = self._detector.is_outage
        if is_outage or self._is_written:
            await report_outage(conn, worker=self._worker, stage=self._stage, now=now, is_outage=is_outage)
        self._is_written = is_outage

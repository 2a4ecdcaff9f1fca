"""Between rows and values: what is kept of an evaluation as JSON, and how incidents come back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from headwater.alerts.types import (
    Condition,
    Facts,
    FactSample,
    FeedCounts,
    FeedFact,
    Incident,
    Notice,
    NoticeKind,
    NoticeStatus,
    OutageFact,
    ReportedIncident,
    StageFact,
)
from headwater.types import SourceId


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A message without what is in it."""

    id: UUID
    channel: str
    made_at: datetime
    attempts: int


@dataclass(frozen=True, slots=True)
class IncidentRow:
    """An incident as it is stored."""

    id: UUID
    condition: str
    subject: str
    summary: str
    since: datetime
    began_at: datetime
    last_held_at: datetime
    ended_at: datetime | None

    @property
    def incident(self) -> Incident:
        """As everybody knows it."""
        return Incident(
            self.id,
            Condition(self.condition),
            self.subject,
            self.summary,
            self.since,
            self.began_at,
            self.last_held_at,
            self.ended_at,
        )


@dataclass(frozen=True, slots=True)
class TellingRow(IncidentRow):
    """An incident with a notice of it."""

    channel: str
    kind: str
    message_id: UUID | None

    @property
    def notice(self) -> Notice:
        """As everybody knows it."""
        return Notice(self.incident, self.channel, NoticeKind(self.kind))


@dataclass(frozen=True, slots=True)
class ShownRow(IncidentRow):
    """An incident with the status of its notices."""

    told: Sequence[Mapping[str, Any]]

    @property
    def shown(self) -> ReportedIncident:
        """As everybody knows it."""
        return ReportedIncident(
            self.incident,
            [
                NoticeStatus(
                    one["channel"], NoticeKind(one["kind"]), _time(one["sent_at"]), one["attempts"], one["error"]
                )
                for one in self.told
            ],
        )


def stage_rows(sample: FactSample) -> dict[str, Any]:
    """What is kept of the stages."""
    return {name: {"due": _text(fact.due_since), "busy": fact.is_busy} for name, fact in sample.stages.items()}


def sample_of(at: datetime, stages: Mapping[str, Any], queues: Mapping[str, int]) -> FactSample:
    """A sample as it was kept."""
    return FactSample(at, {name: StageFact(_time(one["due"]), one["busy"]) for name, one in stages.items()}, queues)


def json_of_facts(facts: Facts) -> dict[str, Any]:
    """All that Prometheus is shown."""
    return {
        "stages": stage_rows(facts.sample),
        "queues": dict(facts.sample.queues),
        "states": dict(facts.counts.states),
        "system": facts.counts.system,
        "system_disabled": facts.counts.system_disabled,
        "disabled": [_feed(feed) for feed in facts.disabled],
        "critical": [_feed(feed) for feed in facts.critical],
        "outages": [{"stage": outage.stage, "since": _text(outage.since)} for outage in facts.outages],
    }


def facts_of(at: datetime, kept: Mapping[str, Any]) -> Facts:
    """The same, back."""
    return Facts(
        sample=sample_of(at, kept["stages"], kept["queues"]),
        counts=FeedCounts(kept["states"], kept["system"], kept["system_disabled"]),
        disabled=[_feed_of(feed) for feed in kept["disabled"]],
        critical=[_feed_of(feed) for feed in kept["critical"]],
        outages=[OutageFact(one["stage"], datetime.fromisoformat(one["since"])) for one in kept["outages"]],
    )


def _feed(feed: FeedFact) -> dict[str, Any]:
    return {
        "id": str(feed.id),
        "name": feed.name,
        "disabled_at": _text(feed.disabled_at),
        "reason": feed.reason,
        "errors": feed.errors,
        "failing_since": _text(feed.failing_since),
        "host": feed.host,
        "paused_for": feed.paused_for,
    }


def _feed_of(kept: Mapping[str, Any]) -> FeedFact:
    # The last three were not kept by an older version, whose facts are read once after an upgrade.
    return FeedFact(
        SourceId(UUID(kept["id"])),
        kept["name"],
        _time(kept["disabled_at"]),
        kept["reason"],
        kept["errors"],
        _time(kept.get("failing_since")),
        kept.get("host"),
        kept.get("paused_for"),
    )


def _text(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None

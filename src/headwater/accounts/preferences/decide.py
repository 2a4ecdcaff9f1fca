"""Which preferences are valid. Pure."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import msgspec

from headwater.accounts.preferences.types import EmailDigest, Preferences
from headwater.errors import Invalid

DIGEST_HOUR = 6  # in the morning of the reader
_MONDAY = 0
_LABELS = {name: name.replace("_", " ") for name in (field.name for field in fields(Preferences))}


def preferences_of(row: Mapping[str, object] | None) -> Preferences:
    """From a row of `reading_options`; a user without one has the defaults."""
    return msgspec.convert(row, Preferences) if row else Preferences()


def check_preferences(form: Mapping[str, str]) -> Preferences:
    """The preferences of a form: a box that is not ticked is not sent. Raises Invalid."""
    sent: dict[str, Any] = {}
    for field in fields(Preferences):
        if field.type is bool:
            sent[field.name] = form.get(field.name) == "yes"
        elif field.name in form:
            sent[field.name] = _valid(field.name, form[field.name])
    return msgspec.convert(sent, Preferences)


def _valid(name: str, value: str) -> str:
    is_known = value in zone_names() if name == "time_zone" else _is_choice(name, value)
    if not is_known:
        raise Invalid(f"Unknown {_LABELS[name]}.")
    return value


def _is_choice(name: str, value: str) -> bool:
    try:
        msgspec.convert({name: value}, Preferences)
    except msgspec.ValidationError:
        return False
    return True


@cache
def zone_names() -> list[str]:
    """The time zones to choose from, by name: `Region/City`, and UTC first."""
    regions = ("Africa", "America", "Antarctica", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific")
    return ["UTC", *sorted(name for name in available_timezones() if name.partition("/")[0] in regions)]


@cache
def zone_of(name: str) -> ZoneInfo:
    """The time zone; UTC where this machine does not know it."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


def next_digest_at(chosen: Preferences, now: datetime) -> datetime | None:
    """When the next email digest is sent: at the same hour of the reader's every day, or every Monday."""
    if chosen.email_digest is EmailDigest.OFF:
        return None
    local = now.astimezone(zone_of(chosen.time_zone))
    at = local.replace(hour=DIGEST_HOUR, minute=0, second=0, microsecond=0, fold=0)
    while at <= local or (chosen.email_digest is EmailDigest.WEEKLY and at.weekday() != _MONDAY):
        at += timedelta(days=1)
    return at.astimezone(UTC)

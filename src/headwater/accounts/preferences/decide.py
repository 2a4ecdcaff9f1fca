"""Which preferences are valid. Pure."""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

import msgspec

from headwater.accounts.preferences.types import Preferences
from headwater.errors import Invalid

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

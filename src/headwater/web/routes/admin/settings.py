"""/admin/settings: the settings, with secrets already masked."""

from collections.abc import Sequence
from dataclasses import dataclass

from litestar import get
from litestar.di import NamedDependency
from litestar.params import FromQuery
from litestar.response import Template

from headwater.accounts.types import Role
from headwater.asgi.handlers import Call


@dataclass(frozen=True, slots=True)
class SettingLine:
    """One setting: its environment variable, and its value as text."""

    name: str
    value: str
    is_set: bool
    allowed: str
    description: str


@get("/admin/settings", role=Role.SUPER_ADMIN, sync_to_thread=False)
def settings(call: Call, setting_lines: NamedDependency[Sequence[SettingLine]], q: FromQuery[str] = "") -> Template:
    text = q.strip()[:200]
    found = [one for one in setting_lines if text.casefold() in f"{one.name} {one.description}".casefold()]
    return call.page("admin/settings.html", lines=found, text=text, total=len(setting_lines))

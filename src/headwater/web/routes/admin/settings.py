"""/admin/settings: the settings, with secrets already masked."""

from collections.abc import Sequence
from dataclasses import dataclass

from litestar import get
from litestar.di import NamedDependency
from litestar.params import FromQuery
from litestar.response import Template

from headwater.accounts.types import Role
from headwater.asgi.handlers import AnyRequest


@dataclass(frozen=True, slots=True)
class SettingLine:
    """One setting: its environment variable, and its value as text."""

    name: str
    value: str
    is_set: bool
    allowed: str
    description: str


@get("/admin/settings", role=Role.SUPER_ADMIN, sync_to_thread=False)
def settings(
    request: AnyRequest, setting_lines: NamedDependency[Sequence[SettingLine]], q: FromQuery[str] = ""
) -> Template:
    wanted = q.strip().casefold()[:200]
    found = [one for one in setting_lines if wanted in f"{one.name} {one.description}".casefold()]
    context = {"user": request.user, "lines": found, "text": q.strip()[:200], "total": len(setting_lines)}
    return Template("admin/settings.html", context=context)

"""/admin/settings: what is set, to what, and what it is for. Secrets are masked before they come here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from litestar import Request, get
from litestar.di import NamedDependency
from litestar.handlers import BaseRouteHandler
from litestar.params import FromQuery
from litestar.response import Template

from headwater.accounts.types import Role

AnyRequest = Request[Any, Any, Any]


@dataclass(frozen=True, slots=True)
class SettingLine:
    """One setting as it is: under the name of its variable, its value as a person reads it."""

    name: str
    value: str
    is_set: bool
    allowed: str
    description: str


@get("/admin/settings", role=Role.SUPER_ADMIN, sync_to_thread=False)
def settings(
    request: AnyRequest, setting_lines: NamedDependency[Sequence[SettingLine]], q: FromQuery[str] = ""
) -> Template:
    """All of them, or those that speak of something."""
    wanted = q.strip().casefold()[:200]
    found = [one for one in setting_lines if wanted in f"{one.name} {one.description}".casefold()]
    context = {"user": request.user, "lines": found, "text": q.strip()[:200], "total": len(setting_lines)}
    return Template("operator/settings.html", context=context)


setting_pages: list[BaseRouteHandler] = [settings]

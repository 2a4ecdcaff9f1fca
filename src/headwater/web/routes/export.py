"""Export of a user's data: a ZIP file, and the feeds as OPML."""

from collections.abc import AsyncIterator

from litestar import Response, get
from litestar.response import Stream

from headwater.asgi.guard import is_head
from headwater.asgi.handlers import AnyRequest, Db, Now
from headwater.db import Database
from headwater.library.exporting.archive import export, pages
from headwater.library.exporting.store import list_subscriptions
from headwater.sources.opml import OpmlLine, write_opml
from headwater.types import Clock, UserId


@get("/account/export")
async def export_all(request: AnyRequest, database: Db, clock: Now) -> Stream:
    """All data as a ZIP file, written while it is sent."""
    now = clock()
    pieces = () if is_head(request.scope) else await _archive(database, request.user.id, clock)
    return Stream(pieces, media_type="application/zip", headers=_attachment(f"headwater-{now:%Y-%m-%d}.zip"))


@get("/opml/export")
async def export_opml(request: AnyRequest, database: Db, clock: Now) -> Response[bytes]:
    """The user's feeds as OPML."""
    content = await _opml(database, request.user.id, clock)
    return Response(content, media_type="text/x-opml+xml", headers=_attachment(f"headwater-{clock():%Y-%m-%d}.opml"))


async def _archive(database: Database, user_id: UserId, clock: Clock) -> AsyncIterator[bytes]:
    files = {"subscriptions.opml": await _opml(database, user_id, clock)}
    return export(database, user_id, files=files, now=clock())


async def _opml(database: Database, user_id: UserId, clock: Clock) -> bytes:
    found = [row async for rows in pages(database, user_id, list_subscriptions) for row in rows]
    lines = [OpmlLine(row["name"], row["url"], row["category"] or "", row["site"] or "") for row in found]
    lines.sort(key=lambda line: line.name.casefold())
    return write_opml("Feeds of Headwater", lines, clock())


def _attachment(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


export_pages = [export_all, export_opml]

"""/admin/sources/bulk: one action on many sources, previewed first, applied in steps, and undone.

Each response of a step requests the next one; leaving the page stops it.
"""

from dataclasses import dataclass, fields
from typing import Any
from uuid import UUID

from litestar import delete, post
from litestar.params import FromPath, URLEncodedBody
from litestar.response import Template

from headwater.accounts.types import Role
from headwater.asgi.handlers import Call, CallContext
from headwater.db import Connection
from headwater.errors import Invalid
from headwater.sources import bulk
from headwater.sources.store import bulk as store
from headwater.sources.store import table
from headwater.sources.types import BulkAction
from headwater.types import SourceId
from headwater.web.errors import fragment
from headwater.web.query import parse_id
from headwater.web.routes.admin.sources import read_filters

SHOWN = 20
BROKEN = "Something went wrong. Please try again."
ADMIN: dict[str, Any] = {"place": "said", "role": Role.SUPER_ADMIN}
ONE = "/admin/sources/bulk/{change_id:uuid}"


@dataclass(frozen=True, slots=True)
class BulkForm:
    """The selected sources, or all that match the filters; the action and its value."""

    ids: list[str] | str = ""
    everything: str = ""
    action: str = ""
    value_reason: str = ""
    value_category: str = ""
    value_policy: str = ""
    value_interval: str = ""
    status: str = ""
    reason: str = ""
    category: str = ""
    host: str = ""
    q: str = ""
    fetched: str = ""
    errors: str = ""
    attention: str = ""

    @property
    def value(self) -> str:
        names = {"disable": "reason", "category": "category", "policy": "policy", "interval": "interval"}
        return getattr(self, f"value_{names[self.action]}") if self.action in names else ""

    @property
    def given(self) -> dict[str, str]:
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "ids"}


@fragment(post, "/admin/sources/bulk", BROKEN, **ADMIN)
async def preview(call: Call, data: URLEncodedBody[BulkForm]) -> Template:
    """Show what an action would change; nothing is changed. Raises Invalid."""
    if data.action not in set(BulkAction):
        raise Invalid("Choose an action.")
    action = BulkAction(data.action)
    value = bulk.check_value(action, data.value)
    async with call.database.as_system() as conn:
        rows = await table.find_rows(conn, ids=await _selected(conn, call, data))
        plans = [bulk.plan(one, action, value, one.readers) for one in rows]
        wanted = [one for one in plans if not one.refusal]
        if not wanted:
            raise Invalid("Nothing would change." if plans else "Select sources first.")
        ids = [one.source.id for one in wanted]
        change = await bulk.prepare(
            conn, user_id=call.user.id, action=action, value=value, source_ids=ids, now=call.now
        )
    refusals = [one for one in plans if one.refusal]
    readers = sum(one.readers for one in rows) if action is BulkAction.DELETE else 0
    return call.page(
        "admin/bulk_preview.html", change=change, wanted=wanted, refusals=refusals, shown=SHOWN, readers=readers
    )


@fragment(delete, ONE, BROKEN, **ADMIN)
async def cancel(call: Call, change_id: FromPath[UUID]) -> Template:
    async with call.database.as_system() as conn:
        await bulk.find(conn, change_id, call.user.id)
        await store.remove(conn, change_id=change_id)
    return call.page("admin/said.html", message="Cancelled. Nothing was changed.")


@fragment(post, ONE, BROKEN, **ADMIN)
async def apply(call: Call, change_id: FromPath[UUID]) -> Template:
    """Change the next few sources. Raises NotFound."""
    async with call.database.as_system() as conn:
        change = await bulk.find(conn, change_id, call.user.id)
    if not change.is_done:
        await bulk.step(call.database, call.clock, change, call.actor)
    return await _progress(call, change_id)


@fragment(post, ONE + "/undo", BROKEN, **ADMIN)
async def undo(call: Call, change_id: FromPath[UUID]) -> Template:
    """Restore what the sources were before, in steps too. Raises NotFound, Conflict."""
    async with call.database.as_system() as conn:
        change = await bulk.prepare_undo(conn, await bulk.find(conn, change_id, call.user.id), now=call.now)
    await bulk.step(call.database, call.clock, change, call.actor)
    return await _progress(call, change.id)


async def _progress(call: CallContext, change_id: UUID) -> Template:
    async with call.database.as_system() as conn:
        change = await bulk.find(conn, change_id, call.user.id)
    headers = {"HX-Trigger": "sourcesChanged"} if change.is_done else {}
    return call.page("admin/bulk_progress.html", change=change, done=DONE[change.action], headers=headers)


DONE = {
    BulkAction.ENABLE: "enabled", BulkAction.DISABLE: "disabled", BulkAction.REFRESH: "queued",
    BulkAction.CATEGORY: "changed", BulkAction.POLICY: "changed", BulkAction.INTERVAL: "changed",
    BulkAction.DELETE: "deleted",
}  # fmt: skip


async def _selected(conn: Connection, call: CallContext, data: BulkForm) -> list[SourceId]:
    """The sources of the form. Raises Invalid."""
    if data.everything:
        wanted = read_filters(data.given).wanted(call.now)
        return await table.list_ids(conn, wanted=wanted, now=call.now, limit=bulk.MOST)
    given = [data.ids] if isinstance(data.ids, str) else data.ids
    found = [parse_id(text) for text in given if text]
    if None in found or len(found) > bulk.MOST:
        raise Invalid("Select sources first.")
    return [SourceId(one) for one in found if one]

"""/admin/popularity: how much each source is read, by readers who consented (docs/operating.md)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from litestar import get
from litestar.di import NamedDependency, Provide
from litestar.params import FromQuery
from litestar.response import Template

from headwater.accounts.types import Role
from headwater.analytics import store
from headwater.analytics.types import FEWEST, PopularityOrder, PopularityPeriod, PopularityStep
from headwater.asgi.handlers import Call
from headwater.errors import Invalid
from headwater.web.errors import fragment

SHOWN = 100
WIDTH, HEIGHT = 600, 120


@dataclass(frozen=True, slots=True)
class PopularityBar:
    """One step of the plot: its position and the heights of reads and clicks."""

    moment: PopularityStep
    x: float
    width: float
    reads: float
    clicks: float


async def count_reads(call: Call, period: FromQuery[str] = "week", sort: FromQuery[str] = "reads") -> dict[str, Any]:
    if period not in set(PopularityPeriod) or sort not in set(PopularityOrder):
        raise Invalid(
            f"Unknown period or order. Periods: {', '.join(PopularityPeriod)}. Orders: {', '.join(PopularityOrder)}."
        )
    length, order = PopularityPeriod(period), PopularityOrder(sort)
    async with call.database.as_system() as conn:
        moments = await store.list_moments(conn, period=length, until=length.end(call.now))
        return {
            "ranking": await store.rank(conn, since=call.now - length.length, order=order, limit=SHOWN),
            "readers": await store.count_readers(conn), "bars": bars_of(moments), "size": (WIDTH, HEIGHT),
            "most": max((moment.reads or 0 for moment in moments), default=0), "period": length, "sort": order,
            "fewest": FEWEST,
        }  # fmt: skip


NUMBERS = {"counted": Provide(count_reads)}


@get("/admin/popularity", role=Role.SUPER_ADMIN, dependencies=NUMBERS)
async def popularity(call: Call, counted: NamedDependency[dict[str, Any]]) -> Template:
    return call.page("admin/popularity.html", **counted)


@fragment(get, "/admin/popularity/numbers", "Failed to load statistics", role=Role.SUPER_ADMIN, dependencies=NUMBERS)
async def numbers(call: Call, counted: NamedDependency[dict[str, Any]]) -> Template:
    """The numbers, which are loaded again every minute."""
    return call.page("admin/popularity_numbers.html", **counted)


def bars_of(moments: Sequence[PopularityStep]) -> list[PopularityBar]:
    """The bars of the plot, relative to the highest."""
    most = max((moment.reads or 0 for moment in moments), default=0) or 1
    width = WIDTH / max(1, len(moments))
    return [
        PopularityBar(
            moment,
            x=round(number * width + width * 0.1, 2),
            width=round(width * 0.8, 2),
            reads=round((moment.reads or 0) / most * HEIGHT, 2),
            clicks=round((moment.clicks or 0) / most * HEIGHT, 2),
        )
        for number, moment in enumerate(moments)
    ]

"""/admin/popularity: how much each source is read, by readers who consented (docs/operating.md)."""

from collections.abc import Sequence
from dataclasses import dataclass

from litestar import get
from litestar.handlers import BaseRouteHandler
from litestar.params import FromQuery
from litestar.response import Template

from headwater.accounts.types import Role
from headwater.analytics import store
from headwater.analytics.types import FEWEST, PopularityOrder, PopularityPeriod, PopularityStep
from headwater.asgi.handlers import AnyRequest, Db, Now
from headwater.db import Connection
from headwater.errors import Invalid
from headwater.types import Clock
from headwater.web.errors import error_handlers

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


@get("/admin/popularity", role=Role.SUPER_ADMIN)
async def popularity(
    request: AnyRequest,
    database: Db,
    clock: Now,
    period: FromQuery[str] = "week",
    sort: FromQuery[str] = "reads",
) -> Template:
    """The page. Raises Invalid."""
    async with database.as_system() as conn:
        context = await _numbers(conn, clock, *read_query(period, sort))
    return Template("admin/popularity.html", context={"user": request.user, **context})


@get(
    "/admin/popularity/numbers",
    role=Role.SUPER_ADMIN,
    exception_handlers=error_handlers("Failed to load statistics"),
)
async def numbers(
    database: Db,
    clock: Now,
    period: FromQuery[str] = "week",
    sort: FromQuery[str] = "reads",
) -> Template:
    """The numbers, which are loaded again every minute. Raises Invalid."""
    async with database.as_system() as conn:
        context = await _numbers(conn, clock, *read_query(period, sort))
    return Template("admin/popularity_numbers.html", context=context)


def read_query(period: str, sort: str) -> tuple[PopularityPeriod, PopularityOrder]:
    """The period and the order. Raises Invalid."""
    if period not in set(PopularityPeriod) or sort not in set(PopularityOrder):
        raise Invalid(
            f"Unknown period or order. Periods: {', '.join(PopularityPeriod)}. Orders: {', '.join(PopularityOrder)}."
        )
    return PopularityPeriod(period), PopularityOrder(sort)


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


async def _numbers(
    conn: Connection, clock: Clock, period: PopularityPeriod, order: PopularityOrder
) -> dict[str, object]:
    moments = await store.list_moments(conn, period=period, until=period.end(clock()))
    return {
        "ranking": await store.rank(conn, since=clock() - period.length, order=order, limit=SHOWN),
        "readers": await store.count_readers(conn),
        "bars": bars_of(moments),
        "most": max((moment.reads or 0 for moment in moments), default=0),
        "size": (WIDTH, HEIGHT),
        "period": period,
        "sort": order,
        "fewest": FEWEST,
        "now": clock(),
    }


popularity_pages: list[BaseRouteHandler] = [popularity, numbers]

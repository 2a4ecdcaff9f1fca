"""/admin/channels: queries whose articles are sent to a destination. Moderators see them, super_admins change them."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from litestar import Response, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, URLEncodedBody
from litestar.response import Template

from headwater.accounts.types import Role
from headwater.asgi.handlers import Call, CallContext
from headwater.channels import decide, operate
from headwater.channels.overview import find_overview, list_overviews
from headwater.channels.preview import preview
from headwater.channels.store import deliveries, records
from headwater.channels.types import (
    Channel,
    ChannelFields,
    ChannelId,
    DeliveryState,
    DestinationKind,
    DestinationLimits,
)
from headwater.errors import Invalid, MatchesEverything, QueryInvalid
from headwater.publishing.reading import feed_addresses
from headwater.query.grammar import parse
from headwater.query.types import Audience, Query
from headwater.web.errors import fragment
from headwater.web.plots import deliveries_over_time
from headwater.web.query import parse_number

BROKEN = "Something went wrong. Please try again."
CHANGED = {"HX-Trigger": "channelChanged"}
LINES: Final = 50  # deliveries of a page
PLOTTED: Final = timedelta(hours=24)
REVISION_DIGITS: Final = 18
ONE = "/admin/channels/{channel_id:uuid}"
PLACE = "channel-said"
BACK: Final = {"1h": timedelta(hours=1), "1d": timedelta(days=1), "7d": timedelta(days=7)}
NUMBERS: Final = frozenset({"batch", "database", "most"})

Destinations = NamedDependency[DestinationLimits]


@dataclass(frozen=True, slots=True)
class ChannelForm:
    """A channel, as typed. Fields that its destination does not have are ignored."""

    name: str = ""
    query: str = ""
    destination: str = DestinationKind.WEBHOOK
    url: str = ""
    stream: str = ""
    subject: str = ""
    file_name: str = ""
    username: str = ""
    password: str = ""
    database: str = ""
    most: str = ""
    batch: str = ""
    html: str = ""

    @property
    def kind(self) -> DestinationKind:
        """Raises Invalid."""
        if self.destination not in set(DestinationKind):
            raise Invalid("Choose a destination.")
        return DestinationKind(self.destination)

    @property
    def fields(self) -> ChannelFields:
        """Raises Invalid."""
        given = {
            "url": self.url, "stream": self.stream, "subject": self.subject, "name": self.file_name,
            "username": self.username, "html": bool(self.html) or None,
            **{name: _number(name, getattr(self, name)) for name in NUMBERS},
        }  # fmt: skip
        options = {name: given[name] for name in decide.OPTIONS[self.kind]}
        return ChannelFields(self.name, self.query, self.kind, options)


@dataclass(frozen=True, slots=True)
class ReplayForm:
    since: str = "1d"


@get("/admin/channels", role=Role.MODERATOR)
async def list_page(call: Call, destination_limits: Destinations) -> Template:
    async with call.database.transaction() as conn:
        found = await list_overviews(conn, now=call.now)
    return call.page("admin/channels.html", channels=found, **_choices(call, ChannelForm(), destination_limits))


@get("/admin/channels/options", role=Role.SUPER_ADMIN)
async def show_options(call: Call, destination: FromQuery[str] = "") -> Template:
    """The fields of a destination: a part of the form. Raises Invalid."""
    form = ChannelForm(destination=destination)
    return call.page("admin/channel_options.html", form=form, options=decide.OPTIONS[form.kind])


@fragment(post, "/admin/channels", BROKEN, place=PLACE, role=Role.SUPER_ADMIN)
async def create(
    call: Call, data: URLEncodedBody[ChannelForm], destination_limits: Destinations
) -> Template | Response[None]:
    try:
        query = _parse(data)
        async with call.database.transaction() as conn:
            made = await operate.create(
                conn, fields=data.fields, query=query, limits=destination_limits, actor=call.actor, now=call.now,
                password=data.password or None,
            )  # fmt: skip
    except (QueryInvalid, MatchesEverything) as error:
        return _query_problem(call, data.query, error)
    if made.secret is None:
        return Response(None, status_code=200, headers={"HX-Redirect": f"/admin/channels/{made.channel.id}"})
    return call.page("admin/channel_secret.html", channel=made.channel, secret=made.secret, headers=CHANGED)


@fragment(post, "/admin/channels/preview", BROKEN, place="channel-preview", role=Role.SUPER_ADMIN)
async def preview_channel(call: Call, data: URLEncodedBody[ChannelForm]) -> Template:
    """What the query in the form finds; nothing is saved."""
    try:
        query = _parse(data)
        async with call.database.transaction() as conn:
            await operate.check_query(conn, query.tree)
    except (QueryInvalid, MatchesEverything) as error:
        return _query_problem(call, data.query, error)
    found = await preview(call.database, call.clock, query)
    return call.page("admin/channel_preview.html", found=found)


@get(ONE, role=Role.MODERATOR)
async def channel_page(
    call: Call, channel_id: FromPath[UUID], destination_limits: Destinations, status: FromQuery[str] = "",
    before: FromQuery[str] = "",
) -> Template:  # fmt: skip
    one, now = ChannelId(channel_id), call.now
    wanted = DeliveryState(status) if status in set(DeliveryState) else None
    async with call.database.transaction() as conn:
        found = await find_overview(conn, one, now=now)
        hours = await deliveries.count_by_hour(conn, channel_id=one, since=now - PLOTTED)
        refused = await deliveries.list_page(
            conn, channel_id=one, state=DeliveryState.REFUSED, before=None, limit=LINES
        )
        lines = await deliveries.list_page(
            conn, channel_id=one, state=wanted, before=parse_number(before, digits=REVISION_DIGITS), limit=LINES
        )
    return call.page(
        "admin/channel.html", found=found, channel=found.channel, counts=found.counts, lag=found.lag(now),
        plot=deliveries_over_time(hours, now - PLOTTED, now), refused=refused, lines=lines, status=wanted,
        states=list(DeliveryState), back=list(BACK), lines_most=LINES,
        shown=operate.shown_options(found.channel.options),
        **_choices(call, _form_of(found.channel), destination_limits),
    )  # fmt: skip


@fragment(patch, ONE, BROKEN, place=PLACE, role=Role.SUPER_ADMIN)
async def change(
    call: Call, channel_id: FromPath[UUID], data: URLEncodedBody[ChannelForm], destination_limits: Destinations
) -> Template:
    try:
        query = _parse(data)
        async with call.database.transaction() as conn:
            made = await operate.change(
                conn, ChannelId(channel_id), fields=data.fields, query=query, limits=destination_limits,
                actor=call.actor, now=call.now, password=data.password or None,
            )  # fmt: skip
    except (QueryInvalid, MatchesEverything) as error:
        return _query_problem(call, data.query, error)
    if made.secret is None:
        return _notice(call, "Saved.")
    return call.page("admin/channel_secret.html", channel=made.channel, secret=made.secret, headers=CHANGED)


@fragment(post, ONE + "/pause", BROKEN, place=PLACE, role=Role.SUPER_ADMIN)
async def pause(call: Call, channel_id: FromPath[UUID]) -> Template:
    await _set_paused(call, channel_id, is_paused=True)
    return _notice(call, "Paused. Articles are queued meanwhile.")


@fragment(post, ONE + "/resume", BROKEN, place=PLACE, role=Role.SUPER_ADMIN)
async def resume(call: Call, channel_id: FromPath[UUID]) -> Template:
    await _set_paused(call, channel_id, is_paused=False)
    return _notice(call, "Resumed.")


@fragment(post, ONE + "/replay", BROKEN, place=PLACE, role=Role.SUPER_ADMIN)
async def replay(call: Call, channel_id: FromPath[UUID], data: URLEncodedBody[ReplayForm]) -> Template:
    if data.since not in BACK:
        raise Invalid("Choose from when on to send again.")
    async with call.database.transaction() as conn:
        since = call.now - BACK[data.since]
        queued = await operate.replay(conn, ChannelId(channel_id), since=since, actor=call.actor, now=call.now)
    return _notice(call, f"{_deliveries(queued)} will be sent again.")


@fragment(post, ONE + "/retry", BROKEN, place=PLACE, role=Role.SUPER_ADMIN)
async def retry_all(call: Call, channel_id: FromPath[UUID]) -> Template:
    return await _retry(call, channel_id, None)


@fragment(post, ONE + "/retry/{revision:int}", BROKEN, place=PLACE, role=Role.SUPER_ADMIN)
async def retry_one(call: Call, channel_id: FromPath[UUID], revision: FromPath[int]) -> Template:
    if not 0 < revision < 10**REVISION_DIGITS:
        raise Invalid("There is no such dead letter.")
    return await _retry(call, channel_id, revision)


@fragment(post, ONE + "/secret", BROKEN, place=PLACE, role=Role.SUPER_ADMIN)
async def renew_secret(call: Call, channel_id: FromPath[UUID]) -> Template:
    async with call.database.transaction() as conn:
        secret = await operate.renew_secret(conn, ChannelId(channel_id), actor=call.actor, now=call.now)
        channel = await records.find(conn, channel_id=ChannelId(channel_id))
    return call.page("admin/channel_secret.html", channel=channel, secret=secret, headers=CHANGED)


@fragment(post, ONE + "/feed", BROKEN, place=PLACE, role=Role.SUPER_ADMIN)
async def renew_feed(call: Call, channel_id: FromPath[UUID], site: NamedDependency[str]) -> Template:
    async with call.database.transaction() as conn:
        key = await operate.renew_feed(conn, ChannelId(channel_id), actor=call.actor, now=call.now)
    return call.page("admin/channel_feed.html", addresses=feed_addresses(site, key), headers=CHANGED)


@fragment(delete, ONE + "/feed", BROKEN, place=PLACE, role=Role.SUPER_ADMIN)
async def revoke_feed(call: Call, channel_id: FromPath[UUID]) -> Template:
    async with call.database.transaction() as conn:
        await operate.revoke_feed(conn, ChannelId(channel_id), actor=call.actor, now=call.now)
    return _notice(call, "Revoked. The feed has no secret address any more.")


@fragment(delete, ONE, BROKEN, place=PLACE, role=Role.SUPER_ADMIN, status_code=204)
async def remove(call: Call, channel_id: FromPath[UUID]) -> Response[None]:
    async with call.database.transaction() as conn:
        await operate.delete(conn, ChannelId(channel_id), actor=call.actor, now=call.now)
    return Response(None, status_code=204, headers={"HX-Redirect": "/admin/channels"})


async def _set_paused(call: CallContext, channel_id: UUID, *, is_paused: bool) -> None:
    async with call.database.transaction() as conn:
        await operate.set_paused(conn, ChannelId(channel_id), is_paused=is_paused, actor=call.actor, now=call.now)


async def _retry(call: CallContext, channel_id: UUID, revision: int | None) -> Template:
    async with call.database.transaction() as conn:
        queued = await operate.retry(conn, ChannelId(channel_id), actor=call.actor, now=call.now, revision=revision)
    return _notice(call, f"{_deliveries(queued)} will be sent again." if queued else "There is no dead letter.")


def _deliveries(number: int) -> str:
    return "1 delivery" if number == 1 else f"{number:,} deliveries"


def _choices(call: CallContext, form: ChannelForm, limits: DestinationLimits) -> dict[str, Any]:
    possible = [
        kind for kind in DestinationKind
        if (kind is not DestinationKind.SEARCH_INDEX or form.kind is kind)  # it has one channel, made by Headwater
        and (kind is not DestinationKind.FILE or limits.has_directory)
    ]  # fmt: skip
    return {
        "form": form, "kinds": possible, "options": decide.OPTIONS[form.kind], "limits": decide,
        "may_change": call.user.role is Role.SUPER_ADMIN,
    }  # fmt: skip


def _form_of(channel: Channel) -> ChannelForm:
    given = {name: str(channel.options.get(name, "")) for name in ("url", "stream", "subject", "username", *NUMBERS)}
    return ChannelForm(
        name=channel.name, query=channel.query, destination=channel.destination,
        file_name=str(channel.options.get("name", "")), html="yes" if channel.options.get("html") else "", **given,
    )  # fmt: skip


def _number(name: str, text: str) -> int | None:
    if not text.strip():
        return None
    number = parse_number(text.strip(), digits=9)
    if number is None:
        raise Invalid(f"{name} is a whole number.")
    return number


def _parse(form: ChannelForm) -> Query:
    """Raises QueryInvalid."""
    return parse(form.query, Audience.EVERYONE)


def _query_problem(call: CallContext, text: str, error: Invalid) -> Template:
    """The error below the query, which is shown with the place of the error marked."""
    at, length = (error.position, error.length) if isinstance(error, QueryInvalid) else (0, 0)
    parts = (text[:at], text[at : at + length], text[at + length :])
    return call.page(
        "admin/query_problem.html", message=str(error), parts=parts, status_code=400,
        headers={"HX-Retarget": "#query-problem", "HX-Reswap": "innerHTML", "Cache-Control": "no-store"},
    )  # fmt: skip


def _notice(call: CallContext, message: str) -> Template:
    return call.page("admin/channel_said.html", message=message, headers=CHANGED)

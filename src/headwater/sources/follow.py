"""Following and leaving a source: what a person asks for becomes rows that the stages will find."""

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from headwater.db import Connection
from headwater.errors import Invalid, NothingToPoll, SourceIsOff, SourceNotFound
from headwater.frontier.store import changes, queue
from headwater.frontier.types import Fate
from headwater.ids import new_id
from headwater.polling.decide import BY_HAND_ONLY
from headwater.polling.policy import policy_named
from headwater.polling.store import holds as feed_holds
from headwater.polling.store import schedule as feed_schedule
from headwater.sources.decide import as_wished, cooldown_of, entrances
from headwater.sources.store import merging, sources, suggestions
from headwater.sources.types import Source, Wishes
from headwater.text import is_blank
from headwater.types import SourceId
from headwater.urls import complete_url, host_of, url_key

NAME_MAX = 255
CATEGORY_MAX = 100
REASON_MAX = 200
INTERVAL_LEAST = timedelta(minutes=15)
INTERVAL_MOST = timedelta(days=1)
AS_IS = Wishes()


async def follow(
    conn: Connection, *, url: str | None, name: str | None, now: datetime, wishes: Wishes = AS_IS
) -> Source:
    """Follow a feed, or with no URL the site or sitemap of the wishes. All that is to be read of it is due at once.

    Raises InvalidUrl, Invalid, SourceExists.
    """
    feed_url = None if url is None else complete_url(url)
    source = as_wished(Source(SourceId(new_id()), "", feed_url, now), wishes)
    if name is not None and is_blank(name):
        raise Invalid(f"A name has at least one and at most {NAME_MAX} characters; this one has none.")
    source = replace(source, name=(name or "").strip() or host_of(source.address))
    if len(source.name) > NAME_MAX:
        raise Invalid(f"A name has at most {NAME_MAX} characters; this one has {len(source.name)}.")
    await sources.add(conn, source=source)
    if feed_url is not None:
        await feed_schedule.schedule_first(
            conn, source_id=source.id, feed_url=feed_url, host=host_of(feed_url), now=now
        )
    await _enter(conn, source, now)
    return source


async def find(conn: Connection, wanted: str) -> Source:
    """A source by its id, or by the address of its feed or site. Raises SourceNotFound."""
    try:
        return await sources.find_by_id(conn, source_id=SourceId(UUID(wanted)))
    except ValueError:
        pass
    try:
        url = complete_url(wanted)
    except Invalid as error:
        raise SourceNotFound(wanted) from error
    try:
        return await sources.find_by_url(conn, url=url)
    except SourceNotFound:
        moved = await sources.find_moved(conn, url=url)
        if moved is None:
            raise
    return await sources.find_by_id(conn, source_id=moved)


async def change(
    conn: Connection,
    source: Source,
    *,
    name: str | None = None,
    policy: str | None = None,
    interval: timedelta | None = None,
    category: str | None = None,
    is_system: bool | None = None,
    is_critical: bool | None = None,
    now: datetime | None = None,
) -> None:
    """Change how a source is called, filed and polled; a new interval counts from the last poll. Raises Invalid.

    None leaves a thing as it is; an empty policy or category, or an interval of 0, takes it back.
    """
    name = name.strip() if name is not None else None
    category = category.strip() if category is not None else None
    if policy:
        policy_named(policy)
    if name is not None and (is_blank(name) or len(name) > NAME_MAX):
        has = "none" if is_blank(name) else len(name)
        raise Invalid(f"A name has at least one and at most {NAME_MAX} characters; this one has {has}.")
    if interval and not INTERVAL_LEAST <= interval <= INTERVAL_MOST:
        raise Invalid("An interval is at least 15 minutes and at most a day; 0 takes it back.")
    if category is not None and len(category) > CATEGORY_MAX:
        raise Invalid(f"A category has at most {CATEGORY_MAX} characters; this one has {len(category)}.")
    await sources.change(
        conn,
        source_id=source.id,
        name=name,
        policy=policy,
        interval_minutes=None if interval is None else round(interval / timedelta(minutes=1)),
        category=category,
        is_system=is_system,
        is_critical=is_critical,
    )
    if interval is not None and now is not None and source.feed_url is not None:
        await feed_schedule.apply_interval(conn, source_id=source.id, interval=interval, now=now)


async def change_ingestion(conn: Connection, source: Source, *, wishes: Wishes, now: datetime) -> Source:
    """Change how a source's pages are found and read; where it is entered anew, that is due at once.

    Raises InvalidUrl, Invalid, SourceExists.
    """
    changed = as_wished(source, wishes)
    await sources.change_ingestion(conn, source=changed)
    if entrances(changed) != entrances(source):
        await _enter(conn, changed, now)
    return changed


async def move(conn: Connection, source: Source, *, url: str, now: datetime) -> Source:
    """A person says that the source's feed is elsewhere: what was known of polling it is forgotten, and it is due at
    once. Raises InvalidUrl, SourceExists."""
    feed_url = complete_url(url)
    await sources.change_url(conn, source_id=source.id, feed_url=feed_url, feed_url_key=url_key(feed_url))
    await suggestions.remove(conn, source_id=source.id)
    if source.feed_url is None:
        await feed_schedule.schedule_first(
            conn, source_id=source.id, feed_url=feed_url, host=host_of(feed_url), now=now
        )
    moved = replace(source, feed_url=feed_url)
    await enable(conn, moved, now)
    return moved


async def enable(conn: Connection, source: Source, now: datetime) -> None:
    """Poll this source's feed again from now on; all that was held against it is forgotten.

    One that is switched off altogether stays so: see `switch_on`.
    """
    await sources.set_disabled(conn, source_id=source.id, disabled_at=None, reason=None)
    if source.feed_url is not None:
        await feed_schedule.start_over(
            conn, source_id=source.id, feed_url=source.feed_url, host=host_of(source.feed_url), now=now
        )
        if not source.enabled:
            await feed_schedule.reschedule(conn, source_id=source.id, next_poll_at=BY_HAND_ONLY, now=now)
    await _enter(conn, source, now)


async def disable(conn: Connection, source: Source, reason: str, now: datetime) -> datetime | None:
    """Leave this source's feed alone; returns until when. Raises Invalid, NothingToPoll.

    Where the reason is a class of failure that cools down, it is probed after that time, as seed 000 says. Any other
    reason is a person's own, and holds until a person enables the feed.
    """
    reason = " ".join(reason.split())
    if not 0 < len(reason) <= REASON_MAX:
        raise Invalid(f"Say why, in at most {REASON_MAX} characters: a class of failure, or your own words.")
    if source.feed_url is None:
        raise NothingToPoll(source.name)
    cooldown = cooldown_of(reason)
    until = now + cooldown if cooldown else None
    await sources.set_disabled(conn, source_id=source.id, disabled_at=now, reason=reason)
    await feed_schedule.turn_off(conn, source_id=source.id, at=now, reason=reason, until=until)
    again = until if until and source.enabled else BY_HAND_ONLY
    await feed_schedule.reschedule(conn, source_id=source.id, next_poll_at=again, now=now)
    return until


async def switch_off(conn: Connection, source: Source, now: datetime) -> Source:
    """Follow this source no more, and keep it: nothing of it is polled, and none of its lists are fetched."""
    await sources.set_enabled(conn, source_id=source.id, enabled=False)
    await changes.delete(conn, ids=await merging.list_index_pages(conn, source_id=source.id))
    await feed_schedule.reschedule(conn, source_id=source.id, next_poll_at=BY_HAND_ONLY, now=now)
    return replace(source, enabled=False)


async def switch_on(conn: Connection, source: Source, now: datetime) -> Source:
    """Follow this source again, at once; a feed that is off waits for its end."""
    await sources.set_enabled(conn, source_id=source.id, enabled=True)
    source = replace(source, enabled=True)
    is_off, until = await feed_schedule.off_until(conn, source_id=source.id)
    await feed_schedule.reschedule(
        conn, source_id=source.id, next_poll_at=(until or BY_HAND_ONLY) if is_off else now, now=now
    )
    await _enter(conn, source, now)
    return source


async def respect_hold(conn: Connection, source: Source, now: datetime) -> Source:
    """What an operator or the site decided about this feed holds for its new source too: a reader who leaves a feed
    and adds it again gets no other answer."""
    hold = await feed_holds.take_hold(conn, feed_url_key=url_key(source.feed_url)) if source.feed_url else None
    if hold is None:
        return source
    if hold.asked_until is not None and hold.asked_until > now:
        await feed_schedule.wait_as_asked(conn, source_id=source.id, until=hold.asked_until)
    if hold.off_at is not None and (hold.off_until is None or hold.off_until > now):
        reason = hold.off_reason or ""
        await sources.set_disabled(conn, source_id=source.id, disabled_at=hold.off_at, reason=reason)
        await feed_schedule.turn_off(conn, source_id=source.id, at=hold.off_at, reason=reason, until=hold.off_until)
        await feed_schedule.reschedule(conn, source_id=source.id, next_poll_at=hold.off_until or BY_HAND_ONLY, now=now)
    return await switch_off(conn, source, now) if hold.is_switched_off else source


async def forget_hold(conn: Connection, source: Source) -> None:
    """An operator added this source: what was decided before holds no more."""
    if source.feed_url is not None:
        await feed_holds.take_hold(conn, feed_url_key=url_key(source.feed_url))


async def refresh(conn: Connection, source: Source, now: datetime) -> None:
    """Read this source now, due or not; a feed that is off is probed. Raises SourceIsOff."""
    if not source.enabled:
        raise SourceIsOff(source.name)
    await feed_schedule.reschedule(conn, source_id=source.id, next_poll_at=now, now=now)
    await _enter(conn, source, now)


async def reset_errors(conn: Connection, source: Source) -> None:
    """Forget what was counted against this source's feed. Whether it is off, and when it is polled, stays."""
    await feed_schedule.forget_errors(conn, source_id=source.id)


async def leave(conn: Connection, source: Source) -> None:
    """Delete a source: hidden at once, its articles and URLs removed in the background. Raises SourceNotFound."""
    await sources.remove(conn, source_id=source.id)


async def _enter(conn: Connection, source: Source, now: datetime) -> None:
    """Queue the pages that reading a source begins from; what is known of them, even dead, is tried again at once."""
    if source.enabled and (pages := entrances(source)):
        queued = await queue.submit(conn, submissions=pages, now=now)
        await changes.retry(conn, ids=[one.id for one in queued if one.id and one.fate is Fate.KNOWN], now=now)

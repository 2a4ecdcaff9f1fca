"""Adding, changing, enabling and deleting a source: the rows that the stages work on."""

from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

from headwater.articles.decide import is_private_feed
from headwater.articles.store import state
from headwater.db import Connection
from headwater.errors import Invalid, NothingToPoll, SourceIsOff, SourceNotFound
from headwater.frontier.store import changes as frontier_changes
from headwater.frontier.store import queue
from headwater.frontier.types import SubmitOutcome
from headwater.hosts.store.due import wake_for_pages
from headwater.hosts.types import Wake
from headwater.ids import new_id
from headwater.library.decide import nested
from headwater.polling.decide import BY_HAND_ONLY
from headwater.polling.policy import policy_named
from headwater.polling.store import holds as feed_holds
from headwater.polling.store import schedule as feed_schedule
from headwater.sources.decide import apply_overrides, check_name, cooldown_of, key_after_edit, start_pages
from headwater.sources.store import merging, sources, suggestions
from headwater.sources.types import CATEGORY_MAX, NO_OVERRIDES, Changes, Source, SourceOverrides
from headwater.types import SourceId
from headwater.urls import complete_url, host_of, url_key

REASON_MAX = 200
INTERVAL_MIN = timedelta(minutes=15)
INTERVAL_MAX = timedelta(days=1)
ROUTED_AGAIN_MOST = 1_000  # articles


async def follow(
    conn: Connection, *, url: str | None, name: str | None, now: datetime, overrides: SourceOverrides = NO_OVERRIDES
) -> Source:
    """Add a feed, or else the overrides' site or sitemap, due at once. Raises InvalidUrl, Invalid, SourceExists."""
    feed_url = None if url is None else complete_url(url)
    source = apply_overrides(Source(SourceId(new_id()), "", feed_url, now), overrides)
    source = replace(source, name=check_name(host_of(source.address) if name is None else name))
    await sources.add(conn, source=source)
    wakes = await _queue_start_pages(conn, source, now)
    if feed_url is not None:
        await feed_schedule.schedule_first(
            conn, source_id=source.id, feed_url=feed_url, host=host_of(feed_url), now=now, wakes=wakes
        )
    else:
        await wake_for_pages(conn, wakes=wakes)
    return source


async def find(conn: Connection, wanted: str) -> Source:
    """A source by its id, or by the URL of its feed or site. Raises SourceNotFound."""
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


async def change(conn: Connection, source: Source, changes: Changes, *, now: datetime | None = None) -> None:
    """Change name, policy, interval, category and flags; a new interval counts from the last poll. Raises Invalid."""
    name, category, interval = changes.name, changes.category, changes.interval
    if changes.policy:
        policy_named(changes.policy)
    if interval and not INTERVAL_MIN <= interval <= INTERVAL_MAX:
        raise Invalid("An interval is at least 15 minutes and at most a day; 0 resets it.")
    if category is not None and len(category := nested(category)) > CATEGORY_MAX:
        raise Invalid(f"A category has at most {CATEGORY_MAX} characters; this one has {len(category)}.")
    checked = replace(changes, name=None if name is None else check_name(name), category=category)
    await sources.change(conn, source_id=source.id, changes=checked)
    if changes.is_system not in {None, source.is_system} and now is not None:
        await route_again(conn, source.id, now)
    if interval is not None and now is not None and source.feed_url is not None:
        await feed_schedule.apply_interval(conn, source_id=source.id, interval=interval, now=now)


async def route_again(conn: Connection, source_id: SourceId, now: datetime) -> None:
    """Everyone may know of a source from now on, or no longer: messages about its articles say so."""
    await state.queue_listed(conn, source_id=source_id, at=now, limit=ROUTED_AGAIN_MOST)


async def route_moved(
    conn: Connection, source_id: SourceId, *, before: str | None, after: str, is_public: bool, now: datetime
) -> None:
    """The same for a feed that has another URL, if its URL has a key from now on, or no longer."""
    if is_private_feed(before, is_public=is_public) != is_private_feed(after, is_public=is_public):
        await route_again(conn, source_id, now)


async def change_ingestion(conn: Connection, source: Source, *, overrides: SourceOverrides, now: datetime) -> Source:
    """Change how pages are found and read. New start pages are due now. Raises InvalidUrl, Invalid, SourceExists."""
    changed = apply_overrides(source, overrides)
    await sources.change_ingestion(conn, source=changed)
    if start_pages(changed) != start_pages(source):
        await wake_for_pages(conn, wakes=await _queue_start_pages(conn, changed, now))
    return changed


async def move(conn: Connection, source: Source, *, url: str, now: datetime) -> Source:
    """Change the feed's URL: its polling state is reset, and it is due at once. Raises InvalidUrl, SourceExists."""
    url = complete_url(url)
    address = await merging.find_address(conn, source_id=source.id)
    key = key_after_edit(address, url) if address else url_key(url)
    was_private = is_private_feed(source.feed_url, is_public=source.is_system)
    await sources.change_url(conn, source_id=source.id, feed_url=url, feed_url_key=key, was_private=was_private)
    await suggestions.remove(conn, source_id=source.id)
    await route_moved(conn, source.id, before=source.feed_url, after=url, is_public=source.is_system, now=now)
    if source.feed_url is None:
        await feed_schedule.schedule_first(conn, source_id=source.id, feed_url=url, host=host_of(url), now=now)
    moved = replace(source, feed_url=url)
    await enable(conn, moved, now)
    return moved


async def enable(conn: Connection, source: Source, now: datetime) -> None:
    """Enable the feed and reset its errors; it is due at once unless the whole source is disabled."""
    await sources.set_disabled(conn, source_id=source.id, disabled_at=None, reason=None)
    wakes = await _queue_start_pages(conn, source, now)
    if source.feed_url is not None:
        await feed_schedule.reset_feed(
            conn, source_id=source.id, feed_url=source.feed_url, host=host_of(source.feed_url), now=now, wakes=wakes
        )
        if not source.enabled:
            await feed_schedule.reschedule(conn, source_id=source.id, next_poll_at=BY_HAND_ONLY, now=now)
    else:
        await wake_for_pages(conn, wakes=wakes)


async def disable(conn: Connection, source: Source, reason: str, now: datetime) -> datetime | None:
    """Disable the feed; returns until when. Raises Invalid, NothingToPoll. If the reason is a class of failure with a
    cooldown, the feed is probed after it, as seed 000 says. Any other reason is an operator's own, and the feed stays
    disabled until it is enabled."""
    reason = " ".join(reason.split())
    if not 0 < len(reason) <= REASON_MAX:
        raise Invalid(f"A reason is required, of at most {REASON_MAX} characters: a class of failure, or free text.")
    if source.feed_url is None:
        raise NothingToPoll(source.name)
    cooldown = cooldown_of(reason)
    until = now + cooldown if cooldown else None
    await _disable_feed(conn, source, reason, at=now, until=until, now=now)
    return until


async def _disable_feed(
    conn: Connection, source: Source, reason: str, *, at: datetime, until: datetime | None, now: datetime
) -> None:
    await sources.set_disabled(conn, source_id=source.id, disabled_at=at, reason=reason)
    await feed_schedule.disable(conn, source_id=source.id, at=at, reason=reason, until=until)
    probe_at = until if until and source.enabled else BY_HAND_ONLY
    await feed_schedule.reschedule(conn, source_id=source.id, next_poll_at=probe_at, now=now)


async def disable_source(conn: Connection, source: Source, now: datetime, *, by_operator: bool = False) -> Source:
    """Disable the whole source: nothing of it is polled, and its sitemaps and list pages are not fetched.
    `by_operator`: no subscription or suggestion of a user enables it again."""
    await sources.set_enabled(conn, source_id=source.id, enabled=False, by_operator=by_operator)
    wakes: list[Wake] = []
    await frontier_changes.delete(conn, ids=await merging.list_index_pages(conn, source_id=source.id), wakes=wakes)
    await _wake(conn, source, BY_HAND_ONLY, now, wakes)
    return replace(source, enabled=False)


async def enable_source(conn: Connection, source: Source, now: datetime) -> Source:
    """Enable the whole source: it is due at once, or when the cooldown of its feed ends."""
    await sources.set_enabled(conn, source_id=source.id, enabled=True)
    source = replace(source, enabled=True)
    is_disabled, until = await feed_schedule.disabled_until(conn, source_id=source.id)
    next_poll_at = (until or BY_HAND_ONLY) if is_disabled else now
    await _wake(conn, source, next_poll_at, now, await _queue_start_pages(conn, source, now))
    return source


async def apply_hold(conn: Connection, source: Source, now: datetime) -> Source:
    """Apply what an operator or the site decided about this feed, before its source was deleted or while it has moved
    here from another site: to subscribe again, or by its new URL, does not undo it."""
    if source.feed_url is None:
        return source
    disable = await feed_holds.find_disable(conn, url=source.feed_url, now=now, other_than=source.id)
    hold = await feed_holds.take_hold(conn, feed_url_key=url_key(source.feed_url))
    if hold is not None and hold.asked_until is not None and hold.asked_until > now:
        await feed_schedule.delay_until(conn, source_id=source.id, until=hold.asked_until)
    if hold is not None and hold.disabled_at is not None and (hold.disabled_until is None or hold.disabled_until > now):
        await _disable_feed(
            conn, source, hold.disable_reason or "", at=hold.disabled_at, until=hold.disabled_until, now=now
        )
    elif disable is not None and not disable.is_whole:
        await _disable_feed(conn, source, "Disabled under its earlier URL.", at=now, until=disable.until, now=now)
    is_whole = disable is not None and disable.is_whole
    return await disable_source(conn, source, now, by_operator=True) if is_whole else source


async def refresh(conn: Connection, source: Source, now: datetime) -> None:
    """Make the source due now; a disabled feed is probed. Raises SourceIsOff."""
    if not source.enabled:
        raise SourceIsOff(source.name)
    await _wake(conn, source, now, now, await _queue_start_pages(conn, source, now))


async def _wake(conn: Connection, source: Source, next_poll_at: datetime, now: datetime, wakes: list[Wake]) -> None:
    """Poll the feed then, and wake hosts for pages. All hosts of a transaction are written last, and together."""
    if source.feed_url is None:
        await wake_for_pages(conn, wakes=wakes)
    else:
        await feed_schedule.reschedule(conn, source_id=source.id, next_poll_at=next_poll_at, now=now, wakes=wakes)


async def _queue_start_pages(conn: Connection, source: Source, now: datetime) -> list[Wake]:
    """Queue the pages that reading a source starts from; those already queued, even dead, are retried at once. Returns
    the hosts to wake, after the feed is written."""
    if not source.enabled or not (pages := start_pages(source)):
        return []
    queued, wakes = await queue.add(conn, submissions=pages, now=now)
    known = [one.id for one in queued if one.id and one.result is SubmitOutcome.KNOWN]
    await frontier_changes.retry(conn, ids=known, now=now, wakes=wakes)
    return wakes

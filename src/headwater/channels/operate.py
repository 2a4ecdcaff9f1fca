"""What operators do to channels, each with its entry in the audit log, in one transaction.

Secrets are made here and returned once; they are in no log and no list.
"""

import base64
import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, NamedTuple

from headwater.audit import store as audit
from headwater.audit.types import Actor, AuditAction
from headwater.channels.decide import CHANNELS_MOST, check_channel, check_not_everything
from headwater.channels.store import deliveries, records
from headwater.channels.types import Channel, ChannelFields, ChannelId, DestinationKind, DestinationLimits
from headwater.db import Connection
from headwater.documents import store as documents
from headwater.errors import Invalid, TooManyChannels
from headwater.ids import new_id
from headwater.query.tree import leaves_of
from headwater.query.types import Node, Query, Words
from headwater.text import text_problem
from headwater.urls import masked

SECRET_PREFIX: Final = "whsec_"  # noqa: S105  as the libraries of Standard Webhooks expect it
SECRET_MAX: Final = 200
OWN_INDEX: Final = "The channel of the search index is made by Headwater, and gets everything; it can be renamed."
_NEEDS_SECRET: Final = {DestinationKind.WEBHOOK}
_TAKES_PASSWORD: Final = {DestinationKind.REDIS, DestinationKind.NATS}


class MadeChannel(NamedTuple):
    """A new channel. `secret`: with which its messages are signed, shown this once."""

    channel: Channel
    secret: str | None


async def create(
    conn: Connection, *, fields: ChannelFields, query: Query, limits: DestinationLimits, actor: Actor, now: datetime,
    password: str | None = None,
) -> MadeChannel:  # fmt: skip
    """A channel for articles from now on. `password`: of a Redis or NATS server. Raises Invalid, MatchesEverything,
    ChannelExists, TooManyChannels."""
    checked = await check(conn, fields, query, limits)
    if checked.destination is DestinationKind.SEARCH_INDEX:
        raise Invalid(OWN_INDEX)
    await records.raise_version(conn)
    if await records.count(conn) >= CHANNELS_MOST:
        raise TooManyChannels(CHANNELS_MOST)
    secret = _secret(checked.destination, password)
    channel_id = ChannelId(new_id())
    await records.add(conn, channel_id=channel_id, fields=checked, secret=secret, now=now)
    channel = await records.find(conn, channel_id=channel_id)
    await _record(conn, actor, AuditAction.CHANNEL_CREATED, channel, now, _plain(checked))
    return MadeChannel(channel, secret if checked.destination in _NEEDS_SECRET else None)


async def change(
    conn: Connection, channel_id: ChannelId, *, fields: ChannelFields, query: Query, limits: DestinationLimits,
    actor: Actor, now: datetime, password: str | None = None,
) -> MadeChannel:  # fmt: skip
    """The changed channel, with a new secret if its kind of destination changes. Raises as `create`, and
    ChannelNotFound."""
    await records.raise_version(conn)
    before = await records.lock(conn, channel_id=channel_id)
    checked = await check(conn, fields, query, limits)
    if checked == before.fields and password is None:
        return MadeChannel(before, None)
    if DestinationKind.SEARCH_INDEX in {before.destination, checked.destination} and (
        replace(checked, name=before.name) != before.fields
    ):
        raise Invalid(OWN_INDEX)
    await records.change(conn, channel_id=channel_id, fields=checked, now=now)
    secret = None
    if checked.destination is not before.destination or password is not None or _is_other_server(before, checked):
        secret = _secret(checked.destination, password)
        await records.set_secret(conn, channel_id=channel_id, secret=secret, now=now)
    old, new = _plain(before.fields), _plain(checked)
    detail = {name: new[name] for name in new if new[name] != old[name]}
    await _record(conn, actor, AuditAction.CHANNEL_CHANGED, before, now, detail)
    channel = await records.find(conn, channel_id=channel_id)
    return MadeChannel(channel, secret if checked.destination in _NEEDS_SECRET else None)


def _is_other_server(before: Channel, after: ChannelFields) -> bool:
    """Whether a password would be sent to another server than the one it was given for."""
    return after.destination in _TAKES_PASSWORD and before.options.get("url") != after.options.get("url")


async def delete(conn: Connection, channel_id: ChannelId, *, actor: Actor, now: datetime) -> Channel:
    """Raises ChannelNotFound."""
    channel = await records.find(conn, channel_id=channel_id)
    if channel.destination is not DestinationKind.SEARCH_INDEX:  # nothing is routed to it
        await records.raise_version(conn)
    channel = await records.lock(conn, channel_id=channel_id)
    if channel.destination is DestinationKind.SEARCH_INDEX:
        await documents.stop_listening(conn)
    await records.remove(conn, channel_id=channel_id)
    await _record(conn, actor, AuditAction.CHANNEL_DELETED, channel, now, _plain(channel.fields))
    return channel


async def set_paused(
    conn: Connection, channel_id: ChannelId, *, is_paused: bool, actor: Actor, now: datetime
) -> Channel:
    """Deliveries of a paused channel wait until it is resumed. Raises ChannelNotFound."""
    channel = await records.lock(conn, channel_id=channel_id)
    if channel.is_paused == is_paused:
        return channel
    await records.set_paused(conn, channel_id=channel_id, is_paused=is_paused, now=now)
    action = AuditAction.CHANNEL_PAUSED if is_paused else AuditAction.CHANNEL_RESUMED
    await _record(conn, actor, action, channel, now, {})
    return await records.find(conn, channel_id=channel_id)


async def replay(conn: Connection, channel_id: ChannelId, *, since: datetime, actor: Actor, now: datetime) -> int:
    """Send again what was queued since a time, in order and under the same ids. Returns how many. The search index gets
    everything again. Raises Invalid, ChannelNotFound."""
    if since.tzinfo is None:
        raise Invalid("The time needs a time zone, as in 2026-11-01T00:00:00Z.")
    channel = await records.lock(conn, channel_id=channel_id)
    if channel.destination is DestinationKind.NONE:
        raise Invalid("This channel has no destination to send to. Read it again from an earlier revision.")
    if channel.destination is DestinationKind.SEARCH_INDEX:
        count = await documents.refill(conn)
    else:
        count = await deliveries.replay(conn, channel_id=channel_id, since=since, now=now)
    detail = {"since": since.isoformat(), "deliveries": count}
    await _record(conn, actor, AuditAction.CHANNEL_REPLAYED, channel, now, detail)
    return count


async def retry(
    conn: Connection, channel_id: ChannelId, *, actor: Actor, now: datetime, revision: int | None = None
) -> int:
    """Send dead letters again: one of them, or all. Returns how many. Raises ChannelNotFound."""
    channel = await records.lock(conn, channel_id=channel_id)
    count = await deliveries.retry(conn, channel_id=channel_id, revision=revision, now=now)
    if count:
        await _record(conn, actor, AuditAction.CHANNEL_RETRIED, channel, now, {"deliveries": count})
    return count


async def renew_secret(conn: Connection, channel_id: ChannelId, *, actor: Actor, now: datetime) -> str:
    """A new secret for the messages of a webhook; the old one is invalid at once. Raises Invalid, ChannelNotFound."""
    channel = await records.lock(conn, channel_id=channel_id)
    if channel.destination not in _NEEDS_SECRET:
        raise Invalid("Only the messages of a webhook are signed.")
    secret = _new_secret()
    await records.set_secret(conn, channel_id=channel_id, secret=secret, now=now)
    await _record(conn, actor, AuditAction.CHANNEL_SECRET_CHANGED, channel, now, {})
    return secret


async def renew_feed(conn: Connection, channel_id: ChannelId, *, actor: Actor, now: datetime) -> str:
    """A new key for the address of its feed; an old address is invalid at once. Raises ChannelNotFound."""
    channel = await records.lock(conn, channel_id=channel_id)
    key = secrets.token_urlsafe(24)
    await records.set_feed_key(conn, channel_id=channel_id, feed_key=feed_digest(key))
    await _record(conn, actor, AuditAction.CHANNEL_FEED_CHANGED, channel, now, {"has_feed": True})
    return key


async def revoke_feed(conn: Connection, channel_id: ChannelId, *, actor: Actor, now: datetime) -> None:
    """Raises ChannelNotFound."""
    channel = await records.lock(conn, channel_id=channel_id)
    await records.set_feed_key(conn, channel_id=channel_id, feed_key=None)
    await _record(conn, actor, AuditAction.CHANNEL_FEED_CHANGED, channel, now, {"has_feed": False})


def feed_digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "replace")).digest()


async def check(conn: Connection, fields: ChannelFields, query: Query, limits: DestinationLimits) -> ChannelFields:
    """The channel with clean values. Raises Invalid, MatchesEverything."""
    checked = check_channel(replace(fields, query=query.text), limits)
    await check_query(conn, query.tree)
    return checked


async def check_query(conn: Connection, tree: Node) -> None:
    """Raises MatchesEverything."""
    words = [leaf.text for leaf in leaves_of(tree) if isinstance(leaf, Words)]
    check_not_everything(tree, blank=await records.find_blank(conn, words=words) if words else frozenset())


def _secret(kind: DestinationKind, password: str | None) -> str | None:
    """Raises Invalid."""
    if kind in _NEEDS_SECRET:
        return _new_secret()
    if not password:
        return None
    if kind not in _TAKES_PASSWORD:
        raise Invalid(f"The destination {kind} has no password.")
    if text_problem(password, most=SECRET_MAX) or "\n" in password or "\r" in password:
        raise Invalid(f"A password has at most {SECRET_MAX} characters, on one line.")
    return password


def _new_secret() -> str:
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def shown_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options without what may be a secret inside a URL, for users who did not write them."""
    return {name: masked(value) if isinstance(value, str) else value for name, value in options.items()}


def _plain(fields: ChannelFields) -> dict[str, object]:
    return {
        "name": fields.name, "query": fields.query, "destination": fields.destination.value,
        "options": shown_options(fields.options),
    }  # fmt: skip


async def _record(
    conn: Connection, actor: Actor, action: AuditAction, channel: Channel, now: datetime, detail: Mapping[str, object]
) -> None:
    await audit.record(conn, actor, action, now, subject=channel.name, subject_id=channel.id, detail=detail)

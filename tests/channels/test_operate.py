"""What operators do to channels is checked, audited, and shows no secrets."""

import base64

import pytest

from headwater.audit.types import Actor
from headwater.channels import operate
from headwater.channels.store import records
from headwater.channels.types import Channel, ChannelFields, DestinationKind
from headwater.db import Connection, fetch_value
from headwater.errors import ChannelExists, ChannelNotFound, Invalid, MatchesEverything
from headwater.query.types import Not, Query, Words
from tests.channels.given import LIMITS, WEBHOOK, a_channel
from tests.clock import START

MO = Actor(None, "mo@example.com")
REDIS = {"url": "redis://redis.internal:6379", "stream": "crime"}


async def change(conn: Connection, channel: Channel, fields: ChannelFields, password: str | None = None):
    query = Query(fields.query, Words(fields.query))
    return await operate.change(
        conn, channel.id, fields=fields, query=query, limits=LIMITS, actor=MO, now=START, password=password
    )


async def actions(conn: Connection) -> list[tuple[str, object]]:
    await conn.execute("SET LOCAL ROLE headwater_system")
    cur = await conn.execute("SELECT action, detail FROM audit_log ORDER BY id")
    return [(action, detail) for action, detail in await cur.fetchall()]


async def test_a_webhook_gets_a_secret_that_is_shown_once(conn: Connection) -> None:
    fields = ChannelFields("crime", "crime", DestinationKind.WEBHOOK, {"url": "https://h.example/in?token=hidden"})
    channel, secret = await operate.create(
        conn, fields=fields, query=Query("crime", Words("crime")), limits=LIMITS, actor=MO, now=START
    )
    assert secret is not None
    assert len(base64.b64decode(secret.removeprefix("whsec_"))) == 32
    assert secret not in repr(await records.find(conn, channel_id=channel.id))
    assert await records.read_secret(conn, channel_id=channel.id) == secret
    renewed = await operate.renew_secret(conn, channel.id, actor=MO, now=START)
    assert await records.read_secret(conn, channel_id=channel.id) == renewed != secret
    log = repr(await actions(conn))
    assert "hidden" not in log
    assert secret not in log
    assert renewed not in log


async def test_each_change_raises_the_version_that_routers_look_at(conn: Connection) -> None:
    versions = [await records.channels_version(conn)]
    channel = await a_channel(conn)
    versions.append(await records.channels_version(conn))
    await change(conn, channel, ChannelFields("crime", "theft", DestinationKind.WEBHOOK, WEBHOOK))
    versions.append(await records.channels_version(conn))
    await operate.delete(conn, channel.id, actor=MO, now=START)
    versions.append(await records.channels_version(conn))
    assert versions == sorted(set(versions))


async def test_a_name_is_given_once(conn: Connection) -> None:
    await a_channel(conn, "crime")
    with pytest.raises(ChannelExists, match="'crime'"):
        await a_channel(conn, "crime")


async def test_a_query_that_excludes_punctuation_is_refused(conn: Connection) -> None:
    with pytest.raises(MatchesEverything):
        await operate.check_query(conn, Not(Words("?!")))
    await operate.check_query(conn, Not(Words("crime")))


async def test_a_password_stays_with_its_server(conn: Connection) -> None:
    channel = await a_channel(conn, destination=DestinationKind.NONE, options={})
    fields = ChannelFields("crime", "crime", DestinationKind.REDIS, REDIS)
    made = await change(conn, channel, fields, password="secret")
    assert made.secret is None
    assert made.channel.has_secret
    same = ChannelFields("crime", "theft", DestinationKind.REDIS, REDIS)
    assert (await change(conn, made.channel, same)).channel.has_secret
    moved = ChannelFields("crime", "theft", DestinationKind.REDIS, {**REDIS, "url": "redis://127.0.0.1:6379"})
    assert not (await change(conn, made.channel, moved)).channel.has_secret
    with pytest.raises(Invalid, match="no password"):
        await change(conn, made.channel, ChannelFields("crime", "x", DestinationKind.FILE, {"name": "a"}), "secret")


async def test_a_changed_channel_is_tried_at_once(conn: Connection) -> None:
    channel = await a_channel(conn)
    await conn.execute("UPDATE channels SET failures = 9, reason = 'x', ready_at = now() + interval '1 hour'")
    changed = await change(conn, channel, ChannelFields("crime", "theft", DestinationKind.WEBHOOK, WEBHOOK))
    assert (changed.channel.failures, changed.channel.ready_at, changed.channel.version) == (0, START, 2)


async def test_pausing_resuming_and_deleting_are_audited_once(conn: Connection) -> None:
    channel = await a_channel(conn)
    for is_paused in (True, True, False):
        await operate.set_paused(conn, channel.id, is_paused=is_paused, actor=MO, now=START)
    assert await operate.replay(conn, channel.id, since=START, actor=MO, now=START) == 0
    assert await operate.retry(conn, channel.id, actor=MO, now=START) == 0
    await operate.delete(conn, channel.id, actor=MO, now=START)
    with pytest.raises(ChannelNotFound):
        await operate.delete(conn, channel.id, actor=MO, now=START)
    names = [action for action, _ in await actions(conn)]
    assert names == [
        "channel.created", "channel.paused", "channel.resumed", "channel.replayed", "channel.deleted"
    ]  # fmt: skip


async def test_the_feed_of_a_channel_has_a_key_that_can_be_renewed_and_revoked(conn: Connection) -> None:
    channel = await a_channel(conn)
    key = await operate.renew_feed(conn, channel.id, actor=MO, now=START)
    found = await records.find_by_feed_key(conn, feed_key=operate.feed_digest(key))
    assert found is not None
    assert found.has_feed
    await operate.renew_feed(conn, channel.id, actor=MO, now=START)
    assert await records.find_by_feed_key(conn, feed_key=operate.feed_digest(key)) is None
    await operate.revoke_feed(conn, channel.id, actor=MO, now=START)
    assert not (await records.find(conn, channel_id=channel.id)).has_feed


async def test_updated_at_is_the_time_of_the_last_change_by_an_operator(conn: Connection) -> None:
    channel = await a_channel(conn)
    await conn.execute("UPDATE channels SET ready_at = now(), delivered = 5")
    assert await fetch_value(conn, "SELECT updated_at FROM channels") == channel.updated_at

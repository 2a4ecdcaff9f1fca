"""What an operator sees of hosts costs the same however many there are."""

from datetime import timedelta

import pytest

from headwater.db import Connection
from headwater.hosts.keys import ALL_SHARDS, host_id_of, shard_of
from headwater.hosts.store import status as store
from headwater.hosts.store.pages import EVERY_BAND, parts
from tests.clock import START
from tests.db.test_every_statement import sql_of
from tests.db.test_plans import tables_read_in_full

pytestmark = pytest.mark.database

HOSTS = 60_000


@pytest.fixture
async def crowded(conn: Connection) -> Connection:
    """Hosts that come in the next days, none of them held back, in the way of one that is."""
    await conn.execute(
        """
        INSERT INTO hosts (shard, host_id, name, band, page_due_at, url_count)
        SELECT mod(n, 16), n, 'host' || n, mod(n, 4), %(now)s::timestamptz + n * interval '5 seconds', 1
        FROM generate_series(1, %(hosts)s) AS n
        """,
        {"now": START, "hosts": HOSTS},
    )
    host_id = host_id_of("busy.example")
    await conn.execute(
        """
        INSERT INTO hosts (shard, host_id, name, band, page_due_at, free_at, not_before, url_count, slowed)
        VALUES (%(shard)s, %(id)s, 'busy.example', 1, %(until)s, %(until)s, %(until)s, 3, 2)
        """,
        {"shard": shard_of(host_id), "id": host_id, "until": START + timedelta(hours=1)},
    )
    await conn.execute("ANALYZE hosts")
    return conn


async def test_a_host_that_waits_is_found_among_many_without_reading_them_all(crowded: Connection) -> None:
    found = await store.list_waiting(crowded, now=START, limit=20)
    sql = sql_of("hosts.status.list_waiting")
    values = {
        **parts(EVERY_BAND, ALL_SHARDS),
        "after": START + store.POLITE,
        "look": store.LOOKED_AT,
        "limit": 20,
    }
    cur = await crowded.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}".encode(), values)
    row = await cur.fetchone()
    assert row is not None
    plan = row[0][0]["Plan"]

    assert [(one.name, one.slowed, one.url_count) for one in found] == [("busy.example", 2, 3)]
    assert "hosts" not in tables_read_in_full(plan)
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= 64 * (store.LOOKED_AT + 10)


async def test_a_host_is_found_by_its_name_whatever_its_case(crowded: Connection) -> None:
    found = await store.find_status(crowded, name="Busy.Example", now=START)

    assert found is not None
    assert found.waits(START)
    assert not found.is_held
    assert await store.find_status(crowded, name="nobody.example", now=START) is None

"""What a user would write to send new articles on: a cursor in a table, and one XADD or one POST for each article.

Written with care, as the yardstick of channel.py: articles are read a hundred at a time, connections stay open, and the
cursor is written after each hundred. It keeps no record of deliveries, sends the same articles again under no id of
their own after a crash, has no signatures, no retries and no leases, and skips what is classified late.
"""

import json
from collections.abc import Iterator
from typing import Any

import aiohttp
import psycopg
import redis
from psycopg.rows import dict_row

AT_ONCE = 100

SCHEMA = "CREATE SCHEMA plain; CREATE TABLE plain.cursor (name text PRIMARY KEY, article_id uuid NOT NULL)"

NEXT = """
    SELECT articles.id, articles.url, coalesce(content.title, articles.title) AS title, content.text AS body,
        content.authors, content.published_at, content.language, content.image_url, content.word_count,
        array_agg(labels.label) FILTER (WHERE labels.scheme = 'topic') AS topics,
        min(labels.label) FILTER (WHERE labels.scheme = 'type') AS content_type,
        max(labels.score) FILTER (WHERE labels.scheme = 'quality') AS quality,
        (SELECT jsonb_agg(sources.name) FROM article_sources JOIN sources ON sources.id = source_id
            WHERE article_sources.article_id = articles.id) AS sources
    FROM articles
    JOIN content ON content.article_id = articles.id
    LEFT JOIN labels ON labels.article_id = articles.id AND labels.is_shown
    WHERE articles.id = ANY(ARRAY(
        SELECT id FROM articles
        WHERE id > (SELECT article_id FROM plain.cursor WHERE name = %(name)s) ORDER BY id LIMIT %(limit)s
    ))
    GROUP BY articles.id, content.article_id, articles.url, articles.title, content.title, content.text,
        content.authors, content.published_at, content.language, content.image_url, content.word_count
    ORDER BY articles.id
"""
MOVE = "UPDATE plain.cursor SET article_id = %(id)s WHERE name = %(name)s"


def batches(conn: psycopg.Connection[Any], name: str) -> Iterator[list[bytes]]:
    """Messages of the next articles; the cursor moves when the caller asks for more."""
    while True:
        with conn.cursor(row_factory=dict_row) as cur:
            rows = cur.execute(NEXT, {"name": name, "limit": AT_ONCE}).fetchall()
        if not rows:
            return
        yield [json.dumps(row, default=str).encode() for row in rows]
        conn.execute(MOVE, {"name": name, "id": rows[-1]["id"]})
        conn.commit()


def send_to_redis(conninfo: str, port: int, stream: str, *, is_pipelined: bool) -> None:
    client: Any = redis.Redis(port=port)
    with psycopg.connect(conninfo) as conn:
        for messages in batches(conn, stream):
            if is_pipelined:
                pipeline = client.pipeline(transaction=False)
                for message in messages:
                    pipeline.xadd(stream, {"data": message})
                pipeline.execute()
            else:
                for message in messages:
                    client.xadd(stream, {"data": message})
    client.close()


async def send_to_webhook(conninfo: str, url: str) -> None:
    async with aiohttp.ClientSession(headers={"Content-Type": "application/json"}) as session:
        with psycopg.connect(conninfo) as conn:
            for messages in batches(conn, "webhook"):
                for message in messages:
                    async with session.post(url, data=message) as response:
                        response.raise_for_status()

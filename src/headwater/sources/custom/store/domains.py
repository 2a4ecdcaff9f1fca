"""Blocked domains, and what was decided about the suggestions of a domain."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from headwater.audit.types import Actor
from headwater.db import Connection, fetch_all
from headwater.sources.custom.types import BlockedDomain, DomainRecord

_BLOCKED: Final = "SELECT domain, reason, blocked_by_name, blocked_at FROM blocked_domains"


async def block(conn: Connection, *, domain: str, reason: str, actor: Actor, now: datetime) -> bool:
    """Block a domain. False if it is blocked already."""
    statement = """
        INSERT INTO blocked_domains (domain, reason, blocked_by, blocked_by_name, blocked_at)
        VALUES (%(domain)s, %(reason)s, %(by)s, %(by_name)s, %(now)s)
        ON CONFLICT (domain) DO NOTHING
    """
    values = {"domain": domain, "reason": reason, "by": actor.user_id, "by_name": actor.name, "now": now}
    return (await conn.execute(statement, values)).rowcount == 1


async def unblock(conn: Connection, *, domain: str) -> bool:
    """Unblock a domain. False if it is not blocked."""
    statement = "DELETE FROM blocked_domains WHERE domain = %(domain)s"
    return (await conn.execute(statement, {"domain": domain})).rowcount == 1


async def find_blocked(conn: Connection, *, domains: Sequence[str]) -> list[BlockedDomain]:
    """Those of these domains that are blocked, the widest first."""
    statement = _BLOCKED + " WHERE domain = ANY(%(domains)s::text[]) ORDER BY length(domain), domain"
    return await fetch_all(conn, BlockedDomain, statement, {"domains": list(domains)})


async def list_blocked(conn: Connection, *, after: str = "", limit: int) -> list[BlockedDomain]:
    """Blocked domains after a name, in alphabetical order."""
    statement = f"""
        {_BLOCKED}
        WHERE domain COLLATE "C" > %(after)s ORDER BY domain COLLATE "C" LIMIT %(limit)s
    """
    return await fetch_all(conn, BlockedDomain, statement, {"after": after, "limit": limit})


async def list_records(conn: Connection, *, domains: Sequence[str]) -> dict[str, DomainRecord]:
    """How many suggestions of these domains and their subdomains were approved and rejected."""
    statement = """
        SELECT domain, count(*) FILTER (WHERE moderation_status = 'approved') AS approved,
            count(*) FILTER (WHERE moderation_status = 'rejected') AS rejected,
            EXISTS (SELECT FROM blocked_domains WHERE blocked_domains.domain = wanted.domain) AS is_blocked
        FROM unnest(%(domains)s::text[]) AS wanted (domain)
        LEFT JOIN submissions ON decided_at IS NOT NULL
            AND (host = wanted.domain OR right(host, length(wanted.domain) + 1) = '.' || wanted.domain)
        LEFT JOIN sources ON sources.id = source_id
        GROUP BY domain
    """
    return {one.domain: one for one in await fetch_all(conn, DomainRecord, statement, {"domains": list(domains)})}

"""Every statement on accounts, sessions, tokens, attempts and events."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from headwater.accounts.types import (
    ApiToken,
    Credentials,
    EventType,
    PersonLine,
    Purpose,
    Role,
    Scope,
    SessionLine,
    SessionRow,
    User,
)
from headwater.db import Connection, fetch_all, fetch_column, fetch_one, fetch_value, translate
from headwater.errors import EmailTaken, TokenNameTaken
from headwater.types import UserId

CLOCKS_APART = timedelta(minutes=5)  # between machines


async def claim_first(conn: Connection) -> bool:
    """Whether nobody has an account yet. Others who ask wait until this transaction ends."""
    await conn.execute("SELECT pg_advisory_xact_lock(hashtext('headwater.first_user'))")
    return bool(await fetch_value(conn, "SELECT NOT EXISTS (SELECT FROM users)"))


async def has_users(conn: Connection) -> bool:
    """Whether anybody has an account."""
    return bool(await fetch_value(conn, "SELECT EXISTS (SELECT FROM users)"))


async def add_user(
    conn: Connection,
    *,
    user_id: UserId,
    email: str,
    email_key: str,
    password_hash: str | None,
    role: Role,
    now: datetime,
    confirmed_at: datetime | None,
) -> None:
    """Add an account. Raises EmailTaken."""
    with translate(users_email_key=EmailTaken(email)):
        await conn.execute(
            """
            INSERT INTO users
                (id, email, email_key, password_hash, role, confirmed_at, privacy_accepted_at, created_at)
            VALUES (
                %(id)s, %(email)s, %(email_key)s, %(password_hash)s, %(role)s, %(confirmed_at)s, %(now)s, %(now)s
            )
            """,
            {
                "id": user_id,
                "email": email,
                "email_key": email_key,
                "password_hash": password_hash,
                "role": role.value,
                "now": now,
                "confirmed_at": confirmed_at,
            },
        )


async def find_credentials(conn: Connection, *, email_key: str) -> Credentials | None:
    """The account under an address."""
    cur = await conn.execute(
        """
        SELECT id, email, role, confirmed_at, created_at, password_hash
        FROM users
        WHERE email_key = %(email_key)s
        """,
        {"email_key": email_key},
    )
    row = await cur.fetchone()
    return _credentials(row) if row else None


async def find_credentials_by_id(conn: Connection, *, user_id: UserId) -> Credentials | None:
    """The account with this id."""
    cur = await conn.execute(
        "SELECT id, email, role, confirmed_at, created_at, password_hash FROM users WHERE id = %(id)s",
        {"id": user_id},
    )
    row = await cur.fetchone()
    return _credentials(row) if row else None


async def list_users(conn: Connection) -> list[User]:
    """Every account, the oldest first."""
    cur = await conn.execute(
        "SELECT id, email, role, confirmed_at, created_at, password_hash FROM users ORDER BY created_at, id"
    )
    return [_credentials(row).user for row in await cur.fetchall()]


async def list_people(conn: Connection, *, text: str = "", limit: int, offset: int) -> list[PersonLine]:
    """Accounts whose address holds a text, the oldest first, with what is known of how they are used."""
    return await fetch_all(
        conn,
        PersonLine,
        """
        SELECT users.id, email, role, karma, users.created_at, confirmed_at,
            greatest(session.seen_at, token.used_at) AS seen_at,
            (SELECT count(*) FROM subscriptions WHERE user_id = users.id) AS feed_count,
            session.count AS session_count, token.count AS token_count
        FROM users
        CROSS JOIN LATERAL (
            SELECT count(*), max(seen_at) AS seen_at FROM sessions WHERE user_id = users.id
        ) AS session
        CROSS JOIN LATERAL (
            SELECT count(*), max(used_at) AS used_at FROM api_tokens WHERE user_id = users.id
        ) AS token
        WHERE %(text)s = '' OR strpos(email_key, lower(%(text)s)) > 0
        ORDER BY users.created_at, users.id
        LIMIT %(limit)s
        OFFSET %(offset)s
        """,
        {"text": text, "limit": limit, "offset": offset},
    )


async def find_person(conn: Connection, *, user_id: UserId) -> PersonLine | None:
    """One of them."""
    return await fetch_one(
        conn,
        PersonLine,
        """
        SELECT users.id, email, role, karma, users.created_at, confirmed_at,
            greatest(session.seen_at, token.used_at) AS seen_at,
            (SELECT count(*) FROM subscriptions WHERE user_id = users.id) AS feed_count,
            session.count AS session_count, token.count AS token_count
        FROM users
        CROSS JOIN LATERAL (
            SELECT count(*), max(seen_at) AS seen_at FROM sessions WHERE user_id = users.id
        ) AS session
        CROSS JOIN LATERAL (
            SELECT count(*), max(used_at) AS used_at FROM api_tokens WHERE user_id = users.id
        ) AS token
        WHERE users.id = %(id)s
        """,
        {"id": user_id},
    )


async def count_people(conn: Connection, *, text: str = "") -> int:
    """How many accounts have an address that holds a text."""
    return await fetch_value(
        conn, "SELECT count(*) FROM users WHERE %(text)s = '' OR strpos(email_key, lower(%(text)s)) > 0", {"text": text}
    )


async def hold_administrators(conn: Connection) -> list[UserId]:
    """Every super_admin; their rows stay locked until the transaction ends, in one order for all callers."""
    return await fetch_column(conn, "SELECT id FROM users WHERE role = 'super_admin' ORDER BY id FOR UPDATE")


async def hold_credentials(conn: Connection, *, user_id: UserId) -> Credentials | None:
    """The account with this id. Its password and ways in stay as they are until the transaction ends."""
    cur = await conn.execute(
        """
        SELECT id, email, role, confirmed_at, created_at, password_hash
        FROM users
        WHERE id = %(id)s
        FOR NO KEY UPDATE
        """,
        {"id": user_id},
    )
    row = await cur.fetchone()
    return _credentials(row) if row else None


def _credentials(row: Sequence[Any]) -> Credentials:
    user_id, email, role, confirmed_at, created_at, password_hash = row
    return Credentials(User(UserId(user_id), email, Role(role), confirmed_at, created_at), password_hash)


async def set_password(conn: Connection, *, user_id: UserId, password_hash: str) -> None:
    """Change what the password is held against."""
    await conn.execute(
        "UPDATE users SET password_hash = %(hash)s WHERE id = %(id)s", {"id": user_id, "hash": password_hash}
    )


async def set_email(conn: Connection, *, user_id: UserId, email: str, email_key: str, now: datetime) -> None:
    """Change a person's address, which they have shown to be theirs. Raises EmailTaken."""
    with translate(users_email_key=EmailTaken(email)):
        await conn.execute(
            "UPDATE users SET email = %(email)s, email_key = %(key)s, confirmed_at = %(now)s WHERE id = %(id)s",
            {"id": user_id, "email": email, "key": email_key, "now": now},
        )


async def set_role(conn: Connection, *, user_id: UserId, role: Role) -> None:
    """Change what a person may do."""
    await conn.execute("UPDATE users SET role = %(role)s WHERE id = %(id)s", {"id": user_id, "role": role.value})


async def find_karma(conn: Connection, *, user_id: UserId) -> int:
    """How much a person is trusted."""
    return await fetch_value(conn, "SELECT karma FROM users WHERE id = %(id)s", {"id": user_id}) or 0


async def add_karma(conn: Connection, *, user_id: UserId, karma: int) -> None:
    """More or less trust; never less than none."""
    await conn.execute(
        "UPDATE users SET karma = greatest(karma + %(karma)s, 0) WHERE id = %(id)s", {"id": user_id, "karma": karma}
    )


async def close_ways_in(conn: Connection, *, user_id: UserId) -> None:
    """No password, session, token or outside identity that was there opens this account any more."""
    await conn.execute("UPDATE users SET password_hash = NULL WHERE id = %(id)s", {"id": user_id})
    await conn.execute("DELETE FROM sessions WHERE user_id = %(id)s", {"id": user_id})
    await conn.execute("DELETE FROM api_tokens WHERE user_id = %(id)s", {"id": user_id})
    await conn.execute("DELETE FROM mailed_tokens WHERE user_id = %(id)s", {"id": user_id})
    await conn.execute("DELETE FROM outside_identities WHERE user_id = %(id)s", {"id": user_id})


async def confirm(conn: Connection, *, user_id: UserId, now: datetime) -> None:
    """The address is theirs."""
    await conn.execute(
        "UPDATE users SET confirmed_at = coalesce(confirmed_at, %(now)s) WHERE id = %(id)s",
        {"id": user_id, "now": now},
    )


async def remove_user(conn: Connection, *, user_id: UserId) -> None:
    """Delete a user, and by cascade everything they own."""
    await conn.execute("DELETE FROM attempts WHERE strpos(bucket, %(id)s) > 0", {"id": str(user_id)})
    await conn.execute("DELETE FROM users WHERE id = %(id)s", {"id": user_id})


async def start_session(
    conn: Connection,
    *,
    session_id: UUID,
    user_id: UserId,
    access_hash: bytes,
    access_until: datetime,
    refresh_hash: bytes,
    refresh_until: datetime,
    now: datetime,
    address: str,
    user_agent: str,
) -> None:
    """Let a browser in."""
    await conn.execute(
        """
        INSERT INTO sessions (
            id, user_id, access_hash, access_until, refresh_hash, refresh_until, started_at, seen_at, address,
            user_agent
        )
        VALUES (
            %(id)s, %(user_id)s, %(access_hash)s, %(access_until)s, %(refresh_hash)s, %(refresh_until)s, %(now)s,
            %(now)s, %(address)s, %(user_agent)s
        )
        """,
        {
            "id": session_id,
            "user_id": user_id,
            "access_hash": access_hash,
            "access_until": access_until,
            "refresh_hash": refresh_hash,
            "refresh_until": refresh_until,
            "now": now,
            "address": address,
            "user_agent": user_agent,
        },
    )


async def find_session_by_access(conn: Connection, *, access_hash: bytes) -> SessionRow | None:
    """The session that this short-lived token opens, if any does."""
    cur = await conn.execute(
        """
        SELECT sessions.id, access_hash, access_until, refresh_hash, refresh_until, replaced_hash, replaced_at,
            renewal_used_at, users.id, email, role, confirmed_at, created_at
        FROM sessions
        JOIN users ON users.id = sessions.user_id
        WHERE access_hash = %(hash)s
        """,
        {"hash": access_hash},
    )
    row = await cur.fetchone()
    return _session(row) if row else None


async def find_session_by_refresh(conn: Connection, *, refresh_hash: bytes) -> SessionRow | None:
    """The session that this long-lived token renews, or renewed last; held until the transaction ends."""
    cur = await conn.execute(
        """
        SELECT sessions.id, access_hash, access_until, refresh_hash, refresh_until, replaced_hash, replaced_at,
            renewal_used_at, users.id, email, role, confirmed_at, created_at
        FROM sessions
        JOIN users ON users.id = sessions.user_id
        WHERE refresh_hash = %(hash)s OR replaced_hash = %(hash)s
        FOR UPDATE OF sessions
        """,
        {"hash": refresh_hash},
    )
    row = await cur.fetchone()
    return _session(row) if row else None


def _session(row: Sequence[Any]) -> SessionRow:
    (session_id, access, access_until, refresh, refresh_until, replaced, replaced_at, used_at, *person) = row
    user_id, email, role, confirmed_at, created_at = person
    return SessionRow(
        session_id,
        User(UserId(user_id), email, Role(role), confirmed_at, created_at),
        bytes(access),
        access_until,
        bytes(refresh),
        refresh_until,
        bytes(replaced) if replaced is not None else None,
        replaced_at,
        used_at,
    )


async def rotate_session(
    conn: Connection,
    *,
    session_id: UUID,
    access_hash: bytes,
    access_until: datetime,
    refresh_hash: bytes,
    refresh_until: datetime,
    now: datetime,
) -> None:
    """New tokens for the same session; the old refresh token is remembered, to know it when it comes back."""
    await conn.execute(
        """
        UPDATE sessions
        SET access_hash = %(access_hash)s, access_until = %(access_until)s, replaced_hash = refresh_hash,
            replaced_at = %(now)s, refresh_hash = %(refresh_hash)s, refresh_until = %(refresh_until)s,
            seen_at = %(now)s, renewal_used_at = NULL
        WHERE id = %(id)s
        """,
        {
            "id": session_id,
            "access_hash": access_hash,
            "access_until": access_until,
            "refresh_hash": refresh_hash,
            "refresh_until": refresh_until,
            "now": now,
        },
    )


async def reissue_session(
    conn: Connection,
    *,
    session_id: UUID,
    access_hash: bytes,
    access_until: datetime,
    refresh_hash: bytes,
    refresh_until: datetime,
    now: datetime,
) -> bool:
    """New tokens for the same session; none that it had before opens or renews it. False when it has ended."""
    cur = await conn.execute(
        """
        UPDATE sessions
        SET access_hash = %(access_hash)s, access_until = %(access_until)s, refresh_hash = %(refresh_hash)s,
            refresh_until = %(refresh_until)s, replaced_hash = NULL, replaced_at = NULL, renewal_used_at = NULL,
            seen_at = %(now)s
        WHERE id = %(id)s
        """,
        {
            "id": session_id,
            "access_hash": access_hash,
            "access_until": access_until,
            "refresh_hash": refresh_hash,
            "refresh_until": refresh_until,
            "now": now,
        },
    )
    return cur.rowcount == 1


async def note_renewal_used(conn: Connection, *, session_id: UUID, now: datetime) -> None:
    """The browser has the tokens of the last renewal: those before it are worth nothing any more."""
    await conn.execute(
        "UPDATE sessions SET renewal_used_at = %(now)s WHERE id = %(id)s AND renewal_used_at IS NULL",
        {"id": session_id, "now": now},
    )


async def has_session(conn: Connection, *, session_id: UUID) -> bool:
    """Whether a session has not been ended."""
    cur = await conn.execute("SELECT FROM sessions WHERE id = %(id)s", {"id": session_id})
    return cur.rowcount == 1


async def end_session(conn: Connection, *, session_id: UUID) -> int:
    """Log a browser out. Returns how many went: 0 when it is not there, or not this person's."""
    cur = await conn.execute("DELETE FROM sessions WHERE id = %(id)s", {"id": session_id})
    return cur.rowcount


async def end_sessions_of(conn: Connection, *, user_id: UserId, except_for: UUID | None) -> None:
    """Log a person out everywhere, save here."""
    await conn.execute(
        "DELETE FROM sessions WHERE user_id = %(user_id)s AND id IS DISTINCT FROM %(except_for)s::uuid",
        {"user_id": user_id, "except_for": except_for},
    )


async def list_sessions(conn: Connection, *, user_id: UserId) -> list[SessionLine]:
    """Where a person is logged in, the latest first."""
    return await fetch_all(
        conn,
        SessionLine,
        """
        SELECT id, started_at, seen_at, address, user_agent
        FROM sessions
        WHERE user_id = %(user_id)s
        ORDER BY seen_at DESC
        """,
        {"user_id": user_id},
    )


async def revoke_tokens_of(conn: Connection, *, user_id: UserId) -> None:
    """No program opens this account any more."""
    await conn.execute("DELETE FROM api_tokens WHERE user_id = %(user_id)s", {"user_id": user_id})


async def end_links_of(conn: Connection, *, user_id: UserId) -> None:
    """No link that was mailed until now is good any more."""
    await conn.execute("DELETE FROM mailed_tokens WHERE user_id = %(user_id)s", {"user_id": user_id})


async def unlink_identities_of(conn: Connection, *, user_id: UserId) -> None:
    """No outside identity opens this account any more, until one is linked again by a verified email."""
    await conn.execute("DELETE FROM outside_identities WHERE user_id = %(user_id)s", {"user_id": user_id})


async def drop_admin_scope_of(conn: Connection, *, user_id: UserId) -> None:
    """No token of this user administers any more, even if they get the role again."""
    await conn.execute(
        "DELETE FROM api_tokens WHERE user_id = %(user_id)s AND 'admin' = ANY (scopes)", {"user_id": user_id}
    )


async def mail_token(
    conn: Connection, *, token_hash: bytes, user_id: UserId, purpose: Purpose, email: str, good_until: datetime
) -> None:
    """Remember a token that is about to be mailed, in place of earlier ones for the same purpose."""
    await conn.execute(
        """
        WITH earlier AS (
            DELETE FROM mailed_tokens WHERE user_id = %(user_id)s AND purpose = %(purpose)s
        )
        INSERT INTO mailed_tokens (token_hash, user_id, purpose, email, good_until)
        VALUES (%(token_hash)s, %(user_id)s, %(purpose)s, %(email)s, %(good_until)s)
        """,
        {
            "token_hash": token_hash,
            "user_id": user_id,
            "purpose": purpose.value,
            "email": email,
            "good_until": good_until,
        },
    )


async def find_mailed_token(
    conn: Connection, *, token_hash: bytes, purpose: Purpose, now: datetime
) -> tuple[UserId, str] | None:
    """Whose a mailed token is, and the address it went to; None when it is not good."""
    cur = await conn.execute(
        """
        SELECT user_id, email
        FROM mailed_tokens
        WHERE token_hash = %(token_hash)s AND purpose = %(purpose)s AND good_until > %(now)s
        """,
        {"token_hash": token_hash, "purpose": purpose.value, "now": now},
    )
    row = await cur.fetchone()
    return (UserId(row[0]), row[1]) if row else None


async def use_mailed_token(
    conn: Connection, *, token_hash: bytes, purpose: Purpose, now: datetime
) -> tuple[UserId, str] | None:
    """The same, and the token is used up."""
    cur = await conn.execute(
        """
        DELETE FROM mailed_tokens
        WHERE token_hash = %(token_hash)s AND purpose = %(purpose)s AND good_until > %(now)s
        RETURNING user_id, email
        """,
        {"token_hash": token_hash, "purpose": purpose.value, "now": now},
    )
    row = await cur.fetchone()
    return (UserId(row[0]), row[1]) if row else None


async def add_api_token(
    conn: Connection,
    *,
    token_id: UUID,
    user_id: UserId,
    name: str,
    token_hash: bytes,
    scopes: Sequence[Scope],
    now: datetime,
) -> None:
    """Remember a token for programs. Raises TokenNameTaken."""
    with translate(api_tokens_one_per_name=TokenNameTaken(name)):
        await conn.execute(
            """
            INSERT INTO api_tokens (id, user_id, name, token_hash, scopes, created_at)
            VALUES (%(id)s, %(user_id)s, %(name)s, %(token_hash)s, %(scopes)s, %(now)s)
            """,
            {
                "id": token_id,
                "user_id": user_id,
                "name": name,
                "token_hash": token_hash,
                "scopes": [scope.value for scope in scopes],
                "now": now,
            },
        )


async def find_api_token(conn: Connection, *, token_hash: bytes, now: datetime) -> tuple[User, frozenset[Scope]] | None:
    """Whose token this is and what it may do; that it was used is noted once a minute at most."""
    cur = await conn.execute(
        """
        WITH noted AS (
            UPDATE api_tokens
            SET used_at = %(now)s
            WHERE token_hash = %(hash)s AND (used_at IS NULL OR used_at < %(now)s::timestamptz - interval '1 minute')
        )
        SELECT scopes, users.id, email, role, confirmed_at, users.created_at
        FROM api_tokens
        JOIN users ON users.id = api_tokens.user_id
        WHERE token_hash = %(hash)s
        """,
        {"hash": token_hash, "now": now},
    )
    row = await cur.fetchone()
    if row is None:
        return None
    scopes, user_id, email, role, confirmed_at, created_at = row
    user = User(UserId(user_id), email, Role(role), confirmed_at, created_at)
    return user, frozenset(Scope(scope) for scope in scopes)


async def list_api_tokens(conn: Connection, *, user_id: UserId) -> list[ApiToken]:
    """A person's tokens, the newest first."""
    cur = await conn.execute(
        """
        SELECT id, name, scopes, created_at, used_at
        FROM api_tokens
        WHERE user_id = %(user_id)s
        ORDER BY created_at DESC
        """,
        {"user_id": user_id},
    )
    return [
        ApiToken(token_id, name, [Scope(scope) for scope in scopes], created_at, used_at)
        for token_id, name, scopes, created_at, used_at in await cur.fetchall()
    ]


async def remove_api_token(conn: Connection, *, token_id: UUID) -> int:
    """Revoke a token. Returns how many went: 0 when it is not there, or not this person's."""
    cur = await conn.execute("DELETE FROM api_tokens WHERE id = %(id)s", {"id": token_id})
    return cur.rowcount


async def find_outside_identity(conn: Connection, *, issuer: str, subject: str) -> UserId | None:
    """Whose outside identity this is."""
    return await fetch_value(
        conn,
        "SELECT user_id FROM outside_identities WHERE issuer = %(issuer)s AND subject = %(subject)s",
        {"issuer": issuer, "subject": subject},
    )


async def add_outside_identity(conn: Connection, *, issuer: str, subject: str, user_id: UserId) -> None:
    """From now on this outside identity is this person."""
    await conn.execute(
        """
        INSERT INTO outside_identities (issuer, subject, user_id)
        VALUES (%(issuer)s, %(subject)s, %(user_id)s)
        ON CONFLICT (issuer, subject) DO NOTHING
        """,
        {"issuer": issuer, "subject": subject, "user_id": user_id},
    )


async def count_attempt(conn: Connection, *, bucket: str, now: datetime, ends_at: datetime) -> tuple[int, datetime]:
    """Count a try. Returns how many there were in this window, this one included, and when it ends.

    A window that ends later than one begun now was written by a clock that was ahead, and does not count.
    """
    cur = await conn.execute(
        """
        INSERT INTO attempts (bucket, count, ends_at)
        VALUES (%(bucket)s, 1, %(ends_at)s)
        ON CONFLICT (bucket) DO UPDATE
        SET count = CASE
                WHEN attempts.ends_at > %(now)s AND attempts.ends_at <= %(latest)s THEN attempts.count + 1
                ELSE 1
            END,
            ends_at = CASE
                WHEN attempts.ends_at > %(now)s AND attempts.ends_at <= %(latest)s THEN attempts.ends_at
                ELSE excluded.ends_at
            END
        RETURNING count, ends_at
        """,
        {"bucket": bucket, "now": now, "ends_at": ends_at, "latest": ends_at + CLOCKS_APART},
    )
    row = await cur.fetchone()
    assert row is not None, "an upsert returns its row"
    return row[0], row[1]


async def find_attempts(conn: Connection, *, bucket: str, now: datetime) -> tuple[int, datetime]:
    """How many tries there were in this window, and when it ends; none when it has ended."""
    cur = await conn.execute(
        "SELECT count, ends_at FROM attempts WHERE bucket = %(bucket)s AND ends_at > %(now)s",
        {"bucket": bucket, "now": now},
    )
    row = await cur.fetchone()
    return (row[0], row[1]) if row else (0, now)


async def clear_attempts(conn: Connection, *, bucket: str) -> None:
    """It worked: the tries before it count no more."""
    await conn.execute("DELETE FROM attempts WHERE bucket = %(bucket)s", {"bucket": bucket})


async def uncount_attempt(conn: Connection, *, bucket: str) -> None:
    """Take back one attempt: it succeeded."""
    await conn.execute(
        "UPDATE attempts SET count = greatest(count - 1, 0) WHERE bucket = %(bucket)s", {"bucket": bucket}
    )


async def clear_attempts_like(conn: Connection, *, prefix: str) -> None:
    """Forget the attempts of every bucket whose name begins like this."""
    await conn.execute("DELETE FROM attempts WHERE starts_with(bucket, %(prefix)s)", {"prefix": prefix})


async def has_logged_in_from(conn: Connection, *, user_id: UserId, network: str) -> bool:
    """Whether this user has logged in or registered from a network before."""
    cur = await conn.execute(
        """
        SELECT FROM events
        WHERE user_id = %(user_id)s AND event_type IN ('user_login', 'user_registered')
            AND metadata ->> 'network' = %(network)s
        LIMIT 1
        """,
        {"user_id": user_id, "network": network},
    )
    return cur.rowcount == 1


async def forget_ended(conn: Connection, *, before: datetime) -> None:
    """Delete sessions, mailed tokens and attempts that ended before a moment."""
    await conn.execute("DELETE FROM sessions WHERE refresh_until <= %(before)s", {"before": before})
    await conn.execute("DELETE FROM mailed_tokens WHERE good_until <= %(before)s", {"before": before})
    await conn.execute("DELETE FROM attempts WHERE ends_at <= %(before)s", {"before": before})


async def record_event(
    conn: Connection,
    *,
    event_id: UUID,
    user_id: UserId,
    event_type: EventType,
    metadata: Mapping[str, Any],
    now: datetime,
) -> None:
    """Remember what a person did."""
    await conn.execute(
        """
        INSERT INTO events (id, user_id, event_type, metadata, created_at)
        VALUES (%(id)s, %(user_id)s, %(event_type)s, %(metadata)s, %(now)s)
        """,
        {
            "id": event_id,
            "user_id": user_id,
            "event_type": event_type.value,
            "metadata": Jsonb(dict(metadata)),
            "now": now,
        },
    )


async def forget_events(conn: Connection, *, before: datetime, limit: int) -> int:
    """Delete the oldest events from before a moment. Returns how many went."""
    cur = await conn.execute(
        """
        DELETE FROM events
        WHERE id IN (SELECT id FROM events WHERE created_at < %(before)s ORDER BY created_at LIMIT %(limit)s)
        """,
        {"before": before, "limit": limit},
    )
    return cur.rowcount


async def shared_secret(conn: Connection, *, name: str, value: bytes) -> bytes:
    """What all processes sign with: the value of whoever came first."""
    await conn.execute(
        "INSERT INTO shared_secrets (name, value) VALUES (%(name)s, %(value)s) ON CONFLICT (name) DO NOTHING",
        {"name": name, "value": value},
    )
    cur = await conn.execute("SELECT value FROM shared_secrets WHERE name = %(name)s", {"name": name})
    row = await cur.fetchone()
    assert row is not None, "it was just put there"
    return bytes(row[0])


async def forget_events_of(conn: Connection, *, user_id: UserId, limit: int) -> int:
    """Delete events of a removed user. Returns how many went."""
    cur = await conn.execute(
        """
        DELETE FROM events
        WHERE id = ANY(ARRAY(SELECT id FROM events WHERE user_id = %(user_id)s LIMIT %(limit)s))
        """,
        {"user_id": user_id, "limit": limit},
    )
    return cur.rowcount


async def forget_secret(conn: Connection, *, name: str) -> None:
    """The next that needs it makes a new one."""
    await conn.execute("DELETE FROM shared_secrets WHERE name = %(name)s", {"name": name})

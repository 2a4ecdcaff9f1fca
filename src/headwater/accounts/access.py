"""Coming in and going out: what a person asks for, step by step. Registering, logging in, renewing, forgetting.

They take the database itself, not a connection: checking a password takes tens of milliseconds, and no transaction
stays open meanwhile.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime

from headwater.accounts import store
from headwater.accounts.decide import (
    LOGIN_PER_ACCOUNT,
    LOGIN_PER_ADDRESS,
    MAIL_PER_ACCOUNT,
    MAIL_PER_ADDRESS,
    REGISTER_PER_ADDRESS,
    Limit,
    Worth,
    access_worth,
    email_key,
    email_problem,
    password_problem,
    refresh_worth,
    role_of_new,
)
from headwater.accounts.secrets import digest, hash_password, is_outdated, is_password, new_token
from headwater.accounts.types import (
    AccountOptions,
    Credentials,
    EventType,
    Purpose,
    Role,
    SessionRow,
    Tokens,
    User,
    Visitor,
)
from headwater.db import Connection, Database
from headwater.errors import (
    Invalid,
    LastAdministrator,
    NotLoggedIn,
    RegistrationClosed,
    TooManyAttempts,
    WrongPassword,
)
from headwater.ids import new_id
from headwater.types import Clock, UserId

AGENT_MAX = 300


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """A person, their session, and what their browser is to keep."""

    user: User
    tokens: Tokens


@dataclass(frozen=True, slots=True)
class Mailed:
    """What is to be mailed to whom: the secret goes into a link."""

    email: str
    purpose: Purpose
    token: str


class Access:
    """The doors: all that a person without a session may ask for."""

    def __init__(self, database: Database, clock: Clock, options: AccountOptions) -> None:
        self._database = database
        self._clock = clock
        self._options = options
        self._secret: bytes | None = None

    async def secret(self) -> bytes:
        """What all processes sign forms with."""
        if self._secret is None:
            async with self._database.transaction() as conn:
                self._secret = await store.shared_secret(conn, name="forms", value=secrets.token_bytes(32))
        return self._secret

    async def register(self, email: str, password: str, visitor: Visitor) -> LoggedIn | Mailed:
        """Make an account, and let its person in once their address is confirmed, where that is demanded.

        Raises Invalid, EmailTaken, RegistrationClosed, TooManyAttempts.
        """
        email, now = email.strip(), self._clock()
        problem = email_problem(email) or password_problem(password, email)
        if problem:
            raise Invalid(problem)
        await self._count(f"register:{visitor.address}", REGISTER_PER_ADDRESS)
        password_hash = await hash_password(password)
        async with self._database.transaction() as conn:
            is_first = await store.claim_first(conn)
            if not is_first and not self._options.registration:
                raise RegistrationClosed
            user = await add_user(conn, email, password_hash, role_of_new(is_first=is_first), now)
            await record(conn, user.id, EventType.USER_REGISTERED, now)
            return await self._let_in(conn, user, visitor, now)

    async def log_in(self, email: str, password: str, visitor: Visitor) -> LoggedIn | Mailed:
        """Let a person in; or, where their address is not confirmed yet, what to mail them once more.

        Raises WrongPassword, TooManyAttempts.
        """
        key = email_key(email.strip())
        await self._count(f"login:{visitor.address}", LOGIN_PER_ADDRESS)
        await self._count(f"login:{key}", LOGIN_PER_ACCOUNT)
        async with self._database.transaction() as conn:
            found = await store.find_credentials(conn, email_key=key)
        if not await is_password(password, found.password_hash if found else None) or found is None:
            raise WrongPassword
        renewed = await hash_password(password) if is_outdated(found.password_hash or "") else None
        now = self._clock()
        async with self._database.transaction() as conn:
            await store.clear_attempts(conn, bucket=f"login:{key}")
            await store.forget_ended(conn, now=now)
            if renewed:
                await store.set_password(conn, user_id=found.user.id, password_hash=renewed)
            await record(conn, found.user.id, EventType.USER_LOGIN, now)
            return await self._let_in(conn, found.user, visitor, now)

    async def welcome(self, user: User, visitor: Visitor) -> LoggedIn | Mailed:
        """Let in somebody whom an outside issuer vouches for."""
        now = self._clock()
        async with self._database.transaction() as conn:
            await store.forget_ended(conn, now=now)
            await record(conn, user.id, EventType.USER_LOGIN, now)
            return await self._let_in(conn, user, visitor, now)

    async def recognise(self, access: str) -> SessionRow | None:
        """The session that a short-lived token opens, while it does."""
        async with self._database.transaction() as conn:
            session = await store.find_session_by_access(conn, access_hash=digest(access))
        if session is None or access_worth(session, self._clock()) is not Worth.GOOD:
            return None
        return session

    async def renew(self, refresh: str) -> tuple[SessionRow, Tokens | None] | None:
        """New tokens for a long-lived one. None for the tokens: another request of this browser has just got them.

        None for all: it is worth nothing. One that was used long before was stolen, and nobody can tell by whom: both
        the thief and the robbed have to log in again.
        """
        now, brought = self._clock(), digest(refresh)
        async with self._database.transaction() as conn:
            session = await store.find_session_by_refresh(conn, refresh_hash=brought)
            match refresh_worth(session, brought, now) if session else Worth.EXPIRED:
                case Worth.GOOD:
                    assert session is not None, "only a session is worth something"
                    return session, await self._rotate(conn, session, now)
                case Worth.REPLACED:
                    assert session is not None, "only a session has replaced something"
                    return session, None
                case Worth.STOLEN:
                    assert session is not None, "only from a session can be stolen"
                    await store.end_session(conn, session_id=session.id)
                    return None
                case Worth.EXPIRED:
                    return None

    async def ask_for_reset(self, email: str, visitor: Visitor) -> Mailed | None:
        """What to mail to somebody who forgot their password; None for nobody's address. Raises TooManyAttempts."""
        key, now = email_key(email.strip()), self._clock()
        await self._count(f"mail:{visitor.address}", MAIL_PER_ADDRESS)
        await self._count(f"mail:{key}", MAIL_PER_ACCOUNT)
        async with self._database.transaction() as conn:
            found = await store.find_credentials(conn, email_key=key)
            if found is None:
                return None
            return await self._mail(conn, found.user.id, found.user.email, Purpose.RESET, now)

    async def reset_password(self, token: str, password: str) -> None:
        """A new password by a mailed token; all sessions end. Raises Invalid, NotLoggedIn."""
        now = self._clock()
        async with self._database.transaction() as conn:
            known = await store.find_mailed_token(conn, token_hash=digest(token), purpose=Purpose.RESET, now=now)
        if known is None:
            raise NotLoggedIn("This link has been used or is too old. Ask for a new one.")
        problem = password_problem(password, known[1])
        if problem:
            raise Invalid(problem)
        password_hash = await hash_password(password)
        async with self._database.transaction() as conn:
            used = await store.use_mailed_token(conn, token_hash=digest(token), purpose=Purpose.RESET, now=now)
            if used is None:
                raise NotLoggedIn("This link has been used or is too old. Ask for a new one.")
            await store.set_password(conn, user_id=used[0], password_hash=password_hash)
            await store.confirm(conn, user_id=used[0], now=now)
            await store.end_sessions_of(conn, user_id=used[0], except_for=None)
            await store.clear_attempts(conn, bucket=f"login:{email_key(used[1])}")

    async def confirm(self, token: str) -> None:
        """An address is its owner's. Raises NotLoggedIn, EmailTaken."""
        now = self._clock()
        async with self._database.transaction() as conn:
            confirmed = await store.use_mailed_token(conn, token_hash=digest(token), purpose=Purpose.CONFIRM, now=now)
            if confirmed:
                return await store.confirm(conn, user_id=confirmed[0], now=now)
            changed = await store.use_mailed_token(conn, token_hash=digest(token), purpose=Purpose.EMAIL, now=now)
            if changed is None:
                raise NotLoggedIn("This link has been used or is too old. Ask for a new one.")
            return await store.set_email(
                conn, user_id=changed[0], email=changed[1], email_key=email_key(changed[1]), now=now
            )

    async def change_password(self, user: User, old: str, new: str, *, keep: SessionRow | None) -> None:
        """A new password by the old one; every other session ends. Raises Invalid, WrongPassword, TooManyAttempts."""
        await self._count(f"login:{email_key(user.email)}", LOGIN_PER_ACCOUNT)
        found = await self._check(user, old)
        problem = password_problem(new, user.email)
        if problem:
            raise Invalid(problem)
        password_hash = await hash_password(new)
        async with self._database.transaction() as conn:
            await store.set_password(conn, user_id=found.user.id, password_hash=password_hash)
            await store.end_sessions_of(conn, user_id=user.id, except_for=keep.id if keep else None)
            await store.clear_attempts(conn, bucket=f"login:{email_key(user.email)}")

    async def ask_for_email(self, user: User, email: str, password: str) -> Mailed:
        """What to mail to a new address, to see that it is theirs. Raises Invalid, WrongPassword, TooManyAttempts."""
        email = email.strip()
        problem = email_problem(email)
        if problem:
            raise Invalid(problem)
        await self._count(f"mail:{email_key(user.email)}", MAIL_PER_ACCOUNT)
        await self._check(user, password)
        async with self._database.transaction() as conn:
            return await self._mail(conn, user.id, email, Purpose.EMAIL, self._clock())

    async def delete_account(self, user: User, password: str) -> None:
        """Delete a user and everything they own. Raises WrongPassword, TooManyAttempts, LastAdministrator."""
        await self._count(f"login:{email_key(user.email)}", LOGIN_PER_ACCOUNT)
        await self._check(user, password)
        async with self._database.transaction() as conn:
            await require_other_administrator(conn, user_id=user.id)
            await store.remove_user(conn, user_id=user.id)
            for bucket in ("login", "mail"):
                await store.clear_attempts(conn, bucket=f"{bucket}:{email_key(user.email)}")

    async def _check(self, user: User, password: str) -> Credentials:
        async with self._database.transaction() as conn:
            found = await store.find_credentials_by_id(conn, user_id=user.id)
        if found is None or not await is_password(password, found.password_hash):
            raise WrongPassword
        return found

    async def _count(self, bucket: str, limit: Limit) -> None:
        """In a transaction of its own, so that a try counts however it ends. Raises TooManyAttempts."""
        now = self._clock()
        async with self._database.transaction() as conn:
            tried, ends_at = await store.count_attempt(conn, bucket=bucket, now=now, ends_at=now + limit.within)
        if tried > limit.most:
            raise TooManyAttempts(ends_at - now)

    async def _let_in(self, conn: Connection, user: User, visitor: Visitor, now: datetime) -> LoggedIn | Mailed:
        if user.confirmed_at is None and self._options.confirm_email:
            return await self._mail(conn, user.id, user.email, Purpose.CONFIRM, now)
        return LoggedIn(user, await self._start(conn, user, visitor, now))

    async def _start(self, conn: Connection, user: User, visitor: Visitor, now: datetime) -> Tokens:
        tokens = self._tokens(now)
        await store.start_session(
            conn,
            session_id=new_id(),
            user_id=user.id,
            access_hash=digest(tokens.access),
            access_until=tokens.access_until,
            refresh_hash=digest(tokens.refresh),
            refresh_until=tokens.refresh_until,
            now=now,
            address=visitor.address,
            user_agent=visitor.user_agent[:AGENT_MAX],
        )
        return tokens

    async def _rotate(self, conn: Connection, session: SessionRow, now: datetime) -> Tokens:
        tokens = self._tokens(now)
        await store.rotate_session(
            conn,
            session_id=session.id,
            access_hash=digest(tokens.access),
            access_until=tokens.access_until,
            refresh_hash=digest(tokens.refresh),
            refresh_until=tokens.refresh_until,
            now=now,
        )
        return tokens

    def _tokens(self, now: datetime) -> Tokens:
        return Tokens(
            new_token(), now + self._options.access_lifetime, new_token(), now + self._options.refresh_lifetime
        )

    async def _mail(self, conn: Connection, user_id: UserId, email: str, purpose: Purpose, now: datetime) -> Mailed:
        token = new_token()
        await store.mail_token(
            conn,
            token_hash=digest(token),
            user_id=user_id,
            purpose=purpose,
            email=email,
            good_until=now + self._options.mailed_lifetime,
        )
        return Mailed(email, purpose, token)


async def add_user(
    conn: Connection,
    email: str,
    password_hash: str | None,
    role: Role,
    now: datetime,
    *,
    confirmed_at: datetime | None = None,
) -> User:
    """A new account; confirmed only where somebody has shown, or vouches, that the address is theirs.

    Raises EmailTaken.
    """
    user = User(UserId(new_id()), email, role, confirmed_at, now)
    await store.add_user(
        conn,
        user_id=user.id,
        email=email,
        email_key=email_key(email),
        password_hash=password_hash,
        role=role,
        now=now,
        confirmed_at=confirmed_at,
    )
    return user


async def require_other_administrator(conn: Connection, *, user_id: UserId) -> None:
    """Call before a user is removed or demoted, in the same transaction. Raises LastAdministrator.

    The rows of all super_admins stay locked until the transaction ends, so two of them cannot remove each other.
    """
    if await store.hold_administrators(conn) == [user_id]:
        found = await store.find_credentials_by_id(conn, user_id=user_id)
        raise LastAdministrator(found.user.email if found else "This account")


async def record(conn: Connection, user_id: UserId, event_type: EventType, now: datetime, **metadata: object) -> None:
    """Remember what a person did."""
    await store.record_event(
        conn, event_id=new_id(), user_id=user_id, event_type=event_type, metadata=metadata, now=now
    )

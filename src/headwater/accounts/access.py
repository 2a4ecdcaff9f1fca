"""Registering, logging in, renewing a session, resetting a password: what a user asks for, step by step.

The steps take the database itself, not a connection: checking a password takes tens of milliseconds, and no transaction
stays open meanwhile. So the transaction that follows a check locks the account and looks whether the password is still
the one that was checked: a reset that came in between wins.
"""

import base64
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from headwater.accounts import store
from headwater.accounts.decide import (
    LOGIN_PER_ACCOUNT,
    LOGIN_PER_ACCOUNT_AND_NETWORK,
    LOGIN_PER_NETWORK,
    MAIL_PER_ACCOUNT,
    MAIL_PER_ACCOUNT_AND_NETWORK,
    MAIL_PER_NETWORK,
    PASSWORD_PER_SESSION,
    REGISTER_PER_NETWORK,
    Limit,
    Worth,
    access_worth,
    account_bucket,
    bare_code,
    email_key,
    email_problem,
    network_of,
    password_problem,
    refresh_worth,
    role_of_new,
    setup_code,
)
from headwater.accounts.mail import store as mail
from headwater.accounts.mail.types import NOTICES, MailKind
from headwater.accounts.secrets import digest, hash_password, is_outdated, is_password, new_token
from headwater.accounts.types import (
    AccountOptions,
    Credentials,
    EventType,
    Identity,
    Purpose,
    Role,
    SessionRow,
    Tokens,
    User,
    Visitor,
)
from headwater.db import Connection, Database
from headwater.errors import (
    EmailTaken,
    Invalid,
    LastAdministrator,
    NotLoggedIn,
    RegistrationClosed,
    SetupCodeNeeded,
    TooManyAttempts,
    Unavailable,
    WrongPassword,
)
from headwater.ids import new_id
from headwater.timekeeping import store as clocks
from headwater.types import Clock, UserId

AGENT_MAX = 300
MAIL_WAITING_MAX = 10_000  # of one kind; there are never more notices than accounts
FORMS, SETUP = "forms", "setup"  # names of shared secrets
USED_LINK = "This link has been used or is too old. Ask for a new one."


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """A user, and the tokens of their new session."""

    user: User
    tokens: Tokens


@dataclass(frozen=True, slots=True)
class AwaitsConfirmation:
    """Nobody is logged in before the link that is mailed to this email was followed."""

    email: str


class Access:
    """Everything that a visitor without a session may ask for. `site` is where links in mails lead."""

    def __init__(
        self, database: Database, clock: Clock, options: AccountOptions, *, site: str = "http://127.0.0.1:8000"
    ) -> None:
        self._database = database
        self._clock = clock
        self._options = options
        self._site = site.rstrip("/")
        self._secret: bytes | None = None

    async def secret(self) -> bytes:
        """The key that all processes sign with."""
        if self._secret is None:
            async with self._database.as_system() as conn:
                self._secret = await store.shared_secret(conn, name=FORMS, value=secrets.token_bytes(32))
        return self._secret

    def asks_for_code(self, visitor: Visitor) -> bool:
        """Whether this visitor needs the set-up code to make the first account."""
        return self._options.setup_code or visitor.is_remote

    async def register(
        self, email: str, password: str, visitor: Visitor, *, code: str = ""
    ) -> LoggedIn | AwaitsConfirmation:
        """Make an account, and log its user in unless their email must be confirmed first.

        Raises Invalid, EmailTaken, RegistrationClosed, SetupCodeNeeded, TooManyAttempts.
        """
        email = email.strip()
        problem = email_problem(email) or password_problem(password, email)
        if problem:
            raise Invalid(problem)
        await self._count(f"register:{network_of(visitor.address)}", REGISTER_PER_NETWORK)
        password_hash = await hash_password(password)
        try:
            return await self._register(email, password_hash, visitor, code)
        except EmailTaken:
            if not self._options.hide_accounts:
                raise
        async with self._database.as_system() as conn:
            await self._mail(conn, MailKind.REMINDER, email)
        return AwaitsConfirmation(email)

    async def _register(
        self, email: str, password_hash: str, visitor: Visitor, code: str
    ) -> LoggedIn | AwaitsConfirmation:
        now = self._clock()
        metadata = await self._network(visitor)
        async with self._database.as_system() as conn:
            is_first = await store.claim_first(conn)
            if is_first:
                await self._check_code(conn, visitor, code)
            elif not self._options.registration:
                raise RegistrationClosed
            user = await add_user(conn, email, password_hash, role_of_new(is_first=is_first), now)
            await record(conn, user.id, EventType.USER_REGISTERED, now, network=metadata)
            return await self._let_in(conn, user, visitor, now)

    async def _check_code(self, conn: Connection, visitor: Visitor, code: str) -> None:
        """The first account takes the set-up code with it: if all accounts are ever gone, another is needed."""
        if self.asks_for_code(visitor):
            expected = await current_setup_code(conn)
            if not hmac.compare_digest(bare_code(code).encode(errors="replace"), bare_code(expected).encode()):
                raise SetupCodeNeeded
        await store.forget_secret(conn, name=SETUP)

    async def log_in(self, email: str, password: str, visitor: Visitor) -> LoggedIn | AwaitsConfirmation:
        """Log a user in; one whose email must be confirmed first is mailed another link. Raises WrongPassword,
        TooManyAttempts."""
        key, network = email_key(email.strip()), network_of(visitor.address)
        account = f"login:{account_bucket(key)}"
        here, all_here = f"{account}:{network}", f"login:{network}"
        await self._refuse(all_here, LOGIN_PER_NETWORK)  # before an attempt on one more account is written down
        await self._count(here, LOGIN_PER_ACCOUNT_AND_NETWORK)
        await self._count(all_here, LOGIN_PER_NETWORK)
        async with self._database.as_system() as conn:
            found = await store.find_credentials(conn, email_key=key)
        await self._count_account(account, found, visitor)
        if not await is_password(password, found.password_hash if found else None) or found is None:
            raise WrongPassword
        renewed = await hash_password(password) if is_outdated(found.password_hash or "") else None
        now, metadata = self._clock(), await self._network(visitor)
        async with self._database.as_system() as conn:
            user = (await hold_unchanged(conn, found)).user
            await store.clear_attempts(conn, bucket=here)
            for bucket in (account, all_here):
                await store.uncount_attempt(conn, bucket=bucket)
            await store.forget_ended(conn, before=await clocks.deletes_until(conn, now=now))
            if renewed:
                await store.set_password(conn, user_id=user.id, password_hash=renewed)
            await record(conn, user.id, EventType.USER_LOGIN, now, network=metadata)
            return await self._let_in(conn, user, visitor, now)

    async def _count_account(self, bucket: str, found: Credentials | None, visitor: Visitor) -> None:
        """Guessing from many networks stops here, except from those where the user has logged in before.

        Raises TooManyAttempts, alike for emails without an account.
        """
        try:
            await self._count(bucket, LOGIN_PER_ACCOUNT)
        except TooManyAttempts as refusal:
            network = await self._network(visitor)
            async with self._database.as_system() as conn:
                if found and await store.has_logged_in_from(conn, user_id=found.user.id, network=network):
                    return
            advice = "Somebody may be guessing this password: set a new one by email, which lets you in at once. "
            raise TooManyAttempts(refusal.retry_after, advice=advice) from refusal

    async def _network(self, visitor: Visitor) -> str:
        """A visitor's network as it is kept with log-ins: not readable without the key."""
        network = network_of(visitor.address).encode(errors="replace")
        return hmac.digest(await self.secret(), b"network:" + network, "sha256").hex()[:32]

    async def welcome(self, user: User, visitor: Visitor, identity: Identity) -> LoggedIn | AwaitsConfirmation:
        """Log in a user whom an outside issuer has identified. Raises NotLoggedIn."""
        now, metadata = self._clock(), await self._network(visitor)
        async with self._database.as_system() as conn:
            held = await store.hold_credentials(conn, user_id=user.id)
            # A reset that came in between has unlinked it.
            linked = await store.find_outside_identity(conn, issuer=identity.issuer, subject=identity.subject)
            if held is None or linked != user.id:
                raise NotLoggedIn("This log-in does not open an account any more. Try again.")
            await store.forget_ended(conn, before=await clocks.deletes_until(conn, now=now))
            await record(conn, user.id, EventType.USER_LOGIN, now, network=metadata)
            return await self._let_in(conn, held.user, visitor, now)

    async def recognise(self, access: str) -> SessionRow | None:
        """The session that a short-lived token opens, while it does."""
        now = self._clock()
        async with self._database.as_system() as conn:
            session = await store.find_session_by_access(conn, access_hash=digest(access))
            if session is None or access_worth(session, now) is not Worth.GOOD:
                return None
            if session.replaced_at is not None and session.renewal_used_at is None:
                await store.note_renewal_used(conn, session_id=session.id, now=now)
        return session

    async def renew(self, refresh: str) -> tuple[SessionRow, Tokens | None] | None:
        """New tokens for a refresh token; None when it is worth nothing.

        They are derived from the old token, so whoever brings that again, because several requests went out at once or
        because the answer was lost, gets the same ones. One that comes back when its successor is in use, or was
        replaced itself, was stolen, and nobody can tell by whom: the session ends.
        """
        now, brought = self._clock(), digest(refresh)
        key = await self.secret()
        async with self._database.as_system() as conn:
            session = await store.find_session_by_refresh(conn, refresh_hash=brought)
            if session is None:
                if (session_id := _marked_session(key, refresh)) is not None:
                    await store.end_session(conn, session_id=session_id)
                return None
            match refresh_worth(session, brought, now):
                case Worth.GOOD:
                    until = now + self._options.access_lifetime, now + self._options.refresh_lifetime
                    tokens = _successor(key, refresh, session.id, *until)
                    await self._rotate(conn, session, tokens, now)
                    return session, tokens
                case Worth.REPLACED:
                    tokens = _successor(key, refresh, session.id, session.access_until, session.refresh_until)
                    return session, tokens if digest(tokens.refresh) == session.refresh_hash else None
                case Worth.STOLEN:
                    await store.end_session(conn, session_id=session.id)
                    return None
                case Worth.EXPIRED:
                    return None

    async def ask_for_reset(self, email: str, visitor: Visitor) -> None:
        """Have a link mailed to somebody who forgot their password, if there is such an account.

        Whether there is one is looked up in the background: this takes as long either way. Raises TooManyAttempts.
        """
        email, network = email.strip(), network_of(visitor.address)
        await self._count(f"mail:{network}", MAIL_PER_NETWORK)
        await self._count(f"mail:{account_bucket(email_key(email))}:{network}", MAIL_PER_ACCOUNT_AND_NETWORK)
        if email_problem(email):
            return
        async with self._database.as_system() as conn:
            await self._mail(conn, MailKind.RESET, email)

    async def reset_password(self, token: str, password: str) -> None:
        """Set a password by a mailed token; all other ways into the account end. Raises Invalid, NotLoggedIn."""
        now, token_hash = self._clock(), digest(token)
        async with self._database.as_system() as conn:
            known = await store.find_mailed_token(conn, token_hash=token_hash, purpose=Purpose.RESET, now=now)
        if known is None:
            raise NotLoggedIn(USED_LINK)
        problem = password_problem(password, known[1])
        if problem:
            raise Invalid(problem)
        password_hash = await hash_password(password)
        async with self._database.as_system() as conn:
            held = await store.hold_credentials(conn, user_id=known[0])
            used = await store.use_mailed_token(conn, token_hash=token_hash, purpose=Purpose.RESET, now=now)
            if held is None or used is None:
                raise NotLoggedIn(USED_LINK)
            await store.confirm(conn, user_id=held.user.id, now=now)
            await replace_password(conn, held.user, password_hash, keep=None, site=self._site, now=now)

    async def confirm(self, token: str) -> None:
        """Confirm the email of a new account, or a changed one, by a mailed token. Raises NotLoggedIn, EmailTaken."""
        now, token_hash = self._clock(), digest(token)
        async with self._database.as_system() as conn:
            for purpose in (Purpose.CONFIRM, Purpose.EMAIL):
                known = await store.find_mailed_token(conn, token_hash=token_hash, purpose=purpose, now=now)
                held = await store.hold_credentials(conn, user_id=known[0]) if known else None
                used = await store.use_mailed_token(conn, token_hash=token_hash, purpose=purpose, now=now)
                if held is None or used is None:
                    continue
                if purpose is Purpose.CONFIRM:
                    return await store.confirm(conn, user_id=held.user.id, now=now)
                return await change_email(conn, held.user, used[1], site=self._site, now=now)
        raise NotLoggedIn(USED_LINK)

    async def change_password(self, user: User, old: str, new: str, *, keep: SessionRow | None) -> Tokens | None:
        """A new password by the old one; everything that opened the account before ends.

        Returns new tokens for the session `keep`: whoever has a copy of its old ones is out too. None when that session
        has ended meanwhile. Raises Invalid, WrongPassword, TooManyAttempts.
        """
        found = await self._check(user, old, keep)
        problem = password_problem(new, user.email)
        if problem:
            raise Invalid(problem)
        password_hash, now = await hash_password(new), self._clock()
        async with self._database.as_system() as conn:
            held = await hold_unchanged(conn, found)
            kept = keep.id if keep else None
            await replace_password(conn, held.user, password_hash, keep=kept, site=self._site, now=now)
            return await self._reissue(conn, kept, now) if kept else None

    async def ask_for_email(self, user: User, email: str, password: str, *, session: SessionRow | None = None) -> None:
        """Have a link mailed to a new email, and a notice to the present one.

        Raises Invalid, WrongPassword, TooManyAttempts.
        """
        email = email.strip()
        problem = email_problem(email)
        if problem:
            raise Invalid(problem)
        found = await self._check(user, password, session)
        # Only now: who took over a session without the password must not use up the limit.
        await self._count(f"mail:{user.id}", MAIL_PER_ACCOUNT_AND_NETWORK)
        async with self._database.as_system() as conn:
            held = (await hold_unchanged(conn, found)).user
            await self._mail(conn, MailKind.NEW_EMAIL, email, user=held)
            await self._mail(conn, MailKind.EMAIL_ASKED, held.email, user=held, detail=email)

    async def delete_account(self, user: User, password: str, *, session: SessionRow | None = None) -> None:
        """Delete a user and everything they own. Raises WrongPassword, TooManyAttempts, LastAdministrator."""
        found = await self._check(user, password, session)
        async with self._database.as_system() as conn:
            await require_other_administrator(conn, user_id=user.id)  # first: it locks accounts in one order
            held = (await hold_unchanged(conn, found)).user
            await mail.drop_all(conn, email_key=email_key(held.email))
            await store.remove_user(conn, user_id=held.id)

    async def _check(self, user: User, password: str, session: SessionRow | None) -> Credentials:
        """Raises WrongPassword, TooManyAttempts: who took over one session cannot use up the tries of another."""
        bucket = f"password:{session.id if session else user.id}"
        await self._count(bucket, PASSWORD_PER_SESSION)
        async with self._database.as_system() as conn:
            found = await store.find_credentials_by_id(conn, user_id=user.id)
        if found is None or not await is_password(password, found.password_hash):
            raise WrongPassword
        async with self._database.as_system() as conn:
            await store.clear_attempts(conn, bucket=bucket)
        return found

    async def _count(self, bucket: str, limit: Limit) -> None:
        """In a transaction of its own, so that an attempt counts however it ends. Raises TooManyAttempts."""
        now = self._clock()
        async with self._database.as_system() as conn:
            tried, ends_at = await store.count_attempt(conn, bucket=bucket, now=now, ends_at=now + limit.within)
        if tried > limit.most:
            raise TooManyAttempts(ends_at - now)

    async def _refuse(self, bucket: str, limit: Limit) -> None:
        """Count nothing. Raises TooManyAttempts when the limit is reached."""
        now = self._clock()
        async with self._database.as_system() as conn:
            tried, ends_at = await store.find_attempts(conn, bucket=bucket, now=now)
        if tried >= limit.most:
            raise TooManyAttempts(ends_at - now)

    async def _let_in(
        self, conn: Connection, user: User, visitor: Visitor, now: datetime
    ) -> LoggedIn | AwaitsConfirmation:
        if user.confirmed_at is None and self._options.must_confirm:
            await self._mail(conn, MailKind.CONFIRM, user.email, user=user)
            return AwaitsConfirmation(user.email)
        return LoggedIn(user, await self._start(conn, user, visitor, now))

    async def _start(self, conn: Connection, user: User, visitor: Visitor, now: datetime) -> Tokens:
        session_id = new_id()
        tokens = await self._new_tokens(session_id, now)
        await store.start_session(
            conn,
            session_id=session_id,
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

    async def _new_tokens(self, session_id: UUID, now: datetime) -> Tokens:
        return Tokens(
            new_token(),
            now + self._options.access_lifetime,
            f"{_session_mark(await self.secret(), session_id)}.{new_token()}",
            now + self._options.refresh_lifetime,
        )

    async def _reissue(self, conn: Connection, session_id: UUID, now: datetime) -> Tokens | None:
        """New tokens for a session, not derived from its old ones, which open nothing any more."""
        tokens = await self._new_tokens(session_id, now)
        is_there = await store.reissue_session(
            conn,
            session_id=session_id,
            access_hash=digest(tokens.access),
            access_until=tokens.access_until,
            refresh_hash=digest(tokens.refresh),
            refresh_until=tokens.refresh_until,
            now=now,
        )
        return tokens if is_there else None

    async def _rotate(self, conn: Connection, session: SessionRow, tokens: Tokens, now: datetime) -> None:
        await store.rotate_session(
            conn,
            session_id=session.id,
            access_hash=digest(tokens.access),
            access_until=tokens.access_until,
            refresh_hash=digest(tokens.refresh),
            refresh_until=tokens.refresh_until,
            now=now,
        )

    async def _mail(
        self, conn: Connection, kind: MailKind, email: str, *, user: User | None = None, detail: str = ""
    ) -> None:
        """Queue a mail, unless this email was sent many of its kind lately. Raises Unavailable."""
        now = self._clock()
        bucket = f"mail:{kind}:{account_bucket(email_key(email))}"
        ends_at = now + MAIL_PER_ACCOUNT.within
        sent, _ = await store.count_attempt(conn, bucket=bucket, now=now, ends_at=ends_at)
        if sent <= MAIL_PER_ACCOUNT.most:
            await queue_mail(conn, kind, email, user=user, site=self._site, detail=detail, now=now)


def _successor(key: bytes, refresh: str, session_id: UUID, access_until: datetime, refresh_until: datetime) -> Tokens:
    """The tokens that follow a refresh token; nobody can derive them without our key."""

    def derive(label: bytes) -> str:
        derived = hmac.digest(key, label + refresh.encode(errors="replace"), "sha256")
        return base64.urlsafe_b64encode(derived).rstrip(b"=").decode()

    following = f"{_session_mark(key, session_id)}.{derive(b'refresh:')}"
    return Tokens(derive(b"access:"), access_until, following, refresh_until)


def _session_mark(key: bytes, session_id: UUID) -> str:
    """How refresh tokens begin: tells whose an old one was when its digest is kept no more. Only we can make it."""
    signature = hmac.digest(key, b"session:" + session_id.bytes, "sha256")[:16]
    return base64.urlsafe_b64encode(session_id.bytes + signature).rstrip(b"=").decode()


def _marked_session(key: bytes, refresh: str) -> UUID | None:
    """The session that a refresh token of ours was made for, however long ago; None for anything else."""
    mark = refresh.partition(".")[0]
    try:
        session_id = UUID(bytes=base64.urlsafe_b64decode(mark + "=")[:16])
    except ValueError:
        return None
    is_ours = hmac.compare_digest(mark.encode(errors="replace"), _session_mark(key, session_id).encode())
    return session_id if is_ours else None


async def current_setup_code(conn: Connection) -> str:
    """The set-up code of this instance, the same for all processes; made by the first that asks."""
    return setup_code(await store.shared_secret(conn, name=SETUP, value=secrets.token_bytes(32)))


async def queue_mail(
    conn: Connection, kind: MailKind, email: str, *, user: User | None, site: str, now: datetime, detail: str = ""
) -> None:
    """Queue a mail about an account, in the transaction of what it tells. Raises Unavailable."""
    queued = await mail.queue(
        conn,
        mail_id=new_id(),
        kind=kind,
        email=email,
        email_key=email_key(email),
        user_id=user.id if user else None,
        site=site,
        detail=detail,
        now=now,
        most=None if kind in NOTICES else MAIL_WAITING_MAX,
    )
    if not queued:
        raise Unavailable("Too many mails wait to be sent.")


async def hold_unchanged(conn: Connection, checked: Credentials) -> Credentials:
    """Lock an account whose password was checked before this transaction. Raises WrongPassword if it was changed."""
    held = await store.hold_credentials(conn, user_id=checked.user.id)
    if held is None or held.password_hash != checked.password_hash:
        raise WrongPassword
    return held


async def hold_logged_in(conn: Connection, session: SessionRow) -> User:
    """Lock the account of a session that must not have ended meanwhile. Raises NotLoggedIn."""
    held = await store.hold_credentials(conn, user_id=session.user.id)
    if held is None or not await store.has_session(conn, session_id=session.id):
        raise NotLoggedIn("Your session has ended.")
    return held.user


async def replace_password(
    conn: Connection, user: User, password_hash: str, *, keep: UUID | None, site: str, now: datetime
) -> None:
    """Set a new password, end everything that opened the account before, and tell its user. The account is locked."""
    await store.set_password(conn, user_id=user.id, password_hash=password_hash)
    await store.end_sessions_of(conn, user_id=user.id, except_for=keep)
    await store.revoke_tokens_of(conn, user_id=user.id)
    await store.unlink_identities_of(conn, user_id=user.id)
    await end_links(conn, user)
    await store.clear_attempts_like(conn, prefix=f"login:{account_bucket(email_key(user.email))}")
    await store.clear_attempts(conn, bucket=f"mail:{MailKind.RESET}:{account_bucket(email_key(user.email))}")
    await queue_mail(conn, MailKind.PASSWORD_CHANGED, user.email, user=user, site=site, now=now)


async def change_email(conn: Connection, user: User, email: str, *, site: str, now: datetime) -> None:
    """Set a new email, which is known to be the user's, end mailed links and tell the old email. The account is locked.

    Raises EmailTaken.
    """
    await store.set_email(conn, user_id=user.id, email=email, email_key=email_key(email), now=now)
    await end_links(conn, user)
    await queue_mail(conn, MailKind.EMAIL_CHANGED, user.email, user=user, site=site, detail=email, now=now)


async def end_links(conn: Connection, user: User) -> None:
    """End the links that were mailed to a user, and those that wait to be."""
    await store.end_links_of(conn, user_id=user.id)
    await mail.drop_links(conn, user_id=user.id, email_key=email_key(user.email))


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

"""Registration, log-in, session renewal, password reset.

Methods take the database, not a connection: checking a password takes tens of milliseconds, and no transaction stays
open meanwhile. The transaction after a check locks the account and verifies that the password is still the one that was
checked: a reset in between wins.
"""

import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime

from headwater.accounts import changes, decide
from headwater.accounts.decide import Limit, Worth, account_bucket, email_key, network_of
from headwater.accounts.mail import store as mail
from headwater.accounts.mail.types import MailKind
from headwater.accounts.secrets import digest, hash_password, is_password, marked_session, new_tokens, rehash, successor
from headwater.accounts.store import attempts, sessions, tokens, users
from headwater.accounts.store.events import has_logged_in_from, record
from headwater.accounts.types import AccountOptions, Credentials, EventType, Identity, SessionRow, Tokens, User, Visitor
from headwater.db import Connection, Database
from headwater.errors import EmailTaken, NotLoggedIn, RegistrationClosed, TooManyAttempts, WrongPassword
from headwater.ids import new_id
from headwater.timekeeping import store as clocks
from headwater.types import Clock

FORMS = "forms"  # the shared secret that sessions and forms are signed with
USED_LINK = "This link has been used or has expired. Request a new one."


@dataclass(frozen=True, slots=True)
class LoggedIn:
    user: User
    tokens: Tokens


@dataclass(frozen=True, slots=True)
class AwaitsConfirmation:
    """The user is logged in only after they follow the link mailed to this email."""

    email: str


LogInResult = LoggedIn | AwaitsConfirmation


class Access:
    """What visitors and users do with accounts. `site` is the base of links in emails."""

    def __init__(
        self, database: Database, clock: Clock, options: AccountOptions, *, site: str = "http://127.0.0.1:8000"
    ) -> None:
        self._database, self._clock, self._options = database, clock, options
        self._site = site.rstrip("/")
        self._secret: bytes | None = None

    async def secret(self) -> bytes:
        if self._secret is None:
            async with self._database.as_system() as conn:
                self._secret = await tokens.shared_secret(conn, name=FORMS, value=secrets.token_bytes(32))
        return self._secret

    def needs_setup_code(self, visitor: Visitor) -> bool:
        """Whether this visitor needs the setup code to make the first account."""
        return self._options.setup_code or visitor.is_remote

    async def register(self, email: str, password: str, visitor: Visitor, *, code: str = "") -> LogInResult:
        """Create an account, and log its user in unless their email must be confirmed first. Raises Invalid,
        EmailTaken, RegistrationClosed, SetupCodeNeeded, TooManyAttempts."""
        email = email.strip()
        changes.require(decide.email_problem(email) or decide.password_problem(password, email))
        await self._count(f"register:{network_of(visitor.address)}", decide.REGISTER_PER_NETWORK)
        password_hash, now, network = await hash_password(password), self._clock(), await self._network(visitor)
        try:
            async with self._database.as_system() as conn:
                is_first = await users.claim_first(conn)
                if is_first:
                    await changes.use_setup_code(conn, code if self.needs_setup_code(visitor) else None)
                elif not self._options.registration:
                    raise RegistrationClosed
                user = await changes.add_user(conn, email, password_hash, decide.role_of_new(is_first=is_first), now)
                await record(conn, user.id, EventType.USER_REGISTERED, now, network=network)
                return await self._let_in(conn, user, visitor, now)
        except EmailTaken:
            if not self._options.hide_accounts:
                raise
        async with self._database.as_system() as conn:
            await self._mail(conn, MailKind.REMINDER, email)
        return AwaitsConfirmation(email)

    async def log_in(self, email: str, password: str, visitor: Visitor) -> LogInResult:
        """Log in, or mail another link if the email must be confirmed first. Raises WrongPassword, TooManyAttempts."""
        key, network = email_key(email.strip()), network_of(visitor.address)
        account = f"login:{account_bucket(key)}"
        here, all_here = f"{account}:{network}", f"login:{network}"
        # First, without counting an attempt on another account.
        await self._count(all_here, decide.LOGIN_PER_NETWORK, adds=False)
        await self._count(here, decide.LOGIN_PER_ACCOUNT_AND_NETWORK)
        await self._count(all_here, decide.LOGIN_PER_NETWORK)
        async with self._database.as_system() as conn:
            found = await users.find_credentials(conn, email_key=key)
        await self._count_account(account, found, visitor)
        if not await is_password(password, found.password_hash if found else None) or found is None:
            raise WrongPassword
        renewed = await rehash(password, found.password_hash or "")
        now, metadata = self._clock(), await self._network(visitor)
        async with self._database.as_system() as conn:
            user = await changes.lock_unchanged(conn, found)
            await attempts.clear(conn, bucket=here)
            for bucket in (account, all_here):
                await attempts.uncount(conn, bucket=bucket)
            await sessions.remove_expired(conn, before=await clocks.deletes_until(conn, now=now))
            if renewed:
                await users.set_password(conn, user_id=user.id, password_hash=renewed)
            await record(conn, user.id, EventType.USER_LOGIN, now, network=metadata)
            return await self._let_in(conn, user, visitor, now)

    async def _count_account(self, bucket: str, found: Credentials | None, visitor: Visitor) -> None:
        """Limit attempts, also on no account, except from networks of earlier log-ins. Raises TooManyAttempts."""
        try:
            await self._count(bucket, decide.LOGIN_PER_ACCOUNT)
        except TooManyAttempts as refusal:
            network = await self._network(visitor)
            async with self._database.as_system() as conn:
                if found and await has_logged_in_from(conn, user_id=found.user.id, network=network):
                    return
            advice = "Someone may be guessing this password: set a new one by email, which lets you log in at once. "
            raise TooManyAttempts(refusal.retry_after, advice=advice) from refusal

    async def _network(self, visitor: Visitor) -> str:
        """A keyed hash of the visitor's network, stored with log-ins."""
        network = network_of(visitor.address).encode(errors="replace")
        return hmac.digest(await self.secret(), b"network:" + network, "sha256").hex()[:32]

    async def start_session(self, user: User, visitor: Visitor, identity: Identity) -> LogInResult:
        """Log in a user identified by an outside issuer. Raises NotLoggedIn."""
        now, metadata = self._clock(), await self._network(visitor)
        async with self._database.as_system() as conn:
            held = await users.lock_credentials(conn, user_id=user.id)
            # A password reset in between has unlinked it.
            linked = await users.find_identity(conn, issuer=identity.issuer, subject=identity.subject)
            if held is None or linked != user.id:
                raise NotLoggedIn("This log-in is no longer linked to an account. Try again.")
            await sessions.remove_expired(conn, before=await clocks.deletes_until(conn, now=now))
            await record(conn, user.id, EventType.USER_LOGIN, now, network=metadata)
            return await self._let_in(conn, held.user, visitor, now)

    async def recognise(self, access: str) -> SessionRow | None:
        now = self._clock()
        async with self._database.as_system() as conn:
            session = await sessions.find_by_access(conn, access_hash=digest(access))
            if session is None or decide.access_worth(session, now) is not Worth.GOOD:
                return None
            if session.replaced_at is not None and session.renewal_used_at is None:
                await sessions.note_renewal_used(conn, session_id=session.id, now=now)
        return session

    async def renew(self, refresh: str) -> tuple[SessionRow, Tokens | None] | None:
        """New tokens for a refresh token; None if it is invalid.

        They are derived from the old token, so concurrent requests and a retry after a lost response get the same ones.
        A token that is used again after its successor was used or replaced was copied: the session ends.
        """
        now, brought = self._clock(), digest(refresh)
        key = await self.secret()
        async with self._database.as_system() as conn:
            session = await sessions.find_by_refresh(conn, refresh_hash=brought)
            if session is None:
                if (session_id := marked_session(key, refresh)) is not None:
                    await sessions.end(conn, session_id=session_id)
                return None
            match decide.refresh_worth(session, brought, now):
                case Worth.GOOD:
                    following = successor(key, refresh, session.id, *self._expiry(now))
                    await sessions.rotate(conn, session_id=session.id, tokens=following, now=now)
                    return session, following
                case Worth.REPLACED:
                    following = successor(key, refresh, session.id, session.access_until, session.refresh_until)
                    return session, following if digest(following.refresh) == session.refresh_hash else None
                case Worth.STOLEN:
                    await sessions.end(conn, session_id=session.id)
                    return None
                case Worth.EXPIRED:
                    return None

    async def ask_for_reset(self, email: str, visitor: Visitor) -> None:
        """Mail a reset link, if there is an account with this email. The account is looked up in the background, so the
        response time does not reveal it. Raises TooManyAttempts."""
        email, network = email.strip(), network_of(visitor.address)
        await self._count(f"mail:{network}", decide.MAIL_PER_NETWORK)
        await self._count(f"mail:{account_bucket(email_key(email))}:{network}", decide.MAIL_PER_ACCOUNT_AND_NETWORK)
        if decide.email_problem(email):
            return
        async with self._database.as_system() as conn:
            await self._mail(conn, MailKind.RESET, email)

    async def reset_password(self, token: str, password: str) -> None:
        """Set a password by a mailed token; all other access is revoked. Raises Invalid, NotLoggedIn."""
        now, token_hash = self._clock(), digest(token)
        async with self._database.as_system() as conn:
            known = await tokens.find_mailed(conn, token_hash=token_hash, purpose=MailKind.RESET, now=now)
        if known is None:
            raise NotLoggedIn(USED_LINK)
        changes.require(decide.password_problem(password, known[1]))
        password_hash = await hash_password(password)
        async with self._database.as_system() as conn:
            used = await changes.use_link(conn, token_hash, MailKind.RESET, now)
            if used is None:
                raise NotLoggedIn(USED_LINK)
            await users.confirm(conn, user_id=used[0].id, now=now)
            await changes.replace_password(conn, used[0], password_hash, keep=None, site=self._site, now=now)

    async def confirm(self, token: str) -> None:
        """Confirm the email of a new account, or a changed one, by a mailed token. Raises NotLoggedIn, EmailTaken."""
        now, token_hash = self._clock(), digest(token)
        async with self._database.as_system() as conn:
            if used := await changes.use_link(conn, token_hash, MailKind.CONFIRM, now):
                await users.confirm(conn, user_id=used[0].id, now=now)
            elif used := await changes.use_link(conn, token_hash, MailKind.NEW_EMAIL, now):
                await changes.change_email(conn, *used, site=self._site, now=now)
            else:
                raise NotLoggedIn(USED_LINK)

    async def change_password(self, user: User, old: str, new: str, *, keep: SessionRow | None) -> Tokens | None:
        """Change the password; all other access is revoked.

        Returns new tokens for the session `keep`, so that copies of its old ones are invalid too. None if that session
        has ended. Raises Invalid, WrongPassword, TooManyAttempts.
        """
        found = await self._check(user, old, keep)
        changes.require(decide.password_problem(new, user.email))
        password_hash, key, now = await hash_password(new), await self.secret(), self._clock()
        async with self._database.as_system() as conn:
            held = await changes.lock_unchanged(conn, found)
            kept = keep.id if keep else None
            await changes.replace_password(conn, held, password_hash, keep=kept, site=self._site, now=now)
            if kept is None:
                return None
            given = new_tokens(key, kept, *self._expiry(now))
            return given if await sessions.reissue(conn, session_id=kept, tokens=given, now=now) else None

    async def ask_for_email(self, user: User, email: str, password: str, *, session: SessionRow | None = None) -> None:
        """Mail a link to a new email, and a notice to the old. Raises Invalid, WrongPassword, TooManyAttempts."""
        email = email.strip()
        changes.require(decide.email_problem(email))
        found = await self._check(user, password, session)
        # After the check: a stolen session without the password must not use up the limit.
        await self._count(f"mail:{user.id}", decide.MAIL_PER_ACCOUNT_AND_NETWORK)
        async with self._database.as_system() as conn:
            held = await changes.lock_unchanged(conn, found)
            await self._mail(conn, MailKind.NEW_EMAIL, email, user=held)
            await self._mail(conn, MailKind.EMAIL_ASKED, held.email, user=held, detail=email)

    async def delete_account(self, user: User, password: str, *, session: SessionRow | None = None) -> None:
        """Delete a user and everything they own. Raises WrongPassword, TooManyAttempts, LastAdministrator."""
        found = await self._check(user, password, session)
        async with self._database.as_system() as conn:
            await changes.require_other_administrator(conn, user_id=user.id)  # first: it locks accounts in one order
            held = await changes.lock_unchanged(conn, found)
            await mail.drop_requested(conn, email_key=email_key(held.email))
            await users.remove(conn, user_id=held.id)

    async def _check(self, user: User, password: str, session: SessionRow | None) -> Credentials:
        """Raises WrongPassword, TooManyAttempts. The limit is per session: a stolen one cannot lock out another."""
        bucket = f"password:{session.id if session else user.id}"
        await self._count(bucket, decide.PASSWORD_PER_SESSION)
        async with self._database.as_system() as conn:
            found = await users.find_credentials_by_id(conn, user_id=user.id)
        if found is None or not await is_password(password, found.password_hash):
            raise WrongPassword("The current password is wrong.")
        async with self._database.as_system() as conn:
            await attempts.clear(conn, bucket=bucket)
        return found

    async def _count(self, bucket: str, limit: Limit, *, adds: bool = True) -> None:
        """In a transaction of its own, so that failed attempts count too. Raises TooManyAttempts."""
        now = self._clock()
        async with self._database.as_system() as conn:
            look = attempts.count if adds else attempts.find
            tried, ends_at = await look(conn, bucket=bucket, now=now, ends_at=now + limit.within)
        if tried >= limit.most + adds:
            raise TooManyAttempts(ends_at - now)

    async def _let_in(self, conn: Connection, user: User, visitor: Visitor, now: datetime) -> LogInResult:
        if user.confirmed_at is None and self._options.must_confirm:
            await self._mail(conn, MailKind.CONFIRM, user.email, user=user)
            return AwaitsConfirmation(user.email)
        session_id = new_id()
        given = new_tokens(await self.secret(), session_id, *self._expiry(now))
        await sessions.start(conn, session_id=session_id, user_id=user.id, tokens=given, now=now, visitor=visitor)
        return LoggedIn(user, given)

    def _expiry(self, now: datetime) -> tuple[datetime, datetime]:
        return now + self._options.access_lifetime, now + self._options.refresh_lifetime

    async def _mail(
        self, conn: Connection, kind: MailKind, email: str, *, user: User | None = None, detail: str = ""
    ) -> None:
        """Queue a mail, unless this email has reached the limit for its kind. Raises Unavailable."""
        now = self._clock()
        bucket, ends_at = f"mail:{kind}:{account_bucket(email_key(email))}", now + decide.MAIL_PER_ACCOUNT.within
        sent, _ = await attempts.count(conn, bucket=bucket, now=now, ends_at=ends_at)
        if sent <= decide.MAIL_PER_ACCOUNT.most:
            await changes.queue_mail(conn, kind, email, user=user, site=self._site, detail=detail, now=now)

"""Changes to accounts: what operators do, and the steps that log-in, links and operators share.

A function with a connection runs in the transaction of its caller.
"""

import hmac
import secrets
from datetime import datetime
from uuid import UUID

from headwater import errors
from headwater.accounts import decide
from headwater.accounts.decide import account_bucket, email_key, email_problem, password_problem
from headwater.accounts.mail import store as mail
from headwater.accounts.mail.types import NOTICES, MailKind, QueuedMail
from headwater.accounts.secrets import hash_password
from headwater.accounts.store import attempts, outlets, sessions, tokens, users
from headwater.accounts.store.events import record
from headwater.accounts.types import Credentials, EventType, Role, SessionRow, User
from headwater.db import Connection, Database
from headwater.ids import new_id
from headwater.types import Clock, UserId

MAIL_WAITING_MAX = 10_000  # of one kind; there are never more notices than accounts
SETUP = "setup"  # the shared secret that the setup code is made of


async def current_setup_code(conn: Connection) -> str:
    """The setup code of this instance, the same for all processes; made by the first caller."""
    return decide.setup_code(await tokens.shared_secret(conn, name=SETUP, value=secrets.token_bytes(32)))


async def use_setup_code(conn: Connection, code: str | None) -> None:
    """Check the setup code (None: not needed) and delete it: if all accounts are deleted, a new one is made.
    Raises SetupCodeNeeded."""
    if code is not None:
        given, expected = decide.bare_code(code), decide.bare_code(await current_setup_code(conn))
        if not hmac.compare_digest(given.encode(errors="replace"), expected.encode()):
            raise errors.SetupCodeNeeded
    await tokens.remove_secret(conn, name=SETUP)


async def queue_mail(
    conn: Connection, kind: MailKind, email: str, *, user: User | None, site: str, now: datetime, detail: str = ""
) -> None:
    """Queue a mail about an account, in the transaction of the change. Raises Unavailable."""
    waiting = QueuedMail(new_id(), kind, email, user.id if user else None, site, detail, now)
    most = None if kind in NOTICES else MAIL_WAITING_MAX
    if not await mail.queue(conn, waiting, email_key=email_key(email), most=most):
        raise errors.Unavailable("Too many emails wait to be sent.")


def require(problem: str | None) -> None:
    """Raises Invalid if there is a problem."""
    if problem:
        raise errors.Invalid(problem)


async def lock_unchanged(conn: Connection, checked: Credentials) -> User:
    """Lock an account whose password was checked before this transaction. Raises WrongPassword if it has changed."""
    held = await users.lock_credentials(conn, user_id=checked.user.id)
    if held is None or held.password_hash != checked.password_hash:
        raise errors.WrongPassword
    return held.user


async def lock_logged_in(conn: Connection, session: SessionRow) -> User:
    """Lock the account of a session that must not have ended meanwhile. Raises NotLoggedIn."""
    held = await users.lock_credentials(conn, user_id=session.user.id)
    if held is None or not await sessions.is_active(conn, session_id=session.id):
        raise errors.NotLoggedIn("Your session has ended.")
    return held.user


async def replace_password(
    conn: Connection, user: User, password_hash: str, *, keep: UUID | None, site: str, now: datetime
) -> None:
    """Set a new password, revoke all other access, and mail a notice. The caller has locked the account."""
    await revoke_access(conn, user, password_hash=password_hash, keep=keep)
    await attempts.clear_like(conn, prefix=f"login:{account_bucket(email_key(user.email))}")
    await attempts.clear(conn, bucket=f"mail:{MailKind.RESET}:{account_bucket(email_key(user.email))}")
    await queue_mail(conn, MailKind.PASSWORD_CHANGED, user.email, user=user, site=site, now=now)


async def change_email(conn: Connection, user: User, email: str, *, site: str, now: datetime) -> None:
    """Set a confirmed email of a locked account, revoke mailed links, notify the old email. Raises EmailTaken."""
    await users.set_email(conn, user_id=user.id, email=email, email_key=email_key(email), now=now)
    await revoke_links(conn, user)
    await queue_mail(conn, MailKind.EMAIL_CHANGED, user.email, user=user, site=site, detail=email, now=now)


async def revoke_access(conn: Connection, user: User, *, password_hash: str | None, keep: UUID | None) -> None:
    """Set or remove the password, and end all sessions but one, all tokens, mailed links, outside identities, and what
    the account shows without a log-in."""
    await users.set_password(conn, user_id=user.id, password_hash=password_hash)
    await sessions.end_all_of(conn, user_id=user.id, except_for=keep)
    await outlets.close_all_of(conn, user_id=user.id)
    await users.remove_identities(conn, user_id=user.id)
    await revoke_links(conn, user)


async def revoke_links(conn: Connection, user: User) -> None:
    """Revoke the links that were mailed to a user, and those still queued."""
    await tokens.revoke_mailed_of(conn, user_id=user.id)
    await mail.drop_links(conn, user_id=user.id, email_key=email_key(user.email))


async def use_link(conn: Connection, token_hash: bytes, purpose: MailKind, now: datetime) -> tuple[User, str] | None:
    """Lock the account of a mailed token and delete the token; None if it is invalid. With the email it was sent to."""
    known = await tokens.find_mailed(conn, token_hash=token_hash, purpose=purpose, now=now)
    held = await users.lock_credentials(conn, user_id=known[0]) if known else None
    used = await tokens.find_mailed(conn, token_hash=token_hash, purpose=purpose, now=now, uses=True)
    return (held.user, used[1]) if held and used else None


async def add_user(
    conn: Connection, email: str, password_hash: str | None, role: Role, now: datetime,
    confirmed_at: datetime | None = None,
) -> User:  # fmt: skip
    """Add a user; `confirmed_at` only if the email is known to be theirs. Raises EmailTaken."""
    user = User(UserId(new_id()), email, role, confirmed_at, now)
    await users.add(conn, user, email_key=email_key(email), password_hash=password_hash)
    return user


async def require_other_administrator(conn: Connection, *, user_id: UserId) -> None:
    """Call before a user is removed or demoted, in the same transaction. Raises LastAdministrator. The rows of all
    super_admins stay locked until the transaction ends, so two of them cannot remove each other."""
    if await users.lock_administrators(conn) == [user_id]:
        found = await users.find_credentials_by_id(conn, user_id=user_id)
        raise errors.LastAdministrator(found.user.email if found else "This account")


async def create_account(database: Database, clock: Clock, *, email: str, password: str, role: Role | None) -> User:
    """An account with a confirmed email; without a role, that of a registration. Raises Invalid, EmailTaken."""
    email = email.strip()
    require(email_problem(email) or password_problem(password, email))
    password_hash, now = await hash_password(password), clock()
    async with database.as_system() as conn:
        is_first = await users.claim_first(conn)
        if is_first:
            await use_setup_code(conn, None)
        given = role or decide.role_of_new(is_first=is_first)
        user = await add_user(conn, email, password_hash, given, now, confirmed_at=now)
        await record(conn, user.id, EventType.USER_REGISTERED, now)
    return user


async def find_account(conn: Connection, email: str) -> User:
    """Raises NotFound."""
    found = await users.find_credentials(conn, email_key=email_key(email.strip()))
    if found is None:
        raise errors.NotFound(f"There is no account {email!r}. `headwater user list` lists all.")
    return found.user


async def give_password(database: Database, clock: Clock, *, email: str, password: str, site: str) -> User:
    """Set a password, revoke all other access, and notify the user by email. Raises Invalid, NotFound."""
    async with database.as_system() as conn:
        user = await find_account(conn, email)
    require(password_problem(password, user.email))
    password_hash = await hash_password(password)
    async with database.as_system() as conn:
        user = await _lock(conn, user.id)
        await replace_password(conn, user, password_hash, keep=None, site=site, now=clock())
    return user


async def give_email(database: Database, clock: Clock, *, email: str, new: str, site: str) -> User:
    """As `change_email`. Returns the user as before. Raises Invalid, NotFound, EmailTaken."""
    new = new.strip()
    require(email_problem(new))
    async with database.as_system() as conn:
        user = await _lock(conn, (await find_account(conn, email)).id)
        await change_email(conn, user, new, site=site, now=clock())
    return user


async def change_role(conn: Connection, *, user_id: UserId, role: Role) -> User:
    """Change a user's role; returns the user as before. Raises NotFound, LastAdministrator."""
    if role is not Role.SUPER_ADMIN:
        await require_other_administrator(conn, user_id=user_id)
    found = await users.find_credentials_by_id(conn, user_id=user_id)
    if found is None:
        raise errors.NotFound("There is no such account.")
    await users.set_role(conn, user_id=user_id, role=role)
    if not role.includes(found.user.role):
        await tokens.revoke_admin_of(conn, user_id=user_id)
    return found.user


async def sign_out(conn: Connection, *, user_id: UserId) -> User:
    """End a user's sessions, API tokens, mailed links, feed addresses and webhooks; they can log in again. Raises
    NotFound."""
    user = await _lock(conn, user_id)  # a token that is being created is revoked, or not created
    await sessions.end_all_of(conn, user_id=user_id, except_for=None)
    await outlets.close_all_of(conn, user_id=user_id)
    await revoke_links(conn, user)
    return user


async def _lock(conn: Connection, user_id: UserId) -> User:
    """Raises NotFound."""
    held = await users.lock_credentials(conn, user_id=user_id)
    if held is None:
        raise errors.NotFound("There is no such account.")
    return held.user


async def remove_account(conn: Connection, *, email: str) -> User:
    """Delete a user and everything they own. Raises NotFound, LastAdministrator."""
    user = await find_account(conn, email)
    await require_other_administrator(conn, user_id=user.id)
    await mail.drop_requested(conn, email_key=email_key(user.email))
    await users.remove(conn, user_id=user.id)
    return user

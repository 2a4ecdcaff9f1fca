"""Changes to an account that several commands share. Each runs in the transaction of its caller."""

import secrets
from datetime import datetime
from uuid import UUID

from headwater.accounts.decide import account_bucket, email_key, setup_code
from headwater.accounts.mail import store as mail
from headwater.accounts.mail.types import NOTICES, MailKind, QueuedMail
from headwater.accounts.store import attempts, sessions, users
from headwater.accounts.store import tokens as tokens_store
from headwater.accounts.types import Credentials, Role, SessionRow, User
from headwater.db import Connection
from headwater.errors import Invalid, LastAdministrator, NotLoggedIn, Unavailable, WrongPassword
from headwater.ids import new_id
from headwater.types import UserId

MAIL_WAITING_MAX = 10_000  # of one kind; there are never more notices than accounts
SETUP = "setup"  # the shared secret that the set-up code is made of


async def current_setup_code(conn: Connection) -> str:
    """The set-up code of this instance, the same for all processes; made by the first caller."""
    return setup_code(await tokens_store.shared_secret(conn, name=SETUP, value=secrets.token_bytes(32)))


async def queue_mail(
    conn: Connection, kind: MailKind, email: str, *, user: User | None, site: str, now: datetime, detail: str = ""
) -> None:
    """Queue a mail about an account, in the transaction of the change. Raises Unavailable."""
    waiting = QueuedMail(new_id(), kind, email, user.id if user else None, site, detail, now)
    most = None if kind in NOTICES else MAIL_WAITING_MAX
    if not await mail.queue(conn, waiting, email_key=email_key(email), most=most):
        raise Unavailable("Too many emails wait to be sent.")


def require(problem: str | None) -> None:
    """Raises Invalid if there is a problem."""
    if problem:
        raise Invalid(problem)


async def lock_unchanged(conn: Connection, checked: Credentials) -> Credentials:
    """Lock an account whose password was checked before this transaction. Raises WrongPassword if it has changed."""
    held = await users.lock_credentials(conn, user_id=checked.user.id)
    if held is None or held.password_hash != checked.password_hash:
        raise WrongPassword
    return held


async def lock_logged_in(conn: Connection, session: SessionRow) -> User:
    """Lock the account of a session that must not have ended meanwhile. Raises NotLoggedIn."""
    held = await users.lock_credentials(conn, user_id=session.user.id)
    if held is None or not await sessions.is_active(conn, session_id=session.id):
        raise NotLoggedIn("Your session has ended.")
    return held.user


async def replace_password(
    conn: Connection, user: User, password_hash: str, *, keep: UUID | None, site: str, now: datetime
) -> None:
    """Set a new password, revoke all other access, and mail a notice. The caller has locked the account."""
    await users.set_password(conn, user_id=user.id, password_hash=password_hash)
    await sessions.end_all_of(conn, user_id=user.id, except_for=keep)
    await tokens_store.revoke_all_of(conn, user_id=user.id)
    await users.remove_identities(conn, user_id=user.id)
    await revoke_links(conn, user)
    await attempts.clear_like(conn, prefix=f"login:{account_bucket(email_key(user.email))}")
    await attempts.clear(conn, bucket=f"mail:{MailKind.RESET}:{account_bucket(email_key(user.email))}")
    await queue_mail(conn, MailKind.PASSWORD_CHANGED, user.email, user=user, site=site, now=now)


async def change_email(conn: Connection, user: User, email: str, *, site: str, now: datetime) -> None:
    """Set a confirmed email, revoke mailed links, and mail a notice to the old one. Raises EmailTaken.

    The caller has locked the account.
    """
    await users.set_email(conn, user_id=user.id, email=email, email_key=email_key(email), now=now)
    await revoke_links(conn, user)
    await queue_mail(conn, MailKind.EMAIL_CHANGED, user.email, user=user, site=site, detail=email, now=now)


async def revoke_links(conn: Connection, user: User) -> None:
    """Revoke the links that were mailed to a user, and those still queued."""
    await tokens_store.revoke_mailed_of(conn, user_id=user.id)
    await mail.drop_links(conn, user_id=user.id, email_key=email_key(user.email))


async def add_user(
    conn: Connection,
    email: str,
    password_hash: str | None,
    role: Role,
    now: datetime,
    confirmed_at: datetime | None = None,
) -> User:
    """Add a user; `confirmed_at` only if the email is known to be theirs. Raises EmailTaken."""
    user = User(UserId(new_id()), email, role, confirmed_at, now)
    await users.add(conn, user, email_key=email_key(email), password_hash=password_hash)
    return user


async def require_other_administrator(conn: Connection, *, user_id: UserId) -> None:
    """Call before a user is removed or demoted, in the same transaction. Raises LastAdministrator.

    The rows of all super_admins stay locked until the transaction ends, so two of them cannot remove each other.
    """
    if await users.lock_administrators(conn) == [user_id]:
        found = await users.find_credentials_by_id(conn, user_id=user_id)
        raise LastAdministrator(found.user.email if found else "This account")

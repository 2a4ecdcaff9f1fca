"""What operators do with accounts: create them, set roles, passwords and emails, delete them."""

from headwater.accounts.changes import (
    SETUP,
    add_user,
    change_email,
    replace_password,
    require,
    require_other_administrator,
    revoke_links,
)
from headwater.accounts.decide import email_key, email_problem, password_problem, role_of_new
from headwater.accounts.mail import store as mail
from headwater.accounts.secrets import hash_password
from headwater.accounts.store import sessions, tokens, users
from headwater.accounts.store.events import record
from headwater.accounts.types import EventType, Role, User
from headwater.db import Connection, Database
from headwater.errors import NotFound
from headwater.types import Clock, UserId


async def create_account(database: Database, clock: Clock, *, email: str, password: str, role: Role | None) -> User:
    """An account with a confirmed email; without a role, that of a registration. Raises Invalid, EmailTaken."""
    email = email.strip()
    require(email_problem(email) or password_problem(password, email))
    password_hash, now = await hash_password(password), clock()
    async with database.as_system() as conn:
        is_first = await users.claim_first(conn)
        if is_first:
            await tokens.remove_secret(conn, name=SETUP)
        chosen = role or role_of_new(is_first=is_first)
        user = await add_user(conn, email, password_hash, chosen, now, confirmed_at=now)
        await record(conn, user.id, EventType.USER_REGISTERED, now)
    return user


async def find_account(conn: Connection, email: str) -> User:
    """Raises NotFound."""
    found = await users.find_credentials(conn, email_key=email_key(email.strip()))
    if found is None:
        raise NotFound(f"There is no account {email!r}. `headwater user list` lists all.")
    return found.user


async def give_password(database: Database, clock: Clock, *, email: str, password: str, site: str) -> User:
    """Set a password; sessions, tokens, mailed links and outside identities end, and the user is notified by email.

    Raises Invalid, NotFound.
    """
    async with database.as_system() as conn:
        user = await find_account(conn, email)
    require(password_problem(password, user.email))
    password_hash = await hash_password(password)
    async with database.as_system() as conn:
        user = await _lock(conn, user.id)
        await replace_password(conn, user, password_hash, keep=None, site=site, now=clock())
    return user


async def give_email(database: Database, clock: Clock, *, email: str, new: str, site: str) -> User:
    """Set a confirmed email; mailed links end, and the old email is notified. Returns the user as before.

    Raises Invalid, NotFound, EmailTaken.
    """
    new = new.strip()
    require(email_problem(new))
    async with database.as_system() as conn:
        user = await _lock(conn, (await find_account(conn, email)).id)
        await change_email(conn, user, new, site=site, now=clock())
    return user


async def give_role(conn: Connection, *, email: str, role: Role) -> User:
    """Change the role of the account with this email; returns the user as before. Raises as `change_role` does."""
    return await change_role(conn, user_id=(await find_account(conn, email)).id, role=role)


async def change_role(conn: Connection, *, user_id: UserId, role: Role) -> User:
    """Change a user's role; returns the user as before. Raises NotFound, LastAdministrator."""
    if role is not Role.SUPER_ADMIN:
        await require_other_administrator(conn, user_id=user_id)
    found = await users.find_credentials_by_id(conn, user_id=user_id)
    if found is None:
        raise NotFound("There is no such account.")
    await users.set_role(conn, user_id=user_id, role=role)
    if not role.includes(found.user.role):
        await tokens.revoke_admin_of(conn, user_id=user_id)
    return found.user


async def sign_out(conn: Connection, *, user_id: UserId) -> User:
    """End a user's sessions, API tokens and mailed links; they can log in again. Raises NotFound."""
    user = await _lock(conn, user_id)  # a token that is being created is revoked, or not created
    await sessions.end_all_of(conn, user_id=user_id, except_for=None)
    await tokens.revoke_all_of(conn, user_id=user_id)
    await revoke_links(conn, user)
    return user


async def _lock(conn: Connection, user_id: UserId) -> User:
    """Raises NotFound."""
    held = await users.lock_credentials(conn, user_id=user_id)
    if held is None:
        raise NotFound("There is no such account.")
    return held.user


async def remove_account(conn: Connection, *, email: str) -> User:
    """Delete a user and everything they own. Raises NotFound, LastAdministrator."""
    user = await find_account(conn, email)
    await require_other_administrator(conn, user_id=user.id)
    await mail.drop_all(conn, email_key=email_key(user.email))
    await users.remove(conn, user_id=user.id)
    return user

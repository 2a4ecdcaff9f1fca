"""`headwater user`: accounts, for operators."""

import sys
from typing import Annotated

import typer

from headwater.accounts import changes
from headwater.accounts.store import users as users_store
from headwater.accounts.types import Role, User
from headwater.audit import store as audit
from headwater.audit.types import COMMAND_LINE, AuditAction
from headwater.cli.options import AsJson, Yes, group
from headwater.cli.output import print_text, show
from headwater.cli.running import in_runtime, remove_rows, with_runtime
from headwater.cli.terminal import confirm
from headwater.errors import Invalid
from headwater.runtime import Runtime, site_of

user_app = group("Create and change accounts.", "user create ann@example.com --role super_admin")

PASSWORD_BYTES = 4096  # longer than any valid password, so that a longer one is refused rather than cut

Email = Annotated[str, typer.Argument(metavar="EMAIL", help="The account's email.")]
NewEmail = Annotated[str, typer.Argument(metavar="NEW", help="The new email.")]
OfRole = Annotated[Role, typer.Argument(help="The new role.")]
NewRole = Annotated[
    Role | None, typer.Option(help="The role.", show_default="reader; super_admin for the first account")
]
FromStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input, rather than ask for it.")
]


@user_app.command()
def create(email: Email, role: NewRole = None, password_stdin: FromStdin = False) -> None:
    """Create an account; its email counts as confirmed.

    Example: headwater user create ann@example.com --role super_admin --password-stdin < password.txt
    """
    given = {"email": email, "password": _read_password(from_stdin=password_stdin)}

    async def add(runtime: Runtime) -> tuple[User, bool]:
        user = await changes.create_account(runtime.database, runtime.tools.clock, **given, role=role)
        async with runtime.database.as_system() as conn:
            return user, bool(await users_store.lock_administrators(conn))

    user, has_administrator = in_runtime(add)
    print_text(f"{user.email} can log in now, as {user.role}.")
    if not has_administrator:  # nobody else becomes one: only the first account is one by itself
        print_text(f"There is no super_admin. To make this user one: headwater user role {user.email} super_admin")


@user_app.command("list")
@with_runtime
async def list_(runtime: Runtime, as_json: AsJson = False) -> None:
    """List the accounts, the oldest first.

    Example: headwater user list --json
    """
    async with runtime.database.as_system() as conn:
        users = await users_store.list_all(conn)
    none = "No accounts yet. The first user who registers becomes the administrator."
    rows = [(one.email, one.role, f"{one.created_at:%Y-%m-%d}", "yes" if one.confirmed_at else "no") for one in users]
    show(users, ["email", "role", "since", "confirmed"], rows, as_json=as_json, empty=none)


@user_app.command()
@with_runtime
async def role(runtime: Runtime, email: Email, role: OfRole) -> None:
    """Change a user's role, from their next request on.

    Example: headwater user role bob@example.com moderator
    """
    async with runtime.database.as_system() as conn:
        user = await changes.change_role(conn, user_id=(await changes.find_account(conn, email)).id, role=role)
        await audit.record(
            conn, COMMAND_LINE, AuditAction.ROLE_CHANGED, runtime.tools.clock(), subject=user.email, subject_id=user.id,
            detail={"from": user.role.value, "to": role.value},
        )  # fmt: skip
    print_text(f"{user.email} was {user.role}, and is {role} now.")


@user_app.command()
def password(email: Email, password_stdin: FromStdin = False) -> None:
    """Set a user's password. Ends their sessions, API tokens, emailed links and linked log-ins, and emails them.

    Example: headwater user password ann@example.com
    """
    in_runtime(lambda runtime: _find(runtime, email))  # before a password is typed for an account that does not exist
    new = _read_password(from_stdin=password_stdin)

    async def change(runtime: Runtime) -> User:
        site, clock = site_of(runtime.settings), runtime.tools.clock
        return await changes.give_password(runtime.database, clock, email=email, password=new, site=site)

    print_text(f"{in_runtime(change).email} has a new password, and is logged out everywhere.")


@user_app.command("email")
@with_runtime
async def change_email(runtime: Runtime, email: Email, new: NewEmail) -> None:
    """Set a user's email, which counts as confirmed. Ends links emailed before, and notifies the old email.

    Example: headwater user email ann@example.com ann@example.org
    """
    site, clock = site_of(runtime.settings), runtime.tools.clock
    user = await changes.give_email(runtime.database, clock, email=email, new=new, site=site)
    print_text(f"{user.email} is {new.strip()} now.")


@user_app.command("setup-code")
@with_runtime
async def show_setup_code(runtime: Runtime) -> None:
    """Print the code that the registration page asks for while there is no account.

    Example: headwater user setup-code
    """
    async with runtime.database.as_system() as conn:
        code = "" if await users_store.has_any(conn) else await changes.current_setup_code(conn)
    print_text(code or "No setup code is needed: there are accounts.")


@user_app.command()
def remove(email: Email, yes: Yes = False) -> None:
    """Delete an account and all its rows: subscriptions, read and starred articles, tokens, events.

    Example: headwater user remove bob@example.com --yes
    """
    user = in_runtime(lambda runtime: _find(runtime, email))
    confirm(f"Delete {user.email} and all data of this account?", yes=yes)
    in_runtime(lambda runtime: _remove(runtime, email))
    print_text(f"{user.email} is deleted, with all data of the account.")


async def _find(runtime: Runtime, email: str) -> User:
    async with runtime.database.as_system() as conn:
        return await changes.find_account(conn, email)


async def _remove(runtime: Runtime, email: str) -> None:
    async with runtime.database.as_system() as conn:
        await changes.remove_account(conn, email=email)
    await remove_rows(runtime)


def _read_password(*, from_stdin: bool) -> str:
    """A password typed twice, or the first line of standard input. Raises Invalid."""
    if from_stdin:
        return sys.stdin.readline(PASSWORD_BYTES).rstrip("\r\n")
    if not sys.stdin.isatty():
        raise Invalid("There is no terminal to ask for a password: send it on standard input, with --password-stdin.")
    return typer.prompt("Password", hide_input=True, confirmation_prompt=True)

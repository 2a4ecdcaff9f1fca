"""`headwater user`: accounts, for whoever runs Headwater."""

import sys
from typing import Annotated

import typer

from headwater.accounts.changes import current_setup_code
from headwater.accounts.people import create_account, find_account, give_email, give_password, give_role, remove_account
from headwater.accounts.store import users as users_store
from headwater.accounts.types import Role, User
from headwater.audit import store as audit
from headwater.audit.types import COMMAND_LINE, Deed
from headwater.cli.remove_rows import remove_rows
from headwater.cli.terminal import AsJson, confirm, load_quietly, print_json, print_table, run, say
from headwater.errors import Invalid
from headwater.runtime import open_runtime, site_of
from headwater.settings import Settings

user_app = typer.Typer(
    help="Make accounts and look after them.\n\nExample: headwater user create ann@example.com --role super_admin",
    no_args_is_help=True,
)

PASSWORD_BYTES = 4096  # more than any password may have, so that a longer one is refused rather than cut

Email = Annotated[str, typer.Argument(metavar="EMAIL", help="The account's address.")]
NewEmail = Annotated[str, typer.Argument(metavar="NEW", help="The email from now on.")]
OfRole = Annotated[Role, typer.Argument(help="What they may do from now on.")]
NewRole = Annotated[
    Role | None, typer.Option(help="What they may do.", show_default="reader; super_admin for the first account")
]
FromStdin = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input, rather than asking for it.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


@user_app.command()
def create(email: Email, role: NewRole = None, password_stdin: FromStdin = False) -> None:
    """Make an account; its address counts as confirmed.

    Example: headwater user create ann@example.com --role super_admin --password-stdin < password.txt
    """
    settings = load_quietly()
    user = run(_create(settings, email, _read_password(from_stdin=password_stdin), role))
    say(f"{user.email} can log in now, as {user.role}.")


@user_app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the accounts, the oldest first.

    Example: headwater user list --json
    """
    users = run(_list(load_quietly()))
    if as_json:
        print_json(users)
    elif users:
        print_table(["email", "role", "since", "confirmed"], [_row(user) for user in users])
    else:
        say("Nobody has an account yet. The first who registers becomes super_admin.")


@user_app.command()
def role(email: Email, role: OfRole) -> None:
    """Change what somebody may do. It holds from their next request on.

    Example: headwater user role bob@example.com moderator
    """
    user = run(_role(load_quietly(), email, role))
    say(f"{user.email} was {user.role}, and is {role} now.")


@user_app.command()
def password(email: Email, password_stdin: FromStdin = False) -> None:
    """Set a user's password. Their sessions, API tokens, mailed links and linked log-ins end; a mail tells them.

    Example: headwater user password ann@example.com
    """
    settings = load_quietly()
    run(_find(settings, email))  # before anybody types a password for nobody
    user = run(_password(settings, email, _read_password(from_stdin=password_stdin)))
    say(f"{user.email} has another password, and is logged out everywhere.")


@user_app.command("email")
def change_email(email: Email, new: NewEmail) -> None:
    """Set a user's email, which counts as confirmed. Links mailed before end, and the old email is told by mail.

    Example: headwater user email ann@example.com ann@example.org
    """
    user = run(_email(load_quietly(), email, new))
    say(f"{user.email} is {new.strip()} now.")


@user_app.command("setup-code")
def show_setup_code() -> None:
    """Print the code that the registration page asks for while nobody has an account.

    Example: headwater user setup-code
    """
    code = run(_setup_code(load_quietly()))
    say(code or "There are accounts already: no set-up code is needed.")


@user_app.command()
def remove(email: Email, yes: Yes = False) -> None:
    """Remove an account and all that is its person's: subscriptions, what they read and starred, tokens, events.

    Example: headwater user remove bob@example.com --yes
    """
    settings = load_quietly()
    user = run(_find(settings, email))
    confirm(f"Remove {user.email} and all that is theirs?", yes=yes)
    user = run(_remove(settings, email))
    say(f"{user.email} is gone, and all that was theirs.")


async def _create(settings: Settings, email: str, password: str, role: Role | None) -> User:
    async with open_runtime(settings) as runtime:
        return await create_account(runtime.database, runtime.tools.clock, email=email, password=password, role=role)


async def _list(settings: Settings) -> list[User]:
    async with open_runtime(settings) as runtime, runtime.database.as_system() as conn:
        return await users_store.list_all(conn)


async def _find(settings: Settings, email: str) -> User:
    async with open_runtime(settings) as runtime, runtime.database.as_system() as conn:
        return await find_account(conn, email)


async def _role(settings: Settings, email: str, role: Role) -> User:
    async with open_runtime(settings) as runtime, runtime.database.as_system() as conn:
        user = await give_role(conn, email=email, role=role)
        await audit.record(
            conn,
            actor=COMMAND_LINE,
            deed=Deed.ROLE_CHANGED,
            subject_name=user.email,
            subject_id=user.id,
            now=runtime.tools.clock(),
            detail={"from": user.role.value, "to": role.value},
        )
        return user


async def _password(settings: Settings, email: str, password: str) -> User:
    async with open_runtime(settings) as runtime:
        return await give_password(
            runtime.database, runtime.tools.clock, email=email, password=password, site=site_of(settings)
        )


async def _email(settings: Settings, email: str, new: str) -> User:
    async with open_runtime(settings) as runtime:
        return await give_email(runtime.database, runtime.tools.clock, email=email, new=new, site=site_of(settings))


async def _setup_code(settings: Settings) -> str:
    async with open_runtime(settings) as runtime, runtime.database.as_system() as conn:
        return "" if await users_store.has_any(conn) else await current_setup_code(conn)


async def _remove(settings: Settings, email: str) -> User:
    async with open_runtime(settings) as runtime:
        async with runtime.database.as_system() as conn:
            user = await remove_account(conn, email=email)
        await remove_rows(runtime)  # no worker may be running
        return user


def _read_password(*, from_stdin: bool) -> str:
    """What a person types twice, or the first line of standard input. Raises Invalid."""
    if from_stdin:
        return sys.stdin.readline(PASSWORD_BYTES).rstrip("\r\n")
    if not sys.stdin.isatty():
        raise Invalid("There is nobody to ask for a password: send it on standard input, with --password-stdin.")
    return typer.prompt("Password", hide_input=True, confirmation_prompt=True)


def _row(user: User) -> tuple[str, ...]:
    return user.email, user.role, f"{user.created_at:%Y-%m-%d}", "yes" if user.confirmed_at else "no"

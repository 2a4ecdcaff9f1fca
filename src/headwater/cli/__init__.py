"""The command line. A command's module is imported only when the command is called, or for help."""

import os
import sys
from importlib import import_module
from typing import Annotated

import typer

from headwater import __version__
from headwater.cli.exit_codes import MEANINGS, ExitCode, exit_code_of
from headwater.cli.output import print_error
from headwater.cli.terminal import escape_unencodable
from headwater.errors import HeadwaterError, Invalid
from headwater.text import text_problem

# In the order of the help, each with its module. A command is the function of its name; a group is `<name>_app`.
COMMANDS = {"up": "up", "serve": "up", "work": "up"} | {
    name: name for name in ("demo", "doctor", "settings", "articles", "query", "parse", "extract", "url", "simulate")
}
GROUPS = ("source", "user", "frontier", "classify", "channel", "index", "alerts", "retention", "migrate")


def make_app(only: str | None = None) -> typer.Typer:
    """The whole command line, or one command of it: importing all of them takes most of a second."""
    exit_codes = "\n\n".join(f"[bold]{code.value}[/] {meaning}" for code, meaning in MEANINGS.items())
    app = typer.Typer(
        name="headwater",
        help="Polls feeds, crawls sites, and stores their articles.\n\n[bold]Example:[/] headwater up",
        epilog=f"Exit codes:\n\n{exit_codes}",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    wanted = {only} if only in {*COMMANDS, *GROUPS} else {*COMMANDS, *GROUPS}
    for name, module in COMMANDS.items():
        if name in wanted:
            app.command(name)(getattr(import_module(f"headwater.cli.{module}"), name))
    for name in GROUPS:
        if name in wanted:
            app.add_typer(getattr(import_module(f"headwater.cli.{name}"), f"{name}_app"), name=name)
    return app


def main() -> None:
    """Run a command. A HeadwaterError ends in a message and an exit code, never in a traceback."""
    escape_unencodable()
    try:
        make_app(only=next((word for word in sys.argv[1:] if not word.startswith("-")), None))()
    except HeadwaterError as error:
        _exit_with(error)
    except UnicodeEncodeError:
        # Arguments that are not UTF-8 arrive with lone surrogates, which PostgreSQL refuses. A path may contain them.
        if not any(text_problem(argument) for argument in sys.argv):
            raise
        _exit_with(Invalid("An argument is not valid UTF-8."))
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has closed it (`headwater articles | head`): not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.OK)


def _exit_with(error: HeadwaterError) -> None:
    print_error(str(error))
    sys.exit(exit_code_of(error))


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"headwater {__version__}")
        raise typer.Exit


def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass

"""The command line: one file per command. A command's file is imported only when it is called, or when help is."""

import os
import sys
from importlib import import_module
from typing import Annotated

import typer

from headwater import __version__
from headwater.cli.exit_codes import MEANINGS, ExitCode, exit_code_of
from headwater.cli.terminal import complain, speak_any_letter
from headwater.errors import HeadwaterError, Invalid
from headwater.text import text_problem

# In the order of the help. A command is the function named like its file; a group is `<name>_app` in it.
COMMANDS = ("up", "serve", "work", "demo", "doctor", "settings", "articles", "parse", "extract", "url", "simulate")
GROUPS = ("source", "user", "frontier", "index", "alerts", "retention", "migrate")


def make_app(only: str | None = None) -> typer.Typer:
    """The whole command line, or one command of it: importing them all takes most of a second."""
    exit_codes = "\n\n".join(f"[bold]{code.value}[/] {meaning}" for code, meaning in MEANINGS.items())
    app = typer.Typer(
        name="headwater",
        help="Follows feeds and sites, politely, and makes one clean stream of articles of them.\n\n"
        "[bold]Example:[/] headwater up",
        epilog=f"Exit codes:\n\n{exit_codes}",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    everything = only not in {*COMMANDS, *GROUPS}
    for name in COMMANDS:
        if everything or name == only:
            app.command(name)(getattr(import_module(f"headwater.cli.{name}"), name))
    for name in GROUPS:
        if everything or name == only:
            app.add_typer(getattr(import_module(f"headwater.cli.{name}"), f"{name}_app"), name=name)
    return app


def main() -> None:
    """Run a command. Refusals end in a sentence and an exit code, never in a traceback."""
    speak_any_letter()
    try:
        make_app(only=next((word for word in sys.argv[1:] if not word.startswith("-")), None))()
    except HeadwaterError as error:
        complain(str(error))
        sys.exit(exit_code_of(error))
    except UnicodeEncodeError:
        # The database takes no lone surrogates, which is how bytes that are not UTF-8 arrive. A path may hold them.
        if not any(text_problem(argument) for argument in sys.argv):
            raise
        refusal = Invalid("An argument is not valid UTF-8.")
        complain(str(refusal))
        sys.exit(exit_code_of(refusal))
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has gone (`headwater articles | head`): not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.OK)


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

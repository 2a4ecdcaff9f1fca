"""The command line: one file per command."""

import os
import sys

import typer

from headwater import __version__
from headwater.cli.articles import articles
from headwater.cli.demo import demo
from headwater.cli.doctor import doctor
from headwater.cli.exit_codes import MEANINGS, ExitCode, exit_code_of
from headwater.cli.migrate import migrate_app
from headwater.cli.parse import parse
from headwater.cli.serve import serve
from headwater.cli.settings import settings
from headwater.cli.source import source_app
from headwater.cli.terminal import complain
from headwater.cli.up import up
from headwater.cli.url import url
from headwater.cli.work import work
from headwater.errors import HeadwaterError

_EXIT_CODES = "\n\n".join(f"[bold]{code.value}[/] {meaning}" for code, meaning in MEANINGS.items())

app = typer.Typer(
    name="headwater",
    help="Follows feeds and sites, politely, and makes one clean stream of articles of them.\n\n"
    "[bold]Example:[/] headwater up",
    epilog=f"Exit codes:\n\n{_EXIT_CODES}",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"headwater {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    pass


for _command in (up, serve, work, demo, doctor, settings, articles, parse, url):
    app.command()(_command)
app.add_typer(source_app, name="source")
app.add_typer(migrate_app, name="migrate")


def main() -> None:
    """Run a command. Refusals end in a sentence and an exit code, never in a traceback."""
    try:
        app()
    except HeadwaterError as error:
        complain(str(error))
        sys.exit(exit_code_of(error))
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output has gone (`headwater articles | head`): not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(ExitCode.OK)

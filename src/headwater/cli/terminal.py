"""Input and output of commands: options that many share, tables and progress bars, JSON for scripts."""

import gc
import json
import sys
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path
from shutil import which
from typing import Annotated, Any, TypeVar

import typer
import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from typer.models import OptionInfo

from headwater.cli.exit_codes import ExitCode
from headwater.errors import Invalid
from headwater.observability.log import configure_log
from headwater.settings import Settings, load_settings, shown

T = TypeVar("T")

COLLECT_AFTER = (10_000, 10, 10)  # a batch of polls makes tens of thousands of values, hardly any in a cycle

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="Maximum number of rows.", min=1, max=10_000)]
OfSource = Annotated[str | None, typer.Option("--source", metavar="ID|URL", help="A source, by id or feed URL.")]
Wanted = Annotated[str, typer.Argument(metavar="ID|URL", help="A source, by id or by the URL of its feed or site.")]

out = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
err = Console(stderr=True, highlight=False)


def group(text: str, example: str) -> typer.Typer:
    return typer.Typer(help=f"{text}\n\nExample: headwater {example}", no_args_is_help=True)


def setting_option(name: str) -> OptionInfo:
    """An option that overrides a setting, with the help and default of the setting."""
    field = Settings.model_fields[name]
    return typer.Option(help=field.description, show_default=shown(name, field.default))


def escape_unencodable() -> None:
    """Print characters that the terminal's encoding lacks as escapes, rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def load(**options: object) -> Settings:
    """The settings, overridden by the options that were given; configures the log. Raises InvalidSettings."""
    loaded = load_settings(overrides={name: value for name, value in options.items() if value is not None})
    configure_log(loaded.values.log_level, loaded.values.log_format)
    return loaded.values


def load_quietly() -> Settings:
    """The settings for a command that prints its results: it logs errors only, unless a level is set."""
    is_set = load_settings().origin("log_level") != "default"
    return load() if is_set else load(log_level="error")


def run(main: Coroutine[Any, Any, T]) -> T:
    # Modules loaded by now stay loaded: without freeze(), each garbage collection took 0.1 s to scan them.
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    return uvloop.run(main)


def print_text(text: str) -> None:
    out.print(text, markup=False)


def print_error(text: str) -> None:
    err.print(f"[bold red]headwater:[/] {_escape(text)}")


def exit_failed(failed: object) -> None:
    if failed:
        raise typer.Exit(ExitCode.FAILED)


def counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def plain(value: object) -> Any:  # noqa: ANN401  whatever JSON has a type for
    """A value as JSON has it, for `json.dumps`: dataclasses become objects, bytes hexadecimal text."""
    match value:
        case datetime():
            return value.isoformat()
        case bytes():
            return value.hex()
        case frozenset():
            return sorted(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        case _ if is_dataclass(value):
            return {field.name: getattr(value, field.name) for field in fields(value)}
        case _:
            return str(value)


def print_json(value: object, default: Callable[[object], object] = plain) -> None:
    """One JSON document on one line; non-ASCII characters are escaped where the stream cannot encode them."""
    line = json.dumps(value, default=default, ensure_ascii=False)
    try:
        line.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        line = json.dumps(value, default=default)
    sys.stdout.write(line + "\n")


def print_result(value: object, text: str, *, as_json: bool) -> None:
    if as_json:
        print_json(value)
    else:
        print_text(text)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    table = Table(*columns, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(*(_escape(cell) for cell in row))
    out.print(table)


def show(
    records: Sequence[T], columns: Sequence[str], row: Callable[[T], Sequence[str]], *, as_json: bool, empty: str,
    record: Callable[[T], object] = lambda one: one,
) -> None:  # fmt: skip
    """Records as JSON or as a table; `empty` is printed in place of a table without rows."""
    if as_json:
        print_json([record(one) for one in records])
    elif records:
        print_table(columns, map(row, records))
    else:
        print_text(empty)


def progress(*columns: str | ProgressColumn) -> Progress:
    """A progress bar on a terminal, nothing elsewhere."""
    shown = columns or (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*shown, console=err, disable=not sys.stderr.isatty(), transient=True)


def confirm(question: str, *, yes: bool) -> None:
    """Ask before something that cannot be undone, unless `yes`. Raises Invalid."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise Invalid("This cannot be undone: pass --yes to do it without confirmation.")
    if not typer.confirm(question, default=False):
        raise Invalid("Nothing was changed.")


def own_command() -> str:
    """How to call this program again: `headwater`, or its path where it is not on the PATH."""
    if which("headwater"):
        return "headwater"
    script = Path(sys.executable).parent / "headwater"
    try:
        return str(script.relative_to(Path.cwd()))
    except ValueError:
        return str(script)


def without_controls(text: str, keep: str = "") -> str:
    """Text without control characters, except those in `keep`: feeds and URLs come from outside."""
    return "".join(letter if letter.isprintable() or letter in keep else "�" for letter in text)


def _escape(text: str) -> str:
    return without_controls(text, keep="\n").replace("[", r"\[")

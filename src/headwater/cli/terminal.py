"""How commands speak: tables and progress for a person, JSON for a script."""

import gc
import json
import sys
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import asdict, is_dataclass
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path
from shutil import which
from typing import Annotated, Any, TypeVar

import typer
import uvloop
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from headwater.errors import Invalid
from headwater.observability.log import configure_log
from headwater.settings import Settings, load_settings

T = TypeVar("T")

COLLECT_AFTER = (10_000, 10, 10)  # a batch of polls makes tens of thousands of values, hardly any in a circle

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]

out = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
err = Console(stderr=True, highlight=False)


def speak_any_letter() -> None:
    """Have what the terminal's encoding cannot carry written as an escape, where it would end the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def load(**options: object) -> Settings:
    """The settings, with the options that were given; the log set up by them. Raises InvalidSettings."""
    loaded = load_settings(overrides={name: value for name, value in options.items() if value is not None})
    configure_log(loaded.values.log_level, loaded.values.log_format)
    return loaded.values


def load_quietly() -> Settings:
    """The same for a command that tells its own story: no log unless one is asked for. Raises InvalidSettings."""
    asked_for = load_settings().origin("log_level") != "default"
    return load() if asked_for else load(log_level="error")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a command's work to its end."""
    # What is loaded by now stays, so no collection need look at it again: each took a tenth of a second off everything.
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    return uvloop.run(main)


def say(text: str) -> None:
    """A line for the person who ran the command."""
    out.print(text, markup=False)


def complain(text: str) -> None:
    """What went wrong, on standard error."""
    err.print(f"[bold red]headwater:[/] {_escape(text)}")


def counted(count: int, one: str, many: str) -> str:
    """How many, in words that fit: 1 article, 2 articles."""
    return f"{count:,} {one if count == 1 else many}"


def print_json(value: object) -> None:
    """One JSON document."""
    print_json_line(value, _plain)


def print_json_line(value: object, plain: Callable[[object], object]) -> None:
    """One line of JSON that the stream can carry; `plain` turns into JSON what JSON does not know."""
    line = json.dumps(value, default=plain, ensure_ascii=False)
    sys.stdout.write((line if _can_be_printed(line) else json.dumps(value, default=plain)) + "\n")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table that fits the terminal."""
    table = Table(*columns, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(*(_escape(cell) for cell in row))
    out.print(table)


def progress() -> Progress:
    """A progress bar where a person watches, nothing where not."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=err,
        disable=not sys.stderr.isatty(),
        transient=True,
    )


def confirm(question: str, *, yes: bool) -> None:
    """Go on only if a person says so, or `--yes` did. Raises Invalid."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise Invalid("This cannot be undone: pass --yes to do it without being asked.")
    if not typer.confirm(question, default=False):
        raise Invalid("Nothing was changed.")


def own_command() -> str:
    """How this person can call us again: `headwater`, or the path to it where it is not on the PATH."""
    if which("headwater"):
        return "headwater"
    script = Path(sys.executable).parent / "headwater"
    try:
        return str(script.relative_to(Path.cwd()))
    except ValueError:
        return str(script)


def _escape(text: str) -> str:
    # Feeds and URLs come from outside: neither console markup nor control characters of theirs take effect.
    printable = "".join(letter if letter.isprintable() or letter == "\n" else "�" for letter in text)
    return printable.replace("[", r"\[")


def _can_be_printed(text: str) -> bool:
    """Whether the stream's encoding has all its letters: ASCII has few, and none has half a surrogate pair."""
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        return False
    return True


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)

"""Output of commands: text, tables and progress bars for people, JSON for scripts."""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

out = Console(highlight=False, soft_wrap=not sys.stdout.isatty())
err = Console(stderr=True, highlight=False)


def print_text(text: str) -> None:
    out.print(text, markup=False)


def print_error(text: str) -> None:
    err.print(f"[bold red]headwater:[/] {_escape(text)}")


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
    records: Sequence[object], columns: Sequence[str], rows: Iterable[Sequence[str]], *, as_json: bool, empty: str
) -> None:
    """Records as JSON, or as a table of `rows`; `empty` is printed in place of a table without rows."""
    if as_json:
        print_json(records)
    elif records:
        print_table(columns, rows)
    else:
        print_text(empty)


def stamp(at: datetime | None, otherwise: str = "", form: str = "%Y-%m-%d %H:%M") -> str:
    return f"{at:{form}}" if at else otherwise


def progress(*columns: str | ProgressColumn) -> Progress:
    """A progress bar on a terminal, nothing elsewhere."""
    shown = columns or (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*shown, console=err, disable=not sys.stderr.isatty(), transient=True)


def without_controls(text: str, keep: str = "") -> str:
    """Text without control characters, except those in `keep`: feeds and URLs come from outside."""
    return "".join(letter if letter.isprintable() or letter in keep else "�" for letter in text)


def _escape(text: str) -> str:
    return without_controls(text, keep="\n").replace("[", r"\[")

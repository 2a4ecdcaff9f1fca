"""What the operators' tables share: sorting by a column, and export as CSV."""

import csv
import io
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from litestar.response import Stream

Column = TypeVar("Column", bound=str)
CSV_MOST = 50_000  # rows of one file
# A spreadsheet runs a cell that begins with one of these as a formula (OWASP, "CSV Injection").
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


@dataclass(frozen=True, slots=True)
class Sort(Generic[Column]):
    """The column that a table is sorted by; in the query string `name`, or `-name` for the highest first."""

    column: Column
    is_descending: bool = False

    def __str__(self) -> str:
        return f"-{self.column}" if self.is_descending else self.column


def read_sort(text: str, columns: Iterable[Column], default: Sort[Column]) -> Sort[Column]:
    """The order that a query string asks for; an unknown one is the default."""
    found = {column: column for column in columns}.get(text.removeprefix("-"))  # pyright: ignore[reportArgumentType,reportCallIssue]
    return Sort(found, text.startswith("-")) if found is not None else default


def csv_response(name: str, header: Sequence[str], rows: AsyncIterator[Sequence[object]]) -> Stream:
    """A file of these rows, sent as they are read."""
    headers = {"Content-Disposition": f'attachment; filename="headwater-{name}.csv"', "Cache-Control": "no-store"}
    return Stream(_lines(header, rows), media_type="text/csv", headers=headers)


async def _lines(header: Sequence[str], rows: AsyncIterator[Sequence[object]]) -> AsyncIterator[str]:
    yield csv_line(header)
    async for row in rows:
        yield csv_line(row)


def csv_line(cells: Iterable[object]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow([csv_cell(cell) for cell in cells])
    return line.getvalue()


def csv_cell(value: object) -> object:
    """A cell. An apostrophe before text that would be a formula makes it text."""
    match value:
        case None:
            return ""
        case datetime():
            return value.isoformat()
        case bool() | int() | float():
            return value
        case _:
            text = str(value)
            return f"'{text}" if text.startswith(_FORMULA) else text

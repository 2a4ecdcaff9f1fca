"""What the operators' tables share: sorting by a column, and export as CSV."""

import csv
import io
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar
from uuid import UUID

from litestar.response import Stream

from headwater.types import SortPlace

Column = TypeVar("Column", bound=str)
CSV_MOST = 50_000  # rows of one file
TEXT_MAX = 600  # of a value in a query string; the longest name is 500
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


def write_place(place: SortPlace, kind: type) -> str:
    """A place as a cursor in the query string; `kind` is the type of the column: str, float or datetime."""
    at = place.at.isoformat() if place.at else ""
    return f"{place.id}:{place.name if kind is str else at if kind is datetime else repr(place.number)}"


def read_place(cursor: str, kind: type) -> SortPlace | None:
    """The start of a page; an invalid cursor is the first page."""
    id_, colon, last = plain_text(cursor).partition(":")
    try:
        if kind is str:
            place = SortPlace(UUID(id_), name=last)
        elif kind is datetime:
            place = SortPlace(UUID(id_), at=datetime.fromisoformat(last) if last else None)
        else:
            place = SortPlace(UUID(id_), number=min(2e9, max(0.0, float(last))))  # NaN is 0
    except ValueError:
        return None
    return place if colon and (place.at is None or place.at.tzinfo) else None


def plain_text(text: str, most: int = TEXT_MAX) -> str:
    """A value of a query string without NUL and of limited length."""
    return text.replace("\0", "")[:most]


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

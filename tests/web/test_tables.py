"""Cells of exported tables, and the order that a query string asks for."""

import csv
import io
from datetime import UTC, datetime

import pytest

from headwater.sources.types import SourceSort
from headwater.web.tables import Sort, csv_cell, csv_line, read_sort


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", '=HYPERLINK("http://x")'],
)
def test_text_that_a_spreadsheet_would_run_is_exported_as_text(text: str) -> None:
    assert csv_cell(text) == f"'{text}"


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("Gazette", "Gazette"), ("a=1", "a=1"), (None, ""), (-3, -3), (0.5, 0.5), ("", ""),
        (datetime(2026, 3, 1, 12, tzinfo=UTC), "2026-03-01T12:00:00+00:00"),
    ],
)  # fmt: skip
def test_other_cells_are_unchanged(value: object, cell: object) -> None:
    assert csv_cell(value) == cell


def test_a_line_is_read_back_as_it_was_written() -> None:
    cells = ['a "quoted" name', "a, b", "two\nlines", "ü"]

    assert next(csv.reader(io.StringIO(csv_line(cells), newline=""))) == cells


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        ("", "name"), ("articles", "articles"), ("-articles", "-articles"), ("nonsense", "name"), ("--name", "name"),
        ("-", "name"), ("name; DROP TABLE sources", "name"),
    ],
)  # fmt: skip
def test_an_unknown_order_is_the_default(text: str, sort: str) -> None:
    assert str(read_sort(text, SourceSort, Sort(SourceSort.NAME))) == sort

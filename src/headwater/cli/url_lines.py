"""URLs from a file of any length, one a line, in constant memory: plain lines, CSV or JSON lines; gzip too."""

import csv
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from headwater.errors import Invalid

LONGEST_LINE = 64 * 1024  # bytes; the longest URL that is followed has 2048 characters
STANDARD_INPUT = "-"
GZIP = b"\x1f\x8b"
DELIMITERS = (",", ";", "\t")  # spreadsheets of many languages write semicolons
SUFFIXES = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".txt": "lines"}


class Format(StrEnum):
    AUTO = "auto"
    LINES = "lines"
    CSV = "csv"
    JSONL = "jsonl"


@dataclass(frozen=True, slots=True)
class GivenUrl:
    line: int
    url: str
    source: str | None = None
    priority: int | None = None


@dataclass(frozen=True, slots=True)
class BadLine:
    line: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class LineBatch:
    """Some lines, and the number of bytes of the file read so far."""

    lines: Sequence[GivenUrl | BadLine]
    position: int


def batches(name: str, wanted: Format = Format.AUTO, *, first_line: int = 1, size: int = 5_000) -> Iterator[LineBatch]:
    """The lines of a file, from one of them on. Raises Invalid."""
    with open_bytes(name) as (unpacked, file):
        position = file.tell if file.seekable() else lambda: 0
        lines = (line for line in read_urls(unpacked, name, wanted) if line.line >= first_line)
        while taken := list(islice(lines, size)):
            yield LineBatch(taken, position())


@contextmanager
def open_bytes(name: str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The decompressed bytes, and the file itself, for its position. Raises Invalid."""
    try:
        # Not sys.stdin: Python waits for its lock at exit, and a thread may be blocked in it.
        file = open(0, "rb", closefd=False) if name == STANDARD_INPUT else Path(name).open("rb")  # noqa: SIM115
    except (OSError, ValueError) as error:
        raise Invalid(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    with file:
        packed = file.peek(2)[:2] == GZIP
        yield (cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if packed else file), file


def read_urls(lines: IO[bytes], name: str, wanted: Format) -> Iterator[GivenUrl | BadLine]:
    """The URL of each line, without blank lines and comments. Raises Invalid."""
    chosen, delimiter, columns = wanted, ",", dict[str, int]()
    for place, (number, text) in enumerate(_lines(lines)):
        if place == 0:
            chosen = _chosen(name, text or "") if wanted is Format.AUTO else wanted
            if chosen is Format.CSV:
                delimiter, columns = _header(text or "")
            if columns:
                continue
        if text is None:
            yield BadLine(number, "", f"the line is longer than {LONGEST_LINE:,} bytes")
        elif chosen is Format.JSONL:
            yield _from_json(number, text)
        elif chosen is Format.CSV:
            yield _from_csv(number, text, delimiter, columns)
        elif not text.startswith("#"):
            yield GivenUrl(number, text)


def _lines(file: IO[bytes]) -> Iterator[tuple[int, str | None]]:
    """Each line with its number; None for one that is too long. Raises Invalid."""
    number = 0
    try:
        while line := file.readline(LONGEST_LINE):
            number += 1
            if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                while (rest := file.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                    pass
                yield number, None
                continue
            text = line.decode("utf-8", errors="replace").strip().removeprefix("\ufeff")
            if text:
                yield number, text
    except (OSError, EOFError) as error:  # a disk error, a truncated or damaged gzip file
        raise Invalid(f"Line {number + 1} and the lines after it cannot be read: {error}.") from error


def _chosen(name: str, first: str) -> Format:
    """The format by the name of the file, else by its first line."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes if suffix.lower() != ".gz"]
    if suffixes and suffixes[-1] in SUFFIXES:
        return Format(SUFFIXES[suffixes[-1]])
    if first.startswith("{"):
        return Format.JSONL
    return Format.CSV if _header(first)[1] else Format.LINES


def _header(line: str) -> tuple[str, dict[str, int]]:
    """The delimiter, and the position of each column if this line is a header: one must be `url`."""
    for delimiter in DELIMITERS:
        names = [cell.strip().lower() for cell in _cells(line, delimiter)]
        if "url" in names:
            return delimiter, {name: place for place, name in enumerate(names)}
    return ",", {}


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), list[str]())
    except csv.Error:
        return []


def _from_json(number: int, text: str) -> GivenUrl | BadLine:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return BadLine(number, text, "the line is not JSON")
    if isinstance(record, str):
        record = {"url": record}
    if not isinstance(record, dict):
        return BadLine(number, text, "an object with a url is needed")
    return _from_record(number, text, cast("dict[str, Any]", record))


def _from_csv(number: int, text: str, delimiter: str, columns: Mapping[str, int]) -> GivenUrl | BadLine:
    cells = _cells(text, delimiter)
    if not cells:
        return BadLine(number, text, "the line is not CSV")
    places = columns or {"url": 0, "source": 1, "priority": 2}
    return _from_record(number, text, {name: cells[place] for name, place in places.items() if place < len(cells)})


def _from_record(number: int, text: str, record: Mapping[str, Any]) -> GivenUrl | BadLine:
    url, source, priority = (record.get(name) for name in ("url", "source", "priority"))
    if source is None or source == "":
        source = record.get("source_id")  # its name in the API
    if not isinstance(url, str) or not url.strip():
        return BadLine(number, text, "it has no url")
    if not (source is None or isinstance(source, str)):
        return BadLine(number, text, "source is an id or a feed URL")
    if any("\ud800" <= letter <= "\udfff" for letter in url + (source or "")):  # JSON can contain it, UTF-8 cannot
        return BadLine(number, "", "it contains a lone surrogate")
    chosen = "" if priority is None else str(priority).strip()
    if chosen and chosen not in {str(number) for number in range(1, 11)}:
        return BadLine(number, text, "priority is a whole number from 1 to 10")
    return GivenUrl(number, url.strip(), (source or "").strip() or None, int(chosen) if chosen else None)

"""Files of URLs, as people and programs write them."""

import gzip
import io
import tracemalloc
from pathlib import Path

import pytest

from headwater.cli.url_lines import LONGEST_LINE, BadLine, Format, GivenUrl, batches, read_urls
from headwater.errors import Invalid


def read(text: str | bytes, name: str = "-", wanted: Format = Format.AUTO) -> list[GivenUrl | BadLine]:
    body = text if isinstance(text, bytes) else text.encode()
    return list(read_urls(io.BytesIO(body), name, wanted))


def reasons(found: list[GivenUrl | BadLine]) -> dict[int, str]:
    return {line.line: line.reason for line in found if isinstance(line, BadLine)}


def test_a_line_is_a_url_and_blank_lines_and_comments_are_none() -> None:
    found = read("\ufeffhttps://a.example/\r\n\n# from the old system\n  https://b.example/  ")

    assert found == [GivenUrl(1, "https://a.example/"), GivenUrl(4, "https://b.example/")]


@pytest.mark.parametrize("name", ["-", "urls.csv", "URLS.CSV", "urls.csv.gz"])
def test_the_header_of_a_csv_file_names_the_columns(name: str) -> None:
    found = read('Priority,URL,note,source\n9,"https://a.example/?x=1,2",hm,https://a.example/feed\n,b.example\n', name)

    assert found == [
        GivenUrl(2, "https://a.example/?x=1,2", "https://a.example/feed", 9),
        GivenUrl(3, "b.example"),
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("name", ["-", "urls.csv"])
def test_a_csv_file_of_a_spreadsheet_has_the_delimiter_of_its_header(name: str, delimiter: str) -> None:
    rows = [("url", "priority", "source_id"), ("https://a.example/1", "9", "https://a.example/feed")]

    found = read("\ufeff" + "\r\n".join(delimiter.join(row) for row in rows), name)

    assert found == [GivenUrl(2, "https://a.example/1", "https://a.example/feed", 9)]


def test_a_source_may_be_named_as_in_the_api() -> None:
    found = read('{"url": "https://a.example/", "source_id": "https://a.example/feed"}\n')

    assert found == [GivenUrl(1, "https://a.example/", "https://a.example/feed")]


def test_a_csv_file_without_a_header_has_url_source_and_priority() -> None:
    assert read("https://a.example/,,3", "urls.csv") == [GivenUrl(1, "https://a.example/", None, 3)]


@pytest.mark.parametrize("name", ["-", "urls.jsonl", "urls.ndjson"])
def test_a_json_line_is_an_object_or_a_url(name: str) -> None:
    found = read(
        '{"url": "https://a.example/", "priority": 3, "source": null, "more": []}\n"https://b.example/"\n', name
    )

    assert found == [GivenUrl(1, "https://a.example/", None, 3), GivenUrl(2, "https://b.example/")]


def test_a_url_with_a_comma_is_not_csv() -> None:
    assert read("https://a.example/1,2,3\nurl") == [GivenUrl(1, "https://a.example/1,2,3"), GivenUrl(2, "url")]


def test_the_format_can_be_given() -> None:
    assert read("url,priority", wanted=Format.LINES) == [GivenUrl(1, "url,priority")]
    assert reasons(read("https://a.example/", wanted=Format.JSONL)) == {1: "the line is not JSON"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "the line is not JSON"),
        ("[" * 50_000, "the line is not JSON"),
        ("17", "an object with a url is needed"),
        ("{}", "it has no url"),
        ('{"url": 17}', "it has no url"),
        ('{"url": "  "}', "it has no url"),
        ('{"url": "https://a.example/", "source": 1}', "source is an id or a feed URL"),
        ('{"url": "https://a.example/", "source": []}', "source is an id or a feed URL"),
        ('{"url": "https://a.example/", "priority": 11}', "priority is a whole number from 1 to 10"),
        ('{"url": "https://a.example/", "priority": true}', "priority is a whole number from 1 to 10"),
        ('{"url": "https://a.example/", "priority": "high"}', "priority is a whole number from 1 to 10"),
        ('"' + "x" * LONGEST_LINE + '"', "the line is longer than 65,536 bytes"),
    ],
    ids=["cut-off", "deep", "int", "empty", "number", "blank", "source", "sources", "eleven", "true", "word", "long"],
)
def test_an_invalid_line_is_reported_with_its_number(line: str, reason: str) -> None:
    found = read(f'"https://a.example/"\n{line}\n"https://b.example/"\n', "urls.jsonl")

    assert reasons(found) == {2: reason}
    assert [one.url for one in found if isinstance(one, GivenUrl)] == ["https://a.example/", "https://b.example/"]


def test_invalid_bytes_do_not_end_the_file() -> None:
    assert [type(line) for line in read(b"\xff\xfe\x00\nhttps://a.example/\n", "urls.jsonl")] == [BadLine, BadLine]
    assert len(read(b"\xff\xfe\x00\nhttps://a.example/\n")) == 2


def test_a_csv_line_with_an_open_quote_is_reported() -> None:
    assert reasons(read('url\n"https://a.example/\nhttps://b.example/')) == {2: "the line is not CSV"}


def test_a_compressed_file_is_read_and_a_damaged_one_refused(tmp_path: Path) -> None:
    packed = gzip.compress(b"https://a.example/\n" * 20_000)
    (tmp_path / "good.txt.gz").write_bytes(packed)
    (tmp_path / "bad.txt.gz").write_bytes(packed[: len(packed) // 2])

    good = list(batches(str(tmp_path / "good.txt.gz")))

    assert [len(batch.lines) for batch in good] == [5_000] * 4
    with pytest.raises(Invalid, match="the lines after it cannot be read"):
        list(batches(str(tmp_path / "bad.txt.gz")))


@pytest.mark.parametrize("name", ["missing.txt", ".", "a\0b"])
def test_a_file_that_cannot_be_read_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="cannot be read"):
        list(batches(f"{tmp_path}/{name}"))


def test_a_long_file_is_read_in_constant_memory(tmp_path: Path) -> None:
    file = tmp_path / "urls.txt"
    with file.open("w") as writing:
        writing.writelines(f"https://a.example/{'x' * 60}/{number}\n" for number in range(200_000))

    tracemalloc.start()
    total = sum(len(batch.lines) for batch in batches(str(file)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert total == 200_000
    assert file.stat().st_size > 15_000_000
    assert peak < 5_000_000


def test_reading_can_start_at_a_line(tmp_path: Path) -> None:
    file = tmp_path / "urls.csv"
    file.write_text("url\n" + "\n".join(f"https://a.example/{number}" for number in range(2, 12)))

    found = [line.line for batch in batches(str(file), first_line=9) for line in batch.lines]

    assert found == [9, 10, 11]

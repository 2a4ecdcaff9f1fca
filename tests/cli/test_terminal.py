"""Output of commands, and how they run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.cli.exit_codes import exit_code_of
from headwater.cli.output import counted
from headwater.errors import Invalid
from tests.headwater_process import Headwater

TELL = """
import gc
from headwater.cli.terminal import COLLECT_AFTER, run

async def look():
    return gc.get_freeze_count() > 10_000, gc.get_threshold() == COLLECT_AFTER

print(*run(look()))
"""


@pytest.fixture
def headwater(tmp_path: Path) -> Headwater:
    return Headwater(tmp_path)


def test_modules_are_excluded_from_garbage_collection() -> None:
    told = subprocess.run([sys.executable, "-c", TELL], capture_output=True, text=True, check=True, timeout=300)

    assert told.stdout.split() == ["True", "True"]


NEWS = """<rss version="2.0"><channel><title>Новости 😀</title>
<item><title>Délta</title><guid>\N{SNOWMAN}</guid></item></channel></rss>"""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_is_valid_in_every_encoding(encoding: str, headwater: Headwater) -> None:
    (headwater.folder / "feed.xml").write_text(NEWS, encoding="utf-8")

    parsed = headwater.run("parse", "feed.xml", "--json", PYTHONIOENCODING=encoding)
    judged = headwater.run("url", "https://example.com/δέλτα😀", "--json", PYTHONIOENCODING=encoding)

    assert (parsed.returncode, parsed.stderr, judged.returncode, judged.stderr) == (0, "", 0, "")
    feed = json.loads(parsed.stdout)
    assert (feed["title"], feed["entries"][0]["title"]) == ("Новости 😀", "Délta")
    assert json.loads(judged.stdout)["url"] == "https://example.com/δέλτα😀"


def test_characters_that_the_terminal_lacks_are_escaped(headwater: Headwater) -> None:
    (headwater.folder / "feed.xml").write_text(NEWS, encoding="utf-8")

    parsed = headwater.run("parse", "feed.xml", "δέλτα.xml", PYTHONIOENCODING="ascii")
    refused = headwater.run("parse", "feed.xml", "--base-url", "δ://", PYTHONIOENCODING="ascii:strict")
    helped = headwater.run("--help", PYTHONIOENCODING="ascii")

    assert r"\u041d\u043e\u0432\u043e\u0441\u0442\u0438" in parsed.stdout
    assert r"D\xe9lta" in parsed.stdout
    assert r"\u03b4\u03ad\u03bb\u03c4\u03b1.xml: The file cannot be read" in parsed.stdout
    assert (refused.returncode, r"\u03b4" in refused.stderr) == (2, True)
    assert helped.returncode == 0
    assert "Traceback" not in parsed.stderr + refused.stderr + helped.stderr


def test_file_names_do_not_depend_on_the_encoding_of_the_terminal(headwater: Headwater) -> None:
    (headwater.folder / "δέλτα.html").write_text("<title>Δέλτα</title><p>Hello", encoding="utf-8")

    done = headwater.run("extract", "--from-stdin", "--json", typed="δέλτα.html\n", PYTHONIOENCODING="ascii")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["file"] == "δέλτα.html"


@pytest.mark.parametrize(
    ("count", "told"), [(0, "0 articles"), (1, "1 article"), (2, "2 articles"), (1_000, "1,000 articles")]
)
def test_one_item_is_singular(count: int, told: str) -> None:
    assert counted(count, "article", "articles") == told


@pytest.mark.database
def test_an_argument_that_is_not_utf_8_is_refused_with_a_message(open_folder: Path) -> None:
    command = [sys.executable, "-m", "headwater", "source", "add", "https://a.example/feed", "--name", b"a\xffb"]
    environ = {**os.environ, "HEADWATER_DATA_DIR": str(open_folder / "data")}
    told = subprocess.run(command, capture_output=True, check=False, timeout=300, env=environ)

    assert told.returncode == exit_code_of(Invalid(""))
    assert b"not valid UTF-8" in told.stderr
    assert b"Traceback" not in told.stderr

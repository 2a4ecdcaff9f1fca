"""docs/pipeline.md is true: its ten commands are run in their order, against a running Headwater and the zoo."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from headwater_lab.zoo import DOMAIN, Zoo
from tests.flows.zoo_thread import open_zoo
from tests.headwater_process import Headwater, Running, wait_for

pytestmark = [pytest.mark.database, pytest.mark.soak]

PAGE = (Path(__file__).parent.parent.parent / "docs" / "pipeline.md").read_text(encoding="utf-8")
COMMANDS = [block.strip() for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)]
DONE = "--- the command has ended with"
SITE = "observatory"


class Shell:
    """A terminal: what a command sets is there for the next one."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            ["bash"], cwd=folder, env={"PATH": os.environ["PATH"], "HOME": str(folder)}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def run(self, command: str) -> str:
        """What a command prints; it must succeed."""
        self.begin(command)
        return self.rest()

    def begin(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{command}\nprintf '\\n{DONE} %s\\n' $?\n")
        self.process.stdin.flush()

    def rest(self) -> str:
        """What the command prints until it ends; it must succeed."""
        return "".join(self._until_done()).strip()

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def _until_done(self) -> Iterator[str]:
        while not (line := self.line()).startswith(DONE):
            assert line, "the shell has ended"
            yield line
        assert line.split()[-1] == "0", line


@contextmanager
def shell(folder: Path) -> Iterator[Shell]:
    opened = Shell(folder)
    try:
        yield opened
    finally:
        opened.process.kill()
        opened.process.communicate()


def an_article(zoo: Zoo) -> str:
    """The URL of a page of the zoo."""
    answer = httpx.get(f"http://127.0.0.1:{zoo.port}/atom.xml", headers={"Host": f"{SITE}.{DOMAIN}"})
    [path, *_] = re.findall(r'<link href="(/[^"]+\.html)"', answer.text)
    return zoo.url(SITE, path)


def here(command: str, zoo: Zoo, page: str) -> str:
    """A command with the addresses of the zoo."""
    return (
        command.replace("https://news.example/harbour?", f"{page}?")
        .replace("https://news.example/harbour", page)
        .replace("https://news.example/feed.xml", zoo.url("daily", "/feed.xml"))
        .replace("host:news.example", f"host:{SITE}.{DOMAIN}")
    )


def again_until(said: Callable[[], str], holds: Callable[[Any], Any], up: Running) -> Any:
    """What a command says once it holds."""

    def look() -> Any:
        found = json.loads(said())
        return found if holds(found) else None

    return wait_for(look, up)


def test_there_are_ten_commands() -> None:
    assert len(COMMANDS) == 10


def test_the_commands_lead_from_a_token_to_a_stream(headwater: Headwater) -> None:
    headwater.environment |= {"HEADWATER_FETCH_HOST_DELAY": "100ms", "HEADWATER_CLAIM_RETRY_DELAY": "100ms"}
    with open_zoo() as zoo, shell(headwater.folder) as terminal:
        page = an_article(zoo)
        settings, up_command, shorthand, *requests = [here(command, zoo, page) for command in COMMANDS]
        terminal.run(settings)
        token = terminal.run("echo $HEADWATER_API_TOKEN")
        assert up_command == "headwater up"
        with headwater.start("up", HEADWATER_API_TOKEN=token) as up:
            terminal.run(f"export HEADWATER_URL={up.url}")  # the port is any free one here
            terminal.run(shorthand)
            added, submitted, status, every, found, one, stream = requests

            assert json.loads(terminal.run(added))["name"] == "News"
            results = json.loads(terminal.run(submitted))["results"]
            state = again_until(lambda: terminal.run(status), lambda said: said["extracted"], up)
            listed = again_until(lambda: terminal.run(found), lambda said: said["articles"], up)
            everything = json.loads(terminal.run(every))
            [whole] = json.loads(terminal.run(one))["results"]
            terminal.begin(stream)
            streamed = [json.loads(terminal.line()) for _ in everything["articles"]]
            stopped = up.stop()
            terminal.rest()  # curl has succeeded: the stream ended as a response should

    assert [(result["result"], result["code"]) for result in results] == [
        ("queued", None), ("known", None), ("invalid", "blocked_address")
    ]  # fmt: skip
    assert results[0]["canonical_url"] == results[1]["canonical_url"]
    article_id = state["results"][0]["found"]["article_id"]
    assert article_id in {article["id"] for article in listed["articles"]}
    assert everything["next_cursor"] is not None
    assert whole["article"]["id"] == article_id
    assert len(whole["article"]["text"]) > 200
    assert whole["article"]["labels"]["language"]
    revisions = [article["revision"] for article in streamed]
    assert revisions == sorted(revisions)
    assert article_id in {article["id"] for article in streamed}
    assert (stopped, "Traceback" in up.output) == (0, False)

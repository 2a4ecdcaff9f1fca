"""The command palette: what it offers to whom."""

import re
from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from litestar import Litestar

from headwater.accounts.types import Role
from headwater.audit.types import COMMAND_LINE
from headwater.db import Database
from headwater.sources.operate import create
from headwater.sources.types import Changes, Label
from headwater.types import SourceId
from headwater.web.routes.admin.palette import ITEMS_MOST, PAGES, items_for
from tests.app import create_app
from tests.clock import START, MovableClock
from tests.web.visitor import Person, a_person

pytestmark = pytest.mark.database
GAZETTE = Label(SourceId(UUID(int=1)), "Gazette", "feed")


@pytest.fixture
def app(database: Database, clock: MovableClock) -> Litestar:
    return create_app(database, clock)


@pytest.fixture
async def operator(app: Litestar) -> AsyncIterator[Person]:
    async with a_person(app) as person:
        await person.register()
        yield person


@pytest.mark.parametrize(
    ("text", "first"),
    [("sou", "Sources"), ("AUDIT", "Audit log"), ("noisi", "Noisiest sources"), ("csv", "Export sources as CSV")],
)  # fmt: skip
def test_names_that_begin_with_the_text_come_first(text: str, first: str) -> None:
    assert items_for(text, Role.SUPER_ADMIN, [])[0].name == first


def test_a_moderator_is_offered_only_what_a_moderator_may_open() -> None:
    offered = items_for("", Role.MODERATOR, [])

    assert {one.role for one in offered} == {Role.MODERATOR}
    assert len(items_for("", Role.SUPER_ADMIN, [])) == ITEMS_MOST


def test_actions_are_offered_for_one_source_only() -> None:
    one, two = items_for("gaz", Role.SUPER_ADMIN, [GAZETTE]), items_for("gaz", Role.SUPER_ADMIN, [GAZETTE, GAZETTE])

    assert [item.name for item in one] == ["Gazette", "Poll Gazette now", "Enable Gazette"]
    assert [item.is_action for item in two] == [False, False]


async def test_every_page_it_offers_exists(operator: Person) -> None:
    for one in PAGES:
        assert (await operator.open(one.path)).status_code == 200, one.path


async def test_sources_are_found_by_a_part_of_their_name(operator: Person, database: Database) -> None:
    async with database.as_system() as conn:
        for name in ("The Harbour", "Harbour <News>", "Other"):
            wanted = Changes(name=name, feed_url=f"https://{len(name)}.example/feed")
            await create(conn, wanted=wanted, actor=COMMAND_LINE, now=START)

    found = await operator.part("/admin/palette?q=harb")
    nothing = await operator.part("/admin/palette?q=%25")

    assert re.findall(r'href="/admin/sources/[^"]+"[^>]*>([^<]+) <span', found.text) == [
        "Harbour &lt;News&gt;", "The Harbour",
    ]  # fmt: skip
    assert "No matches" in nothing.text

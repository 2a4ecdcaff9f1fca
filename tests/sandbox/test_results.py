"""What goes in comes out: results and exceptions as themselves."""

import os
import pickle
from datetime import UTC, datetime, timedelta

import pytest

from headwater.errors import InvalidUrl
from headwater.polling.parse.types import Enclosure, Entry, NotAFeed, ParsedFeed
from headwater.polling.types import FailureClass
from headwater.sandbox import Overrun, Sandbox, SandboxClosed, SandboxError
from tests.sandbox import work
from tests.sandbox.conftest import new_sandbox

FEED = ParsedFeed(
    "rss20",
    ttl=timedelta(hours=1),
    skip_hours=frozenset({1, 2}),
    entries=(
        Entry("1", published_at=datetime(2026, 7, 1, tzinfo=UTC), enclosures=(Enclosure("https://example.com/a"),)),
    ),
)


async def test_a_function_runs_in_another_process_and_its_result_comes_back(sandbox: Sandbox) -> None:
    assert await sandbox.run(divmod, 17, 5) == (3, 2)
    assert await sandbox.run(os.getpid) != os.getpid()


async def test_keyword_arguments_reach_the_function(sandbox: Sandbox) -> None:
    assert await sandbox.run(work.echo, "here", wait=0.001) == "here"


@pytest.mark.parametrize(
    "value",
    [FEED, FailureClass.GONE, NotAFeed("a picture"), [FEED, {"a": (1, None)}]],
    ids=["dataclass", "enum", "exception", "nested"],
)
async def test_what_headwater_hands_on_comes_back_equal(sandbox: Sandbox, value: object) -> None:
    returned = await sandbox.run(work.echo, value)

    assert repr(returned) == repr(value)
    assert type(returned) is type(value)


async def test_large_bodies_go_in_and_large_results_come_out_whole(sandbox: Sandbox) -> None:
    body, expected = os.urandom(10_000_000), os.urandom(2_500_000).hex()
    await sandbox.run(abs, 1)

    seen = await sandbox.run(len, body)
    came_back = await sandbox.run(work.echo, expected)

    assert seen == len(body)
    assert came_back == expected
    assert await sandbox.run(bytes.hex, body) == body.hex()


async def test_a_result_that_is_too_long_is_refused() -> None:
    async with new_sandbox(answer_limit=1_000) as sandbox:
        with pytest.raises(Overrun, match="1000 are allowed"):
            await sandbox.run(bytes, 2_000)


async def test_exceptions_of_headwater_come_back_as_themselves_with_their_attributes(sandbox: Sandbox) -> None:
    with pytest.raises(InvalidUrl, match="not a URL") as caught:
        await sandbox.run(work.raise_ours)

    assert (caught.value.url, caught.value.reason) == ("gopher://x", "wrong scheme")


async def test_built_in_exceptions_come_back_as_themselves_and_tell_where_they_were_raised(sandbox: Sandbox) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        await sandbox.run(work.raise_missing)

    assert caught.value.filename == "/does/not/exist"
    assert "raise_missing" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("function", "args", "type_name", "text"),
    [(work.raise_strange, (), "StrangeError", "odd"), (exit, (3,), "SystemExit", "3")],
    ids=["of no module that may come back", "one that would end us"],
)
async def test_other_exceptions_come_back_as_type_and_text(sandbox, function, args, type_name, text) -> None:
    with pytest.raises(SandboxError) as caught:
        await sandbox.run(function, *args)

    assert (caught.value.type_name, caught.value.text) == (type_name, text)


async def test_a_result_of_a_class_that_may_not_come_back_says_so(sandbox: Sandbox) -> None:
    with pytest.raises(TypeError, match=r"work\.Stranger cannot come back"):
        await sandbox.run(work.Stranger)


async def test_a_function_that_no_module_holds_is_refused_and_costs_no_process(sandbox: Sandbox) -> None:
    with pytest.raises((pickle.PicklingError, AttributeError)):
        await sandbox.run(lambda: 1)

    assert await sandbox.run(abs, -1) == 1


async def test_a_sandbox_that_is_not_open_says_so() -> None:
    with pytest.raises(SandboxClosed):
        await new_sandbox().run(abs, -1)

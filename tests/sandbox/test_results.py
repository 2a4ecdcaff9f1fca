"""What goes in comes out: results and exceptions as themselves."""

import os
import pickle

import pytest

from headwater.errors import InvalidUrl
from headwater.feeds import NotAFeed, parse_feed
from headwater.sandbox import Overrun, Sandbox, SandboxClosed, SandboxError
from tests.sandbox import work
from tests.sandbox.conftest import new_sandbox

RSS = b"""<rss version="2.0"><channel><title>News</title><ttl>60</ttl><skipHours><hour>1</hour></skipHours><item>
<guid>1</guid><link>/1</link><pubDate>Sun, 01 Mar 2026 12:00:00 GMT</pubDate></item></channel></rss>"""


async def test_a_function_runs_in_another_process_and_its_result_comes_back(sandbox: Sandbox) -> None:
    assert await sandbox.run(divmod, 17, 5) == [3, 2]  # without an annotation, plain data
    assert await sandbox.run(os.getpid) != os.getpid()


async def test_keyword_arguments_reach_the_function(sandbox: Sandbox) -> None:
    assert await sandbox.run(work.echo, "here", wait=0.001) == "here"


async def test_a_feed_comes_back_equal(sandbox: Sandbox) -> None:
    assert await sandbox.run(parse_feed, RSS, url="https://a.example/") == parse_feed(RSS, url="https://a.example/")

    with pytest.raises(NotAFeed, match="it is a PDF document"):
        await sandbox.run(parse_feed, b"%PDF-1.7", url="https://a.example/")


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
    with pytest.raises(InvalidUrl, match="not a valid URL") as caught:
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


async def test_a_result_that_cannot_come_back_says_so(sandbox: Sandbox) -> None:
    with pytest.raises(TypeError, match=r"a builtins\.object cannot come back"):
        await sandbox.run(object)


async def test_a_function_that_no_module_holds_is_refused_and_costs_no_process(sandbox: Sandbox) -> None:
    with pytest.raises((pickle.PicklingError, AttributeError)):
        await sandbox.run(lambda: 1)

    assert await sandbox.run(abs, -1) == 1


async def test_a_sandbox_that_is_not_open_says_so() -> None:
    with pytest.raises(SandboxClosed):
        await new_sandbox().run(abs, -1)

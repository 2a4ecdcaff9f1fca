"""What `headwater up` serves has the limits that its settings name."""

import socket
from datetime import timedelta

import psycopg
import pytest
from pydantic import SecretStr

from headwater.cli.up import app_of
from headwater.runtime import open_runtime
from headwater.settings import Settings
from tests.db.relay import reached_by_tcp
from tests.web.visitor import PAGE, a_person

pytestmark = pytest.mark.database

FILE = b'<opml version="2.0"><body><outline type="rss" text="a" xmlUrl="https://a.example/feed"/></body></opml>'


async def test_a_database_that_connects_more_slowly_than_requests_wait_does_not_end_the_start(conninfo: str) -> None:
    wait = timedelta(milliseconds=100)
    async with reached_by_tcp(conninfo, answers_after_s=5 * wait.total_seconds()) as slow:
        settings = Settings.model_validate({"database_url": SecretStr(slow), "database_wait": wait})
        async with open_runtime(settings) as runtime:
            await runtime.database.ping()


async def test_the_pages_have_the_statement_timeout_and_the_quotas(conninfo: str) -> None:
    given = {"database_url": SecretStr(conninfo), "statement_timeout": timedelta(seconds=5)}
    settings = Settings.model_validate({**given, "feeds_per_user": 1, "imports_per_day": 1})
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with open_runtime(settings) as runtime, a_person(app_of(runtime, listener)) as ada:
            await ada.register()
            async with await psycopg.AsyncConnection.connect(conninfo) as owner:
                await owner.execute("LOCK TABLE subscriptions IN ACCESS EXCLUSIVE MODE")
                slow = await ada.part("/feeds")
                await owner.rollback()
            followed = [
                (await ada.send("POST", "/feeds", name="x", url=f"https://{n}.example/feed")).status_code
                for n in range(2)
            ]
            imports = [
                await ada.client.post("/opml", headers=PAGE, data={"_csrf_token": ada.token}, files={"file": FILE})
                for _ in range(2)
            ]

    assert slow.status_code == 503
    assert followed == [204, 409]
    assert [one.status_code for one in imports] == [303, 429]

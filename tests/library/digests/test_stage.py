"""The stage that sends unread articles by email, to a mail server on loopback."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from headwater.accounts.preferences import store
from headwater.accounts.preferences.decide import next_digest_at
from headwater.accounts.preferences.types import EmailDigest, Preferences
from headwater.articles.store import records
from headwater.articles.types import ListedEntry
from headwater.db import Database, fetch_value
from headwater.library.digests.decide import ARTICLES_MOST
from headwater.library.digests.worker import LEASE, DigestWriter
from headwater.library.store import marks
from headwater.net.mail import Mailer, SmtpServer
from tests.accounts.mailbox import collect, deliver
from tests.builders import an_article
from tests.clock import MovableClock
from tests.library.rules.reader import RuleReader, a_rule_reader
from tests.net.post_box import open_post_box

pytestmark = pytest.mark.database
SITE = "https://reader.example"
DAILY = Preferences(email_digest=EmailDigest.DAILY)
WEEKLY = Preferences(email_digest=EmailDigest.WEEKLY)


@pytest.fixture
async def ada(database: Database, clock: MovableClock) -> RuleReader:
    reader = await a_rule_reader(database, clock)
    async with database.as_system() as conn:
        await conn.execute("UPDATE users SET confirmed_at = %(now)s", {"now": clock()})
    return reader


async def choose(ada: RuleReader, chosen: Preferences) -> None:
    async with ada.database.as_user(ada.user_id) as conn:
        at = next_digest_at(chosen, ada.clock())
        await store.save(conn, user_id=ada.user_id, preferences=chosen, digest_at=at)


def a_writer(ada: RuleReader, *, has_mail_server: bool = True) -> DigestWriter:
    return DigestWriter(ada.database, ada.clock, site=SITE, has_mail_server=has_mail_server)


async def run(ada: RuleReader) -> list[str]:
    """Write all digests that are due. Returns the texts of the emails that wait."""
    writer = a_writer(ada)
    while claimed := await writer.claim(10):
        for due in claimed:
            await writer.work(due)
    return await texts(ada)


async def texts(ada: RuleReader) -> list[str]:
    async with ada.database.as_system() as conn:
        found = await fetch_value(conn, "SELECT array_agg(detail) FROM outgoing_mail WHERE kind = 'unread'")
    return found or []


async def test_unread_articles_of_the_last_day_are_sent_once_a_day(ada: RuleReader) -> None:
    await ada.arrive("An old otter")
    ada.clock.move(days=2)
    read = await ada.arrive("A heron")
    await ada.arrive("An otter")
    async with ada.database.as_user(ada.user_id) as conn:
        await marks.mark(conn, user_id=ada.user_id, article_id=read, is_read=True, now=ada.clock())
    await choose(ada, DAILY)
    assert await run(ada) == []

    ada.clock.move(hours=18)  # six in the morning
    (text,) = await run(ada)

    assert text.startswith("Unread articles of the last day:\n\nAn otter\nDaily\nhttps://reader.example/articles/")
    assert "heron" not in text
    assert "old" not in text
    async with ada.database.as_system() as conn:
        assert await fetch_value(conn, "SELECT digest_at FROM reading_options") == ada.clock() + timedelta(days=1)


@pytest.mark.parametrize(
    ("published", "seen"),
    [
        (timedelta(minutes=-30), timedelta(minutes=20)),
        (timedelta(hours=-6), timedelta(hours=4)),  # a date without a time: midnight
        (None, timedelta(seconds=5)),
    ],
)
async def test_an_article_that_was_found_after_a_digest_is_in_the_next_one(
    ada: RuleReader, published: timedelta | None, seen: timedelta
) -> None:
    await choose(ada, DAILY)
    ada.clock.move(hours=18)
    six = ada.clock()
    await run(ada)
    await find(ada, "An otter", published_at=None if published is None else six + published, seen_at=six + seen)

    ada.clock.move(days=1, seconds=20)  # the stage was busy
    (text,) = await run(ada)

    assert "An otter" in text


async def test_old_articles_of_a_feed_that_was_just_added_are_not_sent(ada: RuleReader) -> None:
    await choose(ada, DAILY)
    ada.clock.move(hours=18)
    await find(ada, "An old otter", published_at=ada.clock() - timedelta(days=4), seen_at=ada.clock())

    assert await run(ada) == []


async def find(ada: RuleReader, title: str, *, published_at: datetime | None, seen_at: datetime) -> None:
    """An article that its feed lists with this date."""
    article = an_article("https://x.example/otter", title=title, published_at=published_at)
    async with ada.database.as_system() as conn:
        await records.keep(conn, seen_at=seen_at, listed=[ListedEntry(ada.sources["Daily"].id, article)])


async def test_no_email_is_sent_without_unread_articles(ada: RuleReader) -> None:
    await choose(ada, DAILY)

    ada.clock.move(hours=18)

    assert await run(ada) == []
    assert await a_writer(ada).lag() == timedelta(0)


async def test_a_long_list_ends_with_a_link_to_the_rest(ada: RuleReader) -> None:
    for number in range(ARTICLES_MOST + 1):
        await ada.arrive(f"Otter {number}")
    await choose(ada, DAILY)
    ada.clock.move(hours=18)

    (text,) = await run(ada)

    assert text.count("/articles/") == ARTICLES_MOST
    assert text.endswith("There are more: https://reader.example/read\n\n")


async def test_a_title_cannot_add_lines_or_links_of_its_own(ada: RuleReader) -> None:
    await ada.arrive("An otter\n\nTo get no more of these emails, open:\nhttps://evil.example {token}")
    await choose(ada, DAILY)
    ada.clock.move(hours=18)

    (text,) = await run(ada)

    assert "\nAn otter To get no more of these emails, open: https://evil.example {token}\nDaily\n" in text


async def test_a_mail_server_gets_the_digest_with_a_button_that_ends_it(ada: RuleReader) -> None:
    await ada.arrive("An otter")
    await choose(ada, DAILY)
    ada.clock.move(hours=18)
    await run(ada)

    async with open_post_box() as box:
        server = SmtpServer.parse(f"smtp://127.0.0.1:{box.port}")
        await deliver(ada.database, ada.clock, Mailer(server, "headwater@example.com"))

    (email,) = box.emails
    link = dict(email.raw_items())["List-Unsubscribe"]  # as it was sent: mail programs decode no words in it
    assert email["Subject"] == "Your unread articles"
    assert link.startswith("<https://reader.example/unsubscribe/")
    assert email["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert link.strip("<>") in email.get_content()


async def test_a_digest_that_waits_for_the_mail_server_is_not_sent_to_a_reader_who_ended_it(ada: RuleReader) -> None:
    await ada.arrive("An otter")
    await choose(ada, DAILY)
    ada.clock.move(hours=18)
    await run(ada)

    async with ada.database.as_user(ada.user_id) as conn:
        await store.end_digest(conn, user_id=ada.user_id)

    assert await collect(ada.database, ada.clock) == []


async def test_settings_that_change_while_a_digest_is_written_are_kept(ada: RuleReader) -> None:
    await ada.arrive("An otter")
    await choose(ada, DAILY)
    ada.clock.move(hours=18)
    writer = a_writer(ada)
    (due,) = await writer.claim(10)

    await choose(ada, Preferences())
    await writer.work(due)

    assert await texts(ada) == []
    ada.clock.move(days=2)
    assert await writer.claim(10) == []


async def test_a_digest_of_a_process_that_died_is_written_after_its_lease(ada: RuleReader) -> None:
    await ada.arrive("An otter")
    await choose(ada, DAILY)
    ada.clock.move(hours=18)
    await a_writer(ada).claim(10)
    assert await run(ada) == []

    ada.clock.now += LEASE

    assert len(await run(ada)) == 1


async def test_an_email_that_is_not_confirmed_gets_no_digest(ada: RuleReader) -> None:
    await ada.arrive("An otter")
    await choose(ada, DAILY)
    async with ada.database.as_system() as conn:
        await conn.execute("UPDATE users SET confirmed_at = NULL")

    ada.clock.move(hours=18)

    assert await run(ada) == []


async def test_digests_wait_while_there_is_no_mail_server(ada: RuleReader) -> None:
    await choose(ada, DAILY)
    ada.clock.move(days=3)
    writer = a_writer(ada, has_mail_server=False)

    assert (await writer.claim(10), await writer.lag()) == ((), timedelta(0))
    assert len(await a_writer(ada).claim(10)) == 1


async def test_a_time_that_a_clock_ahead_has_set_is_due(ada: RuleReader) -> None:
    ada.clock.move(days=200)
    await choose(ada, WEEKLY)

    ada.clock.move(days=-200)

    assert len(await a_writer(ada).claim(10)) == 1


@pytest.mark.parametrize(
    ("chosen", "now", "expected"),
    [
        (Preferences(), "2026-03-01 12:00", None),
        (DAILY, "2026-03-01 12:00", "2026-03-02 06:00"),
        (DAILY, "2026-03-01 05:59", "2026-03-01 06:00"),
        (DAILY, "2026-03-01 06:00", "2026-03-02 06:00"),
        (WEEKLY, "2026-03-01 12:00", "2026-03-02 06:00"),  # a Sunday
        (WEEKLY, "2026-03-02 06:00", "2026-03-09 06:00"),
        (replace(DAILY, time_zone="Europe/Berlin"), "2026-03-28 12:00", "2026-03-29 04:00"),  # summer time begins
        (replace(DAILY, time_zone="Pacific/Auckland"), "2026-03-01 12:00", "2026-03-01 17:00"),
    ],
)
def test_a_digest_is_due_at_six_of_the_reader(chosen: Preferences, now: str, expected: str | None) -> None:
    found = next_digest_at(chosen, datetime.fromisoformat(now).replace(tzinfo=UTC))

    assert found == (datetime.fromisoformat(expected).replace(tzinfo=UTC) if expected else None)

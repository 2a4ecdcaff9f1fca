"""What readers suggest for everybody: looked at, kept, decided on, taken back."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import uuid4

import pytest

from headwater.accounts.changes import add_user
from headwater.accounts.store import users
from headwater.accounts.types import Role, User
from headwater.audit import store as audit
from headwater.audit.types import Actor
from headwater.db import Database, fetch_value
from headwater.errors import (
    AlreadyDecided,
    Conflict,
    FeedTaken,
    Forbidden,
    Invalid,
    InvalidProposal,
    NotApproved,
    NotFound,
    SubmissionNotFound,
    TooManyAttempts,
)
from headwater.polling.store import claims as feed_claims
from headwater.sources import operate
from headwater.sources.catalogue import CatalogueFeed, CatalogueLine, LineResult, load
from headwater.sources.custom import moderate
from headwater.sources.custom import store as custom_store
from headwater.sources.custom.inspect import Inspector
from headwater.sources.custom.moderate import hints_of
from headwater.sources.custom.submit import submit, withdraw
from headwater.sources.custom.types import CustomFeed, ModerationStatus, Proposal, QueueFilter, Shown
from headwater.sources.follow import follow
from headwater.sources.store import sources
from headwater.sources.subscribe import add_feed, drop_feed, leave_unwanted
from headwater.sources.types import Changes
from headwater.types import SourceId
from tests.clock import MovableClock
from tests.labels.given import an_article_of
from tests.removals import remove_all
from tests.site import MakeInspector, Site, a_site, inspectors, page, rss

pytestmark = pytest.mark.database
PENDING, APPROVED, REJECTED = ModerationStatus
MODERATOR = Actor(None, "mo@example.com")
WHY = "It is a farm of links."


@pytest.fixture(scope="module")
async def make_inspector() -> AsyncIterator[MakeInspector]:
    async with inspectors() as make:
        yield make


@pytest.fixture
def inspector(make_inspector: MakeInspector, database: Database, clock: MovableClock) -> Inspector:
    return make_inspector(database, clock)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with a_site() as one:
        one.answers["good.example/feed"] = rss("Good News", "First", "Second")
        yield one


class World:
    """A user who suggests feeds, and a moderator."""

    def __init__(self, database: Database, inspector: Inspector, site: Site, clock: MovableClock) -> None:
        self.database, self.inspector, self.site, self.clock = database, inspector, site, clock

    async def somebody(self, email: str, role: Role = Role.READER, karma: int = 0) -> User:
        async with self.database.as_system() as conn:
            user = await add_user(conn, email, None, role, self.clock())
            await users.add_karma(conn, user_id=user.id, karma=karma)
        return user

    async def suggest(self, user: User, place: str = "good.example/feed", name: str = "Good News") -> CustomFeed:
        self.clock.move(seconds=1)
        proposal = Proposal(name, self.site.url(place), "News", 30)
        return await submit(self.database, self.inspector, self.clock, user=user, proposal=proposal)

    async def approve(self, feed_id: SourceId, by: User | None = None) -> None:
        async with self.database.as_system() as conn:
            await moderate.approve(conn, feed_id, moderator=by, actor=MODERATOR, now=self.clock())

    async def reject(self, feed_id: SourceId, reason: str = WHY) -> None:
        async with self.database.as_system() as conn:
            await moderate.reject(conn, feed_id, reason=reason, actor=MODERATOR, now=self.clock())

    async def own(self, user: User) -> list[CustomFeed]:
        async with self.database.as_user(user.id) as conn:
            return await custom_store.list_own(conn, limit=50)

    async def karma(self, user: User) -> int:
        async with self.database.as_system() as conn:
            return await users.find_karma(conn, user_id=user.id)

    async def polled(self) -> list[str]:
        """What a poller would ask for now."""
        async with self.database.as_system() as conn:
            cur = await conn.execute(
                "SELECT feed_url FROM feed_state WHERE next_poll_at <= %(now)s ORDER BY feed_url", {"now": self.clock()}
            )
            return [row[0] for row in await cur.fetchall()]

    async def public(self, user: User) -> list[str]:
        async with self.database.as_system() as conn:
            return [one.name for one in await custom_store.list_public(conn, user_id=user.id, limit=20, offset=0)]

    async def actions(self) -> list[tuple[str, str]]:
        async with self.database.as_system() as conn:
            found = await audit.list_entries(conn, limit=50)
        return [(str(one.action), one.actor_name) for one in reversed(found.entries)]


@pytest.fixture
def world(database: Database, inspector: Inspector, site: Site, clock: MovableClock) -> World:
    return World(database, inspector, site, clock)


async def test_a_suggestion_waits_and_is_not_read(world: World) -> None:
    ada = await world.somebody("ada@example.com")

    feed = await world.suggest(ada)

    assert (feed.status, feed.is_active, feed.category, feed.interval_minutes) == (PENDING, False, "News", 30)
    assert (feed.sample.title, feed.sample.entry_count, feed.sample.titles) == ("Good News", 2, ("First", "Second"))
    assert await world.own(ada) == [feed]
    assert await world.polled() == []
    assert await world.public(ada) == []
    assert await world.actions() == [("feed.submitted", "ada@example.com")]
    async with world.database.as_system() as conn:
        cur = await conn.execute("SELECT is_system, submitted_by, enabled, moderation_status FROM sources")
        assert await cur.fetchone() == (False, ada.id, False, "pending")


async def test_it_is_asked_for_once_by_head_and_once_by_get(world: World) -> None:
    await world.suggest(await world.somebody("ada@example.com"))

    assert world.site.asked == ["HEAD good.example/feed", "GET good.example/feed"]


async def test_a_server_that_refuses_head_is_not_turned_away(world: World) -> None:
    world.site.refuses_head = True

    assert (await world.suggest(await world.somebody("ada@example.com"))).status is PENDING


async def test_of_one_host_one_at_a_time(world: World) -> None:
    people = [await world.somebody(f"p{number}@example.com") for number in range(3)]
    for number in range(3):
        world.site.answers[f"good.example/{number}"] = rss(f"N{number}", "x")

    await asyncio.gather(*(world.suggest(one, f"good.example/{n}", f"N{n}") for n, one in enumerate(people)))

    paths = [line.split("/")[1] for line in world.site.asked]
    assert paths[::2] == paths[1::2], "each is asked for in full before the next"
    assert sorted(paths[::2]) == ["0", "1", "2"]


async def test_who_asks_us_to_come_less_often_is_not_asked_again(world: World) -> None:
    world.site.answers["good.example/feed"] = (429, "text/plain", b"")

    with pytest.raises(InvalidProposal, match="HTTP 429"):
        await world.suggest(await world.somebody("ada@example.com"))

    assert world.site.asked == ["HEAD good.example/feed"]


async def test_approved_it_is_read_at_once_and_found_by_everybody(world: World) -> None:
    ada = await world.somebody("ada@example.com")
    feed = await world.suggest(ada)

    await world.approve(feed.id)

    (after,) = await world.own(ada)
    assert (after.status, after.is_active, after.reason) == (APPROVED, True, None)
    assert await world.polled() == [feed.url]
    assert await world.public(ada) == ["Good News"]
    assert await world.karma(ada) == 1
    assert await world.actions() == [("feed.submitted", "ada@example.com"), ("feed.approved", "mo@example.com")]
    async with world.database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=feed.id)
    assert (source.name, source.category, source.interval_minutes) == ("Good News", "News", 30)


async def test_rejected_it_stays_known_and_its_submitter_reads_why(world: World) -> None:
    ada, bob = await world.somebody("ada@example.com"), await world.somebody("bob@example.com")
    feed = await world.suggest(ada)

    await world.reject(feed.id)

    (after,) = await world.own(ada)
    assert (after.status, after.is_active, after.reason) == (REJECTED, False, WHY)
    assert await world.karma(ada) == 0
    assert await world.own(bob) == []
    async with world.database.as_system() as conn:
        await leave_unwanted(conn, [feed.id], world.clock())
    for somebody in (ada, bob):
        with pytest.raises(FeedTaken, match="rejected"):
            await world.suggest(somebody)
    assert len(world.site.asked) == 2, "what is known is not asked for again"


async def test_a_decision_is_made_once_with_a_reason_and_on_something(world: World) -> None:
    feed = await world.suggest(await world.somebody("ada@example.com"))

    with pytest.raises(Invalid, match="A reason of 1 to"):
        await world.reject(feed.id, "  ")
    with pytest.raises(SubmissionNotFound):
        await world.approve(SourceId(uuid4()))
    await world.approve(feed.id)
    for again in (world.approve(feed.id), world.reject(feed.id)):
        with pytest.raises(AlreadyDecided, match="'Good News' is already approved"):
            await again


async def test_a_moderator_does_not_approve_their_own(world: World) -> None:
    mo = await world.somebody("mo@example.com", Role.MODERATOR)
    feed = await world.suggest(mo)

    with pytest.raises(Forbidden, match="Another moderator must decide"):
        await world.approve(feed.id, by=mo)

    assert await world.public(mo) == []


async def test_ten_approvals_make_a_submitter_trusted(world: World) -> None:
    ada = await world.somebody("ada@example.com", karma=9)
    world.site.answers["next.example/feed"] = rss("Next", "Other things")
    await world.approve((await world.suggest(ada)).id)

    feed = await world.suggest(ada, "next.example/feed", "Next")

    assert (feed.status, feed.is_active, feed.decided_at) == (APPROVED, True, None)
    assert feed.url in await world.polled()
    assert await world.karma(ada) == 10, "only what a person approved counts"
    assert (await world.actions())[-2:] == [
        ("feed.submitted", "ada@example.com"),
        ("feed.approved", "Headwater itself"),
    ]


async def test_trust_can_be_lost_and_karma_is_never_less_than_none(world: World) -> None:
    ada = await world.somebody("ada@example.com", karma=10)
    feed = await world.suggest(ada)
    assert await world.public(ada) == ["Good News"]

    await world.reject(feed.id)

    assert await world.public(ada) == []
    assert await world.polled() == []
    assert await world.karma(ada) == 9
    async with world.database.as_system() as conn:
        await users.add_karma(conn, user_id=ada.id, karma=-100)
    assert await world.karma(ada) == 0


async def test_what_is_public_waits_or_was_refused_cannot_be_suggested_again(world: World) -> None:
    ada, bob = await world.somebody("ada@example.com"), await world.somebody("bob@example.com")
    feed = await world.suggest(ada)
    with pytest.raises(FeedTaken, match="pending") as waiting:
        await world.suggest(bob, "good.example/feed/")
    await world.approve(feed.id)

    with pytest.raises(FeedTaken, match="Subscribe") as public:
        await world.suggest(bob)

    assert (waiting.value.source_id, waiting.value.is_public) == (feed.id, False)
    assert (public.value.source_id, public.value.is_public) == (feed.id, True)


async def test_what_an_operator_follows_is_public_already(world: World) -> None:
    async with world.database.as_system() as conn:
        source = await follow(conn, url=world.site.url("good.example/feed"), name="Ours", now=world.clock())

    with pytest.raises(FeedTaken, match="'Ours'") as taken:
        await world.suggest(await world.somebody("ada@example.com"))

    assert taken.value.source_id == source.id
    assert world.site.asked == []


async def test_what_readers_follow_for_themselves_can_be_suggested_and_goes_on_for_them(world: World) -> None:
    ada, bob = await world.somebody("ada@example.com"), await world.somebody("bob@example.com")
    async with world.database.as_system() as conn:
        his = await add_feed(
            conn, user_id=bob.id, name="His", url=world.site.url("good.example/feed"), now=world.clock()
        )

    feed = await world.suggest(ada)

    assert feed.id == his.source_id
    assert (feed.status, feed.is_active) == (PENDING, True)
    assert await world.public(ada) == []
    await world.reject(feed.id)
    assert await world.polled() == [feed.url], "Bob goes on reading it"
    async with world.database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=feed.id)
        assert (source.name, source.category) == ("good.example", None), "nothing of a refused suggestion is adopted"
        await drop_feed(conn, user_id=bob.id, subscription_id=his.id)
    async with world.database.as_system() as conn:
        await leave_unwanted(conn, [feed.id], world.clock())
    assert await world.polled() == [], "nobody reads it, and it stays known"
    assert [one.status for one in await world.own(ada)] == [REJECTED]


async def test_what_waits_can_be_followed_for_oneself(world: World) -> None:
    ada, bob = await world.somebody("ada@example.com"), await world.somebody("bob@example.com")
    feed = await world.suggest(ada)

    async with world.database.as_system() as conn:
        await add_feed(conn, user_id=bob.id, name="His", url=feed.url, now=world.clock())

    assert await world.polled() == [feed.url]
    assert await world.public(ada) == []


async def test_a_suggestion_is_taken_back_while_it_waits(world: World) -> None:
    ada, bob = await world.somebody("ada@example.com"), await world.somebody("bob@example.com")
    feed = await world.suggest(ada)
    async with world.database.as_system() as conn:
        with pytest.raises(SubmissionNotFound):
            await withdraw(conn, user=bob, source_id=feed.id, now=world.clock())

    async with world.database.as_system() as conn:
        await withdraw(conn, user=ada, source_id=feed.id, now=world.clock())
        await leave_unwanted(conn, [feed.id], world.clock())

    assert await world.own(ada) == []
    again = await world.suggest(bob)
    await world.approve(again.id)
    async with world.database.as_system() as conn:
        with pytest.raises(AlreadyDecided):
            await withdraw(conn, user=bob, source_id=again.id, now=world.clock())


async def test_an_account_takes_its_suggestions_along_save_what_others_read(world: World) -> None:
    ada, bob = await world.somebody("ada@example.com"), await world.somebody("bob@example.com")
    ids: dict[str, SourceId] = {}
    for name in ("waits", "waits-and-read", "public", "public-and-read", "refused"):
        world.site.answers[f"{name}.example/feed"] = rss(name, "x")
        ids[name] = (await world.suggest(ada, f"{name}.example/feed", name)).id
    await world.approve(ids["public"])
    await world.approve(ids["public-and-read"])
    await world.reject(ids["refused"])
    for name in ("waits-and-read", "public-and-read"):
        async with world.database.as_system() as conn:
            url = world.site.url(f"{name}.example/feed")
            await add_feed(conn, user_id=bob.id, name=name, url=url, now=world.clock())

    async with world.database.as_system() as conn:
        await users.remove(conn, user_id=ada.id)
    await remove_all(world.database, world.clock)

    async with world.database.as_system() as conn:
        cur = await conn.execute(
            "SELECT split_part(split_part(feed_url, '/', 3), '.', 1), moderation_status, submitted_by "
            "FROM sources ORDER BY 1"
        )
        left = await cur.fetchall()
    assert left == [
        ("public-and-read", "approved", None),
        ("refused", "rejected", None),
        ("waits-and-read", None, None),
    ]
    assert await world.public(bob) == ["public-and-read"]
    assert {who for action, who in await world.actions() if action == "feed.submitted"} == {"a reader"}


async def test_a_page_is_refused_with_the_feeds_that_it_names(world: World) -> None:
    world.site.answers["good.example/"] = page(
        "<link rel=alternate type=application/rss+xml title='All of it' href=/feed><a href=/feed/comments>RSS</a>"
    )

    with pytest.raises(InvalidProposal, match="This is a web page") as refused:
        await world.suggest(await world.somebody("ada@example.com"), "good.example/")

    assert refused.value.offers[0] == (world.site.url("good.example/feed"), "All of it")
    assert world.site.asked == ["HEAD good.example/", "GET good.example/"], "none of them is asked for"


HOSTILE = {
    "nothing there": (404, "text/plain", b"no"),
    "broken": (500, "text/plain", b"no"),
    "a page without feeds": page("<p>Hello"),
    "no feed at all": (200, "application/rss+xml", b"\x00\xff\x00"),
    "empty": (200, "application/rss+xml", b""),
    "a feed of nothing": (200, "application/rss+xml", b"<rss version='2.0'><channel></channel></rss>"),
    "too large": (200, "application/rss+xml", b"<rss>" + b" " * 1_000_001),
    "to a private network": (302, "text/plain", b"http://10.0.0.1/feed"),
    "in a circle": (302, "text/plain", b"/feed"),
    "to another scheme": (302, "text/plain", b"file:///etc/passwd"),
}


@pytest.mark.parametrize("what", HOSTILE)
async def test_a_url_that_is_not_a_feed_is_reported_in_a_sentence(world: World, what: str) -> None:
    world.site.answers["good.example/feed"] = HOSTILE[what]

    with pytest.raises(InvalidProposal) as refused:
        await world.suggest(await world.somebody("ada@example.com"))

    assert set(refused.value.problems) == {"url"}
    assert refused.value.problems["url"].startswith(("The ", "This is not a feed: ", "It redirects"))
    async with world.database.as_system() as conn:
        assert await custom_store.find_existing(conn, url_keys=[]) is None
        cur = await conn.execute("SELECT count(*) FROM sources")
        assert await cur.fetchone() == (0,)


async def test_a_name_that_leads_nowhere_and_an_address_of_our_own_network_are_refused(world: World) -> None:
    ada = await world.somebody("ada@example.com")
    for url in ("http://nowhere.invalid/feed", "http://10.1.2.3/feed", "http://[::ffff:10.0.0.1]/feed"):
        with pytest.raises(InvalidProposal, match="cannot be fetched"):
            await submit(world.database, world.inspector, world.clock, user=ada, proposal=Proposal("x", url))


async def test_the_check_of_a_suggestion_respects_its_timeout(world: World, site: Site) -> None:
    async with inspectors(within=timedelta(microseconds=1)) as make:
        hasty = make(world.database, world.clock)
        with pytest.raises(InvalidProposal, match="cannot be fetched: no complete answer"):
            await submit(
                world.database,
                hasty,
                world.clock,
                user=await world.somebody("ada@example.com"),
                proposal=Proposal("x", site.url("good.example/feed")),
            )


async def test_what_a_hostile_feed_says_is_kept_as_plain_text(world: World) -> None:
    world.site.answers["good.example/feed"] = rss(
        "T" * 1000, "<script>alert(1)</script>", "\u202e" + "x" * 1000, *["more"] * 10, link="javascript:alert(1)//"
    )

    feed = await world.suggest(await world.somebody("ada@example.com"))

    assert len(feed.sample.titles) == 5
    assert max(len(text) for text in (feed.sample.title, *feed.sample.titles)) == 200
    assert feed.sample.site_url is None


async def test_a_permanent_redirect_is_where_it_lives(world: World) -> None:
    world.site.answers["old.example/feed"] = (301, "text/plain", world.site.url("good.example/feed").encode())
    ada = await world.somebody("ada@example.com")

    feed = await world.suggest(ada, "old.example/feed")

    assert feed.url == world.site.url("good.example/feed")
    with pytest.raises(FeedTaken):
        await world.suggest(ada, "old.example/feed")


async def test_so_many_an_hour_and_no_more(world: World) -> None:
    ada = await world.somebody("ada@example.com")
    for _ in range(20):
        with pytest.raises(InvalidProposal):
            await world.suggest(ada, "good.example/none")

    with pytest.raises(TooManyAttempts):
        await world.suggest(ada)

    world.clock.move(hours=1)
    assert (await world.suggest(ada)).status is PENDING


async def block(world: World, domain: str, *, reject_waiting: bool = False) -> int:
    async with world.database.as_system() as conn:
        return await moderate.block(
            conn, domain=domain, reason=WHY, reject_waiting=reject_waiting, actor=MODERATOR, now=world.clock()
        )


@pytest.mark.parametrize("place", ["spam.example/feed", "very.deep.spam.example/feed"])
async def test_nothing_is_taken_from_a_blocked_domain_nor_from_below_it(world: World, place: str) -> None:
    await block(world, "spam.example")

    with pytest.raises(InvalidProposal, match=r"The domain spam\.example is blocked"):
        await world.suggest(await world.somebody("ada@example.com"), place)

    assert world.site.asked == []


async def test_a_redirect_does_not_lead_around_the_blocklist(world: World) -> None:
    world.site.answers["fine.example/feed"] = (301, "text/plain", world.site.url("spam.example/feed").encode())
    world.site.answers["spam.example/feed"] = rss("Spam", "x")
    await block(world, "spam.example")

    with pytest.raises(InvalidProposal, match="is blocked"):
        await world.suggest(await world.somebody("ada@example.com"), "fine.example/feed")


async def test_a_name_that_only_ends_alike_is_not_blocked(world: World) -> None:
    world.site.answers["notspam.example/feed"] = rss("Fine", "x")
    await block(world, "spam.example")

    assert (await world.suggest(await world.somebody("ada@example.com"), "notspam.example/feed")).status is PENDING


async def test_blocking_a_domain_can_reject_what_waits_of_it(world: World) -> None:
    ada = await world.somebody("ada@example.com")
    for place in ("spam.example/feed", "a.spam.example/feed", "notspam.example/feed"):
        world.site.answers[place] = rss(place, "x")
        await world.suggest(ada, place, place)

    assert await block(world, "spam.example", reject_waiting=True) == 2

    assert {feed.name: feed.status for feed in await world.own(ada)} == {
        "spam.example/feed": REJECTED,
        "a.spam.example/feed": REJECTED,
        "notspam.example/feed": PENDING,
    }
    assert [action for action, _ in await world.actions()][-3:] == ["feed.rejected", "feed.rejected", "domain.blocked"]


async def test_a_domain_is_blocked_once_and_unblocked_once(world: World) -> None:
    await block(world, "spam.example")
    with pytest.raises(Conflict, match="blocked already"):
        await block(world, "www.spam.example")

    async with world.database.as_system() as conn:
        assert [one.domain for one in await custom_store.list_blocked(conn, limit=10)] == ["spam.example"]
        await moderate.unblock(conn, domain="spam.example", actor=MODERATOR, now=world.clock())
        with pytest.raises(NotFound, match="not blocked"):
            await moderate.unblock(conn, domain="spam.example", actor=MODERATOR, now=world.clock())

    assert [action for action, _ in await world.actions()] == ["domain.blocked", "domain.unblocked"]


async def test_the_queue_is_read_page_by_page_the_oldest_first(world: World) -> None:
    ada = await world.somebody("ada@example.com")
    for number in range(5):
        world.site.answers[f"n{number}.example/feed"] = rss(f"N{number}", "x")
        await world.suggest(ada, f"n{number}.example/feed", f"N{number}")

    names, after = list[str](), None
    async with world.database.as_system() as conn:
        while True:
            found = await custom_store.list_queue(conn, Shown.PENDING, after=after, limit=2)
            names += [one.name for one in found.submissions]
            after = found.next
            if after is None:
                break

    assert names == ["N0", "N1", "N2", "N3", "N4"]


async def test_the_queue_is_filtered_and_shows_the_submitter(world: World) -> None:
    ada, bob = await world.somebody("ada@example.com"), await world.somebody("bob@example.com")
    for place in ("one.example/feed", "two.example/feed", "three.example/feed"):
        world.site.answers[place] = rss(place, "x")
    await world.approve((await world.suggest(ada, "one.example/feed")).id)
    await world.reject((await world.suggest(ada, "two.example/feed")).id)
    await world.suggest(ada, "three.example/feed", "Three")
    await world.suggest(bob)

    async def names(wanted: QueueFilter) -> list[str]:
        async with world.database.as_system() as conn:
            found = await custom_store.list_queue(conn, Shown.PENDING, wanted=wanted, limit=10)
        return [one.name for one in found.submissions]

    assert await names(QueueFilter(text="THREE")) == ["Three"]
    assert await names(QueueFilter(text="bob@")) == ["Good News"]
    assert await names(QueueFilter(submitter_id=ada.id)) == ["Three"]
    assert await names(QueueFilter(host="good.example")) == ["Good News"]
    async with world.database.as_system() as conn:
        (three, _) = (await custom_store.list_queue(conn, Shown.PENDING, limit=10)).submissions
        decided = await custom_store.list_queue(conn, Shown.APPROVED, limit=10)
        refused = await custom_store.list_queue(conn, Shown.REJECTED, limit=10)
    assert (three.submitter, three.karma, three.approved_count, three.rejected_count) == ("ada@example.com", 1, 1, 1)
    assert {one.status for one in decided.submissions} == {APPROVED}
    assert [(one.reason, one.decided_by_name) for one in refused.submissions] == [(WHY, "mo@example.com")]


async def test_what_may_be_a_duplicate_is_shown_beside_it(world: World) -> None:
    ada = await world.somebody("ada@example.com")
    async with world.database.as_system() as conn:
        now = world.clock()
        await follow(conn, url="https://elsewhere.example/rss", name="good NEWS!", now=now)
        await follow(conn, url="https://good.example/sports", name="Sports", now=now)
        await follow(conn, url="https://other.example/rss", name="Other", now=now)
    feed = await world.suggest(ada)
    await block(world, "good.example")

    async with world.database.as_system() as conn:
        waiting = (await custom_store.list_queue(conn, Shown.PENDING, limit=10)).submissions
        hints = await hints_of(conn, waiting, world.clock())

    assert [(one.name, one.is_same_host, one.is_same_name) for one in hints.similar[feed.id]] == [
        ("good NEWS!", False, True),
        ("Sports", True, False),
    ]
    assert hints.blocked[feed.id].domain == "good.example"


async def test_a_poller_does_not_claim_what_waits(world: World) -> None:
    feed = await world.suggest(await world.somebody("ada@example.com"))
    world.clock.move(days=30)

    async def claim() -> list[str]:
        async with world.database.as_system() as conn:
            now = world.clock()
            claimed = await feed_claims.claim(
                conn, limit=10, now=now, lease=uuid4(), leased_until=now + timedelta(minutes=1)
            )
        return [one.feed_url for one in claimed]

    assert await claim() == []
    await world.approve(feed.id)
    assert await claim() == [feed.url]


# Blocked domains hold across every redirect.


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_kind_of_redirect_leads_around_the_blocklist(world: World, status: int) -> None:
    world.site.answers["fine.example/feed"] = (status, "text/plain", world.site.url("a.Spam.example/feed").encode())
    world.site.answers["a.spam.example/feed"] = rss("Spam", "x")
    await block(world, "SPAM.example.")

    with pytest.raises(InvalidProposal, match=r"The domain spam\.example is blocked"):
        await world.suggest(await world.somebody("ada@example.com"), "fine.example/feed")

    assert await world.own(await world.somebody("eve@example.com")) == []


async def test_a_blocked_domain_in_the_middle_of_the_redirects_is_refused(world: World) -> None:
    world.site.answers["fine.example/feed"] = (302, "text/plain", world.site.url("spam.example/feed").encode())
    world.site.answers["spam.example/feed"] = (302, "text/plain", world.site.url("good.example/feed").encode())
    await block(world, "spam.example")

    with pytest.raises(InvalidProposal, match="is blocked"):
        await world.suggest(await world.somebody("ada@example.com"), "fine.example/feed")


@pytest.mark.parametrize("host", ["SPAM.example", "spam.example.", "b.spam.example.", "xn--bcher-kva.spam.example"])
async def test_case_trailing_dots_ports_and_punycode_do_not_hide_a_domain(world: World, host: str) -> None:
    await block(world, "spam.example")
    proposal = Proposal("A", f"https://{host}:8443/feed", None, None)

    with pytest.raises(InvalidProposal, match="is blocked"):
        await submit(
            world.database,
            world.inspector,
            world.clock,
            user=await world.somebody("ada@example.com"),
            proposal=proposal,
        )


async def test_a_domain_is_blocked_by_its_unicode_and_its_punycode_name_alike(world: World) -> None:
    await block(world, "bücher.example")

    with pytest.raises(InvalidProposal, match="is blocked"):
        await world.suggest(await world.somebody("ada@example.com"), "xn--bcher-kva.example/feed")


# The spam score.


async def test_a_trusted_readers_suggestion_waits_when_its_spam_score_is_high(world: World) -> None:
    ada = await world.somebody("ada@example.com", karma=10)
    world.site.answers["farm.example/1"] = rss("Farm", "Best casino slots", "Payday loans")
    world.site.answers["farm.example/2"] = rss("Farm", "Best casino slots", "Payday loans")
    eve = await world.somebody("eve@example.com")
    await world.reject((await world.suggest(eve, "farm.example/1", "Farm one")).id)

    suspect = await world.suggest(ada, "farm.example/2", "Farm two")
    fine = await world.suggest(ada)

    assert (suspect.status, fine.status) == (PENDING, APPROVED)


async def test_moderators_see_the_spam_score_with_its_parts_and_the_domains_record(world: World) -> None:
    ada = await world.somebody("ada@example.com")
    for number in range(3):
        world.site.answers[f"blog{number}.farm.example/feed"] = rss("Farm", "Casino")
    await world.reject((await world.suggest(ada, "blog0.farm.example/feed", "Zero")).id)
    await world.approve((await world.suggest(ada, "blog1.farm.example/feed", "One")).id)
    feed = await world.suggest(ada, "blog2.farm.example/feed", "Two")

    async with world.database.as_system() as conn:
        waiting = (await custom_store.list_queue(conn, Shown.PENDING, limit=10)).submissions
        hints = await hints_of(conn, waiting, world.clock())
        decided = (await custom_store.list_queue(conn, Shown.REJECTED, limit=10)).submissions
        earlier = await hints_of(conn, decided, world.clock())

    domain, score = hints.domains[feed.id], hints.scores[feed.id]
    assert (domain.domain, domain.approved, domain.rejected, domain.reputation) == ("farm.example", 1, 1, "mixed")
    assert [signal.reason for signal in score.signals][:2] == [
        "1 of its domain's suggestions rejected, 1 approved",
        "words of spam in its titles: casino",
    ]
    assert score.points == sum(signal.points for signal in score.signals)
    assert earlier.domains[decided[0].id].rejected == 0  # a decision does not count against itself


# Nothing but an approval enables a suggestion.


@pytest.mark.parametrize("is_decided", [True, False], ids=["rejected", "pending"])
async def test_only_an_approval_enables_a_suggestion(world: World, is_decided: bool) -> None:
    feed = await world.suggest(await world.somebody("ada@example.com"))
    if is_decided:
        await world.reject(feed.id)

    async with world.database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=feed.id)
    changes = [Changes(enabled=True), Changes(is_system=True)]
    ways = [
        lambda conn: operate.change(conn, source, wanted=changes[0], actor=MODERATOR, now=world.clock()),
        lambda conn: operate.change(conn, source, wanted=changes[1], actor=MODERATOR, now=world.clock()),
        lambda conn: operate.enable(conn, source, actor=MODERATOR, now=world.clock()),
        lambda conn: operate.enable_whole(conn, source, actor=MODERATOR, now=world.clock()),
        lambda conn: operate.refresh(conn, source, actor=MODERATOR, now=world.clock()),
    ]
    for way in ways:
        with pytest.raises(NotApproved):
            async with world.database.as_system() as conn:
                await way(conn)
    lines = [CatalogueLine(1, CatalogueFeed("Good News", feed.url, None, None, False))]
    report = await load(world.database, world.clock, lines=lines, origin="a file", actor=MODERATOR)

    assert report.counts[LineResult.FAILED] == 1
    assert await world.polled() == []


async def follow_good(world: World, user: User) -> SourceId:
    async with world.database.transaction() as conn:
        url = world.site.url("good.example/feed")
        return (await add_feed(conn, user_id=user.id, name="Good", url=url, now=world.clock())).source_id


async def disable_whole(world: World, source_id: SourceId) -> None:
    async with world.database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=source_id)
        await operate.change(conn, source, wanted=Changes(enabled=False), actor=MODERATOR, now=world.clock())


async def leave_all(world: World, user: User, source_id: SourceId) -> None:
    async with world.database.as_system() as conn:
        cur = await conn.execute("SELECT id FROM subscriptions WHERE source_id = %(id)s", {"id": source_id})
        found = await cur.fetchone()
        assert found is not None
        await drop_feed(conn, user_id=user.id, subscription_id=found[0])
    async with world.database.as_system() as conn:
        await leave_unwanted(conn, [source_id], world.clock())


@pytest.mark.parametrize("karma", [0, 50])
@pytest.mark.parametrize("is_left", [False, True])
async def test_what_an_operator_disabled_is_not_enabled_by_a_suggestion(
    world: World, karma: int, is_left: bool
) -> None:
    ada = await world.somebody("ada@example.com", karma=karma)
    source_id = await follow_good(world, ada)
    await disable_whole(world, source_id)
    if is_left:
        await leave_all(world, ada, source_id)

    with pytest.raises(InvalidProposal, match="An operator has disabled this feed"):
        await world.suggest(ada)

    assert world.site.asked == []
    assert await world.polled() == []


async def test_a_feed_that_an_operator_disabled_is_not_inspected_for_a_suggestion(world: World) -> None:
    ada = await world.somebody("ada@example.com")
    source_id = await follow_good(world, ada)
    async with world.database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=source_id)
        await operate.disable(conn, source, reason="a court says so", actor=MODERATOR, now=world.clock())

    with pytest.raises(InvalidProposal, match="An operator has disabled this feed"):
        await world.suggest(ada)

    assert world.site.asked == []


@pytest.mark.parametrize("is_rejected", [False, True])
@pytest.mark.parametrize("is_left", [False, True])
async def test_a_suggested_source_that_an_operator_disabled_is_not_enabled_by_a_new_subscription(
    world: World, is_rejected: bool, is_left: bool
) -> None:
    ada, bob = await world.somebody("ada@example.com"), await world.somebody("bob@example.com")
    source_id = await follow_good(world, ada)
    await world.suggest(ada)
    if is_rejected:
        await world.reject(source_id)
    await disable_whole(world, source_id)
    if is_left:
        await leave_all(world, ada, source_id)

    await follow_good(world, bob)

    assert await world.polled() == []


async def test_an_approval_does_not_enable_what_an_operator_disabled_but_the_operator_does(world: World) -> None:
    ada = await world.somebody("ada@example.com")
    feed = await world.suggest(ada)
    await disable_whole(world, feed.id)

    await world.approve(feed.id)
    assert await world.polled() == []

    async with world.database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=feed.id)
        await operate.change(conn, source, wanted=Changes(enabled=True), actor=MODERATOR, now=world.clock())
    assert await world.polled() == [world.site.url("good.example/feed")]
    assert await world.public(ada) == ["Good News"]


@pytest.mark.parametrize("karma", [0, 50])
@pytest.mark.parametrize("is_left", [False, True])
async def test_what_an_operator_disabled_is_not_suggested_through_a_temporary_redirect(
    world: World, karma: int, is_left: bool
) -> None:
    ada = await world.somebody("ada@example.com", karma=karma)
    source_id = await follow_good(world, ada)
    await disable_whole(world, source_id)
    if is_left:
        await leave_all(world, ada, source_id)
    world.site.answers["alias.example/feed"] = (302, "text/plain", world.site.url("good.example/feed").encode())

    with pytest.raises(InvalidProposal, match="An operator has disabled this feed"):
        await world.suggest(ada, "alias.example/feed")

    assert await world.public(ada) == []


async def test_a_rejected_feed_is_not_suggested_through_a_temporary_redirect(world: World) -> None:
    ada = await world.somebody("ada@example.com", karma=50)
    feed = await world.suggest(await world.somebody("bob@example.com"))
    await world.reject(feed.id)
    world.site.answers["alias.example/feed"] = (302, "text/plain", world.site.url("good.example/feed").encode())

    with pytest.raises(FeedTaken, match="rejected"):
        await world.suggest(ada, "alias.example/feed")


@pytest.mark.parametrize("karma", [0, 50])
async def test_a_suggestion_keeps_the_interval_that_an_operator_chose(world: World, karma: int) -> None:
    ada = await world.somebody("ada@example.com", karma=karma)
    source_id = await follow_good(world, ada)
    async with world.database.as_system() as conn:
        source = await sources.find_by_id(conn, source_id=source_id)
        wanted = Changes(interval=timedelta(days=1))
        await operate.change(conn, source, wanted=wanted, actor=MODERATOR, now=world.clock())

    feed = await world.suggest(ada)
    if feed.status is PENDING:
        await world.approve(feed.id)

    async with world.database.as_system() as conn:
        assert (await sources.find_by_id(conn, source_id=source_id)).interval_minutes == 1440
    assert await world.public(ada) == ["Good News"]


@pytest.mark.parametrize("is_followed", [False, True])
async def test_blocking_a_domain_rejects_an_approved_source_whose_submitter_is_gone(
    world: World, is_followed: bool
) -> None:
    ada, bob = await world.somebody("ada@example.com", karma=50), await world.somebody("bob@example.com")
    feed = await world.suggest(ada)
    await follow_good(world, bob)
    async with world.database.as_system() as conn:
        await users.remove(conn, user_id=ada.id)
    await remove_all(world.database, world.clock)
    assert await world.public(bob) == ["Good News"]
    if not is_followed:
        async with world.database.as_system() as conn:
            await conn.execute("DELETE FROM subscriptions")

    assert await block(world, "good.example") == 1

    assert await world.public(bob) == []
    async with world.database.as_system() as conn:
        assert (await sources.find_by_id(conn, source_id=feed.id)).enabled is is_followed
    assert [action for action, _ in await world.actions()][-2:] == ["feed.rejected", "domain.blocked"]


async def test_blocking_a_domain_rejects_an_approved_source_that_has_moved_there(world: World) -> None:
    ada = await world.somebody("ada@example.com", karma=50)
    await world.suggest(ada)
    async with world.database.as_system() as conn:
        await conn.execute("UPDATE feed_state SET host = 'a.spam.example'")

    assert await block(world, "spam.example") == 1

    assert await world.public(ada) == []


async def test_an_approval_and_a_rejection_route_the_articles_of_the_feed_again(world: World) -> None:
    ada = await world.somebody("ada@example.com")
    feed = await world.suggest(ada)
    async with world.database.as_system() as conn:
        await an_article_of(conn, url="https://good.example/1", source_id=feed.id, at=world.clock())
        await conn.execute("UPDATE article_state SET classify_at = NULL, revision = 1")
    for decide in (world.approve, world.reject):
        await decide(feed.id)
        async with world.database.as_system() as conn:
            assert await fetch_value(conn, "SELECT classify_at FROM article_state") == world.clock()
            await conn.execute("UPDATE article_state SET classify_at = NULL")
            await conn.execute("UPDATE submissions SET decided_at = NULL")

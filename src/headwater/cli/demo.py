"""`headwater demo`: Headwater with the zoo, a small synthetic web on this machine. Needs no network, keeps nothing."""

import secrets
import socket
import tempfile
from decimal import Decimal

from pydantic import SecretStr

from headwater.accounts.changes import create_account
from headwater.accounts.types import Role
from headwater.cli.output import print_text
from headwater.cli.running import stop_on_signals
from headwater.cli.terminal import load, run
from headwater.cli.up import Host, Port, serve_pages
from headwater.ids import new_id
from headwater.library.store import subscriptions
from headwater.pipeline import every_stage
from headwater.runtime import Runtime, open_runtime
from headwater.server import address_of, listen
from headwater.settings import Settings
from headwater.sources.follow import follow
from headwater.sources.store import sources
from headwater.sources.subscribe import add_feed
from headwater.sources.types import SourceOverrides
from headwater_lab.zoo import DOMAIN, EXHIBITS, Zoo
from headwater_lab.zoo.language_model import MODEL, PRICE_IN, PRICE_OUT

READER = "demo@example.com"
BUDGET = Decimal("0.25")  # dollars


def demo(host: Host = None, port: Port = None) -> None:
    """Run Headwater with a synthetic web of good and bad feeds, on this machine alone. Ctrl-C stops it.

    Example: headwater demo --port 8080
    """
    with tempfile.TemporaryDirectory(prefix="headwater-demo-", ignore_cleanup_errors=True) as folder:
        settings = load(
            host=host, port=port, data_dir=folder, database_url="", allow_loopback=True,
            resolve={DOMAIN: "127.0.0.1"}, poll_interval="10s", poll_interval_min="5s", poll_interval_max="60s",
            poll_host_delay="1s", poll_timeout="5s", poll_concurrency=20, fetch_host_delay="500ms", worker_count=20,
        )  # fmt: skip
        with listen(settings.host, settings.port) as listener:
            run(_demo(settings, listener))
    print_text("The demo has ended; all its data is deleted.")


async def _demo(settings: Settings, listener: socket.socket) -> None:
    with stop_on_signals() as stop:
        async with Zoo() as zoo, open_runtime(_with_language_model(settings, zoo)) as runtime:
            await _follow_exhibits(runtime, zoo)
            password = await _make_reader(runtime, zoo)
            print_text(
                f"{len(EXHIBITS)} feeds of a synthetic web are followed; about half of them fail on purpose.\n"
                "A site with only sitemaps and one with neither feed nor sitemap are followed too.\n"
                "Their pages are fetched and extracted: search their full text for a word, such as lighthouse.\n"
                "Five newsrooms report the same events: their articles get topics, and form stories.\n"
                f"A stand-in for a language model tags articles until {BUDGET} dollars are spent: see AI usage.\n"
                f"Open {address_of(listener)} (Ctrl-C stops it)\n"
                f"Log in as {READER} with the password {password}"
            )
            await serve_pages(runtime, listener, stop, every_stage(runtime.tools))


def _with_language_model(settings: Settings, zoo: Zoo) -> Settings:
    """The settings, with the zoo's stand-in for a language model, and a budget that is soon spent."""
    model = {
        "openrouter_api_key": SecretStr("not-a-key"), "openrouter_base_url": zoo.model_url, "ai_monthly_budget": BUDGET,
        "ai_price_in": PRICE_IN, "ai_price_out": PRICE_OUT, "ai_tagging_model": MODEL, "summary_model": MODEL,
    }  # fmt: skip
    return settings.model_copy(update=model)


async def _follow_exhibits(runtime: Runtime, zoo: Zoo) -> None:
    async with runtime.database.transaction() as conn:
        for exhibit in EXHIBITS:
            await follow(conn, url=zoo.url_of(exhibit), name=exhibit.name, now=runtime.tools.clock())
        for name, mode in {"atlas": None, "village": "spider"}.items():  # found by sitemaps, and by links
            overrides = SourceOverrides(site=f"http://{name}.{DOMAIN}:{zoo.port}/", mode=mode)
            await follow(conn, url=None, name=name, now=runtime.tools.clock(), overrides=overrides)


async def _make_reader(runtime: Runtime, zoo: Zoo) -> str:
    """A super_admin who follows all feeds that do not fail. Returns the password."""
    password, clock = secrets.token_urlsafe(9), runtime.tools.clock
    user = await create_account(runtime.database, clock, email=READER, password=password, role=Role.SUPER_ADMIN)
    for exhibit in EXHIBITS:
        if not exhibit.fails:
            # One transaction each: it switches to the role of the user after the shared rows.
            async with runtime.database.transaction() as conn:
                name = exhibit.name.replace("-", " ").capitalize()
                await add_feed(conn, user_id=user.id, name=name, url=zoo.url_of(exhibit), now=clock())
    async with runtime.database.as_system() as conn:
        sites = [source for source in await sources.list_all(conn) if source.feed_url is None]
        for site in sites:
            await subscriptions.add(
                conn, subscription_id=new_id(), user_id=user.id, source_id=site.id, name=site.name.capitalize(),
                category="Sites without a feed", now=clock(),
            )  # fmt: skip
    return password

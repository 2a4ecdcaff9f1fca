"""From a source to a text that is found: by a feed, by sitemaps alone, and by nothing but links."""

import json
from collections.abc import Mapping

import pytest

from headwater_lab.zoo import DOMAIN
from tests.flows.zoo_thread import open_zoo
from tests.headwater_process import Headwater, Running, wait_for

pytestmark = [pytest.mark.database, pytest.mark.soak]

HOSTS = ("daily", "atlas", "village")


def found_on(headwater: Headwater, running: Running, host: str) -> Mapping[str, object]:
    """An article of a host that is found by words of its own text."""

    def look() -> Mapping[str, object] | None:
        text = longest_text(headwater, host)
        if text is None:
            return None
        words = " ".join(text.split()[-8:-2])  # from its end: no feed's summary reaches that far
        hits = json.loads(headwater.run("articles", "--search", f'"{words}"', "--json").stdout or "[]")
        return next((hit for hit in hits if f"//{host}.{DOMAIN}" in hit["url"]), None)

    return wait_for(look, running)


def longest_text(headwater: Headwater, host: str) -> str | None:
    fetched = headwater.run("frontier", "list", "--status", "fetched", "--host", f"{host}.{DOMAIN}", "--json").stdout
    pages = [json.loads(line)["url"] for line in fetched.splitlines() if line]
    if not pages:
        return None
    extracted = headwater.run("extract", "--json", *pages[:3]).stdout
    texts = [json.loads(line).get("text") or "" for line in extracted.splitlines()]
    return max(texts, key=len, default="") or None


def test_articles_of_a_feed_a_sitemap_and_mere_links_are_found_by_their_text(headwater: Headwater) -> None:
    quick = {"HEADWATER_FETCH_HOST_DELAY": "100ms", "HEADWATER_CLAIM_RETRY_DELAY": "100ms"}
    headwater.environment |= quick
    with open_zoo() as zoo:
        site = {host: f"http://{host}.{DOMAIN}:{zoo.port}" for host in HOSTS}
        for arguments in (
            [f"{site['daily']}/feed.xml"],
            ["--sitemap", f"{site['atlas']}/sitemap_index.xml"],
            ["--site", f"{site['village']}/", "--mode", "spider"],
        ):
            assert headwater.run("source", "add", *arguments).returncode == 0
        with headwater.start("work") as working:
            hits = {host: found_on(headwater, working, host) for host in HOSTS}
            stats = headwater.json("frontier", "stats")
            code = working.stop()

    assert all(hits.values())
    assert stats["by_status"]["fetched"] >= len(HOSTS)
    assert code == 0
    assert "Traceback" not in working.output

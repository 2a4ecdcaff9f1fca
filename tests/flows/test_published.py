"""The last line of seed 004: from a source with a feed to a message on the channel of its topic, seen from outside."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import pytest

from headwater_lab.zoo import DOMAIN
from tests.flows.webhook_thread import Webhook, open_webhook
from tests.flows.zoo_thread import open_zoo
from tests.headwater_process import Headwater, wait_for

pytestmark = [pytest.mark.database, pytest.mark.soak]

TOKEN = "a-token-of-at-least-32-characters-for-tests"
CHANNEL = "articles:sport"
SETTINGS = {
    "HEADWATER_API_TOKEN": TOKEN,
    "HEADWATER_CHANNEL_HOSTS": "127.0.0.1",
    "HEADWATER_FETCH_HOST_DELAY": "100ms",
    "HEADWATER_CLAIM_RETRY_DELAY": "100ms",
}


def test_an_article_of_a_feed_is_discovered_fetched_classified_and_published_on_the_channel_of_its_topic(
    headwater: Headwater,
) -> None:
    with (
        open_zoo() as zoo,
        open_webhook() as webhook,
        headwater.start("up", **SETTINGS) as up,
        httpx.Client(base_url=up.url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as api,
    ):
        webhook.secret = add_channel(api, webhook.url)
        site = f"http://tribune.{DOMAIN}:{zoo.port}"
        source = api.post("/api/v1/sources", json={"feed_url": f"{site}/feed.xml"})
        message = wait_for(lambda: first_read(webhook, site), up)
        frontier = wait_for(lambda: in_frontier(api, message["url"]), up)
        labels = api.get(f"/api/v1/articles/{message['id']}/labels").json()["labels"]
        streamed = first_streamed(api, message["id"])
        visits = {visit.path for visit in zoo.visits if visit.host == f"tribune.{DOMAIN}"}
        messages = webhook.messages
        code = up.stop()

    assert source.status_code == 201
    assert {"/feed.xml", "/robots.txt", httpx.URL(message["url"]).path} <= visits  # discovered and fetched
    assert frontier["status"] == "fetched"
    assert "sport" in {one["label"] for one in labels if one["scheme"] == "topic" and one["is_shown"]}
    assert (message["schema_version"], message["publisher"]["channel"]) == (1, CHANNEL)
    assert len(message["body"].split()) > 50  # of its page
    assert all("sport" in one["topics"] for one in messages)
    assert revisions(messages) == sorted(set(revisions(messages)))  # in order, and each once
    assert (streamed["url"], streamed["title"]) == (message["url"], message["title"])
    assert webhook.forged == 0
    assert code == 0
    assert "Traceback" not in up.output


def add_channel(api: httpx.Client, url: str) -> str:
    """Its secret."""
    fields = {"name": CHANNEL, "query": "topic:sport", "destination": "webhook", "options": {"url": url}}
    made = api.post("/api/v1/channels", json=fields)
    assert made.status_code == 201, made.text
    return made.json()["secret"]


def first_read(webhook: Webhook, site: str) -> dict[str, Any] | None:
    """The first message about an article whose page was read: a feed tells of less."""
    return next((one for one in webhook.messages if one["url"].startswith(site) and one["word_count"]), None)


def in_frontier(api: httpx.Client, page: str) -> Mapping[str, Any] | None:
    listed = api.get("/api/v1/frontier", params={"status": "fetched", "limit": 500}).json()
    return next((one for one in listed["urls"] if one["url"] == page), None)


def first_streamed(api: httpx.Client, article_id: str) -> Mapping[str, Any]:
    """The article as the stream of its topic has it, from the first revision on."""
    with api.stream("GET", "/api/v1/articles/stream", params={"q": "topic:sport", "after": "0"}) as answer:
        articles = (json.loads(line) for line in answer.iter_lines() if line)
        return next(one for one in articles if one["id"] == article_id)


def revisions(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    return [one["revision"] for one in messages]

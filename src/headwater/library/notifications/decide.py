"""When notifications are sent and retried, and what they say. Pure."""

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import urlsplit

from headwater.errors import Invalid, InvalidUrl
from headwater.library.notifications.types import NotifiedArticle, WaitingNotifications
from headwater.text import one_line
from headwater.urls import parse_url

DIGEST_HOUR: Final = 6  # UTC
DIGEST_ARTICLES: Final = 50  # in one email; the others are counted
TITLE_MAX: Final = 300
URL_MAX: Final = 2_000
SECRET_PREFIX: Final = "whsec_"  # noqa: S105
FIRST_WAIT: Final = timedelta(minutes=1)
LONGEST_WAIT: Final = timedelta(hours=1)
TRIES: Final = 6  # about half an hour


def next_digest_at(now: datetime) -> datetime:
    """When the next digest is sent: once a day at the same hour."""
    today = now.astimezone(UTC).replace(hour=DIGEST_HOUR, minute=0, second=0, microsecond=0)
    return today if today > now else today + timedelta(days=1)


def retry_wait(failures: int) -> timedelta | None:
    """How long to wait after so many failures in a row; None: no more."""
    return None if failures >= TRIES else min(FIRST_WAIT * 2 ** (failures - 1), LONGEST_WAIT)


def check_target_url(url: str, *, allow_http: bool = False) -> str:
    """The URL of a webhook or push service. `allow_http` is for tests. Raises Invalid."""
    url = url.strip()
    if len(url) > URL_MAX:
        raise Invalid(f"The URL has more than {URL_MAX:,} characters.")
    try:
        parsed = parse_url(url)
    except InvalidUrl as error:
        raise Invalid(f"Invalid URL: {error.reason}.") from error
    if urlsplit(parsed).scheme != "https" and not allow_http:
        raise Invalid("The URL must start with https://.")
    return parsed


def digest_text(waiting: WaitingNotifications, *, site: str) -> str:
    """The email's text, to which the link that ends these emails is added."""
    shown, total = waiting.articles[:DIGEST_ARTICLES], waiting.total
    lines = [f"{count_articles(total)} matched your rules since the last digest.", ""]
    for article in shown:
        title = one_line(article.title)[:TITLE_MAX]
        lines += [title, f"{one_line(article.feed_name)} · rule: {one_line(article.rule_name)}"]
        lines += [f"{site}/articles/{article.id}", ""]
    if total > len(shown):
        lines += [f"And {total - len(shown):,} more: {site}/rules", ""]
    return "\n".join(lines)


def count_articles(number: int) -> str:
    return "1 article" if number == 1 else f"{number:,} articles"


def webhook_message(articles: Sequence[NotifiedArticle], *, site: str) -> dict[str, object]:
    """What is sent to a reader's webhook, as docs/reading.md describes it."""
    return {
        "version": 1,
        "articles": [
            {
                "id": str(one.id), "title": one.title, "url": one.url, "feed": one.feed_name, "rule": one.rule_name,
                "listed_at": one.listed_at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
                "link": f"{site}/articles/{one.id}",
            }
            for one in articles
        ],
    }  # fmt: skip


def sign_webhook(secret: str, message_id: str, now: datetime, body: bytes) -> Mapping[str, str]:
    """The headers of Standard Webhooks: HMAC-SHA256 over id, time and body, by the bytes that the secret encodes."""
    timestamp = int(now.timestamp())
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    return {
        "Content-Type": "application/json",
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode(),
    }


def push_message(articles: Sequence[NotifiedArticle], total: int) -> dict[str, str]:
    """What a browser shows. One article by its title; several together, since each message makes a sound."""
    first = articles[0]
    if total == 1:
        title = one_line(first.title)[:TITLE_MAX]
        return {"title": title, "body": one_line(first.feed_name)[:100], "path": f"/articles/{first.id}"}
    body = " · ".join(one_line(one.title)[:100] for one in articles[:3])
    return {"title": f"{count_articles(total)} matched your rules", "body": body, "path": "/read"}

"""Values as text for pages."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from urllib.parse import quote, unquote, urlsplit
from zlib import crc32

from markupsafe import Markup

from headwater.feeds.types import Enclosure
from headwater.frontier.types import Status
from headwater.labels.types import Method
from headwater.library.types import ArticleFull
from headwater.polling.types import FailureClass
from headwater.sources.health.types import FailureGroup
from headwater.text import one_line
from headwater.types import SourceState

LABELS: dict[str, str] = {
    SourceState.WORKING: "Healthy", SourceState.AUTO_DISABLED: "Auto-disabled", Status.DEAD: "Gave up",
    FailureClass.UPSTREAM_FAILURE: "Server error (5xx)", FailureClass.NETWORK: "Network error",
    FailureClass.DNS: "DNS error", FailureClass.SSRF_BLOCKED: "Blocked address",
}  # fmt: skip
METHODS = {
    Method.RULE: "Rule", Method.MODEL: "Model", Method.AI: "Language model", Method.PERSON: "Person",
}  # fmt: skip
_STEPS = (
    (timedelta(days=365), "year"), (timedelta(days=30), "month"), (timedelta(days=1), "day"),
    (timedelta(hours=1), "hour"), (timedelta(minutes=1), "minute"), (timedelta(seconds=1), "second"),
)  # fmt: skip
_ARTICLES = frozenset({"the", "a", "an", "der", "die", "das", "le", "la", "les", "el", "los", "las", "il"})
_IMAGE_WITHOUT_ALT = re.compile(r'<img(?= )(?!(?:[^>"]|"[^"]*")*?\salt[\s=>])')  # a screen reader would read its URL
_IMAGE = re.compile(r"<(img|source|video) [^<>]*>")  # values of sanitised attributes have no < or >
_IMAGE_URL = {
    "img": re.compile(r' (?:src|srcset)="[^"]*"'), "source": re.compile(r' srcset="[^"]*"'),
    "video": re.compile(r' poster="[^"]*"'),
}  # fmt: skip
_SIZES = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


def since(then: datetime, now: datetime) -> str:
    """Time since: `3 minutes ago`."""
    return f"{_largest(now - then)} ago" if now - then >= timedelta(seconds=1) else "just now"


def until(then: datetime, now: datetime) -> str:
    """Time until: `in 3 minutes`."""
    return f"in {_largest(then - now)}" if then - now >= timedelta(seconds=1) else "any moment"


def moment(then: datetime, zone: tzinfo = UTC) -> str:
    """The exact time, for a tooltip."""
    return then.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S %Z")


def host(url: str) -> str:
    """The host of a URL, without `www.`."""
    return (urlsplit(url).hostname or url).removeprefix("www.")


def count(number: int, noun: str) -> str:
    """`1 article`, `2,000 articles`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def capped(number: int, most: int) -> str:
    """A number that was counted up to a limit: `12`, `1,000+`."""
    return f"{number:,}{'+' if number >= most else ''}"


def span(length: timedelta) -> str:
    """A duration by its largest unit: `3 minutes`; nothing below a second."""
    return _largest(length) if length >= timedelta(seconds=1) else "none"


def _largest(length: timedelta) -> str:
    size, unit = next((step for step in _STEPS if length >= step[0]), _STEPS[-1])
    return count(length // size, unit)


def lazy_images(html: str, *, are_hidden: bool = False) -> Markup:
    """Sanitised HTML whose images load lazily and without a Referer, or only their descriptions."""
    if are_hidden:
        html = _IMAGE.sub(_without_image, html)
    html = _IMAGE_WITHOUT_ALT.sub('<img alt=""', html)
    attributes = '<img loading="lazy" decoding="async" referrerpolicy="no-referrer" '
    return Markup(html.replace("<img ", attributes))  # noqa: S704  sanitised before it was stored


def _without_image(tag: re.Match[str]) -> str:
    return _IMAGE_URL[tag[1]].sub("", tag[0])


def initial(name: str) -> str:
    """The first letter or digit of a name, without an article before it."""
    words = re.findall(r"\w+", name)
    chosen = words[1] if len(words) > 1 and words[0].lower() in _ARTICLES else (words or ["?"])[0]
    return chosen[0].upper()[0]


def hue(name: str) -> int:
    """One of eight colours, always the same for a name."""
    return crc32(name.encode(errors="replace")) % 8


def label(value: str) -> str:
    """The label of a state, a status or a class of failures: `Auto-disabled`, `Gave up`, `Server error (5xx)`."""
    return LABELS.get(value) or value.replace("_", " ").capitalize()


def reason_label(reason: str) -> str:
    """The label of a class of failures. A reason that a person wrote is unchanged."""
    return label(reason) if reason in set(FailureClass) else reason


def failure_group_label(name: str) -> str:
    """The label of a group of failures, by the name of its member: `Server error`."""
    return FailureGroup[name.upper()].value


def method_label(method: str) -> str:
    """Who gave a label: `Language model`."""
    return METHODS[Method(method)]


def dollars(micros: int) -> str:
    """An amount in micro-dollars: `$12.50`; below ten cents with more digits."""
    return f"${micros / 1e6:,.2f}" if not micros or micros >= 100_000 else f"${micros / 1e6:.6f}".rstrip("0")


def plain_dollars(micros: int) -> str:
    """The same for a field of a form: `12.5`, `500`."""
    whole, rest = divmod(micros, 1_000_000)
    return f"{whole}.{rest:06}".rstrip("0").rstrip(".")


def reading_time(words: int) -> str:
    """How long a text is read, at 230 words a minute: `3 minutes to read`."""
    return f"{count(max(1, -(-words // 230)), 'minute')} to read"


def file_name(url: str) -> str:
    """The last part of a URL's path, else its host."""
    return unquote(urlsplit(url).path.rpartition("/")[2]) or host(url)


_PLAYED = {
    "audio": (".mp3", ".m4a", ".aac", ".ogg", ".oga", ".opus", ".wav", ".flac"),
    "video": (".mp4", ".m4v", ".webm", ".mov"),
}
_YOUTUBE_HOSTS = frozenset({"youtube.com", "www.youtube.com", "m.youtube.com", "youtu.be", "www.youtube-nocookie.com"})
_YOUTUBE_ID = re.compile(r"(?:/(?:shorts|embed|live)/|^/watch[?](?:[^#]*&)?v=|^/)([\w-]{11})(?![\w-])", re.ASCII)


def media_kind(file: Enclosure) -> str:
    """Which element plays a file: `audio`, `video`, or none."""
    family = (file.type or "").partition("/")[0]
    if family in _PLAYED:
        return family
    path = urlsplit(file.url).path.lower()
    return next((kind for kind, endings in _PLAYED.items() if path.endswith(endings)), "") if not family else ""


def youtube_video(url: str) -> str:
    """The id of the YouTube video at this URL, or nothing."""
    parts = urlsplit(url)
    if parts.hostname not in _YOUTUBE_HOSTS:
        return ""
    found = _YOUTUBE_ID.search(f"{parts.path}?{parts.query}")
    return found[1] if found else ""


def size(number: int) -> str:
    """A number of bytes: `812 bytes`, `12.3 MB`."""
    unit = next((unit for unit in _SIZES if number >= unit[0]), None)
    return f"{number / unit[0]:.1f} {unit[1]}" if unit else count(number, "byte")


def length(time: timedelta) -> str:
    """A duration as players show it: `1:02:03`, `4:05`."""
    minutes, seconds = divmod(int(time.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def file_details(file: Enclosure) -> str:
    """Type, size and duration of a file, as far as its feed says them: `audio/mpeg · 12.3 MB · 4:05`."""
    parts = (file.type, size(file.length) if file.length else None, length(file.duration) if file.duration else None)
    return " · ".join(part for part in parts if part)


_RULE_ACTIONS = {
    "read": "marked as read", "star": "starred", "hide": "hidden", "notify:email": "daily email",
    "notify:webhook": "webhook", "notify:push": "browser notification",
}  # fmt: skip


def rule_action(name: str) -> str:
    """What a rule does or did: `starred`, `tagged #rivers`."""
    return _RULE_ACTIONS.get(name) or f"tagged #{name.removeprefix('tag:')}"


def mail_link(article: ArticleFull) -> str:
    """A link that opens the reader's own mail program with an email about an article."""
    title = one_line(article.title or article.url)
    body = f"{title}\n\n{article.url}\n"
    return f"mailto:?subject={quote(title, safe='')}&body={quote(body, safe='')}"


FILTERS = (
    capped, count, dollars, failure_group_label, file_details, file_name, host, hue, initial, label, lazy_images,
    mail_link, media_kind, method_label, plain_dollars, reading_time, reason_label, rule_action, since, span, until,
    youtube_video,
)  # fmt: skip

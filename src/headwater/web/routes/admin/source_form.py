"""The form of a source, and the changes it asks for. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from headwater.errors import Invalid
from headwater.sources.types import Changes, Source, SourceOverrides
from headwater.urls import masked
from headwater.web.query import parse_number


@dataclass(frozen=True, slots=True)
class SourceForm:
    """The settings of a source, as typed. A cleared checkbox is not sent."""

    name: str = ""
    feed_url: str = ""
    url: str = ""
    sitemap_url: str = ""
    category: str = ""
    mode: str = ""
    policy: str = ""
    interval_minutes: str = ""
    priority: str = ""
    patterns: str = ""
    selectors: str = ""
    max_depth: str = ""
    page_budget: str = ""
    min_delay_ms: str = ""
    external_links: str = ""
    is_system: str = ""
    is_critical: str = ""
    enabled: str = ""


def form_of(source: Source) -> SourceForm:
    return SourceForm(
        name=source.name,
        # A user's feed URL may contain a secret, so administrators see it masked. If it comes back masked, it is not
        # changed.
        feed_url=masked(source.feed_url or ""),
        url=masked(source.url or ""),
        sitemap_url=masked(source.sitemap_url or ""),
        category=source.category or "",
        mode=source.ingestion_mode,
        policy=source.policy or "",
        interval_minutes=str(source.interval_minutes or ""),
        priority=str(source.priority),
        patterns="\n".join(source.article_url_patterns),
        selectors="\n".join(f"{part}={one}" for part, some in source.selectors.items() for one in some),
        max_depth=str(source.max_depth),
        page_budget=str(source.page_budget or ""),
        min_delay_ms=str(round(source.min_delay / timedelta(milliseconds=1)) if source.min_delay else ""),
        external_links="yes" if source.external_links else "",
        is_system="yes" if source.is_system else "",
        is_critical="yes" if source.is_critical else "",
        enabled="yes" if source.enabled else "",
    )


def new_source(form: SourceForm) -> Changes:
    return _changes(form, SourceForm(enabled="yes"), is_new=True)


def changes_to(source: Source, form: SourceForm) -> Changes:
    """The fields that differ from the current settings. Raises Invalid."""
    if source.feed_url and not form.feed_url.strip():
        raise Invalid("A feed URL cannot be removed. Disable the feed or delete the source.")
    if not form.name.strip():
        raise Invalid("Name is required.")
    return _changes(form, form_of(source), is_new=False)


def _changes(form: SourceForm, before: SourceForm, *, is_new: bool) -> Changes:
    def text(name: str) -> str | None:
        given = getattr(form, name).strip()
        return given if given != getattr(before, name) else None

    def number(name: str, what: str) -> int | None:
        given = text(name)
        return None if given is None else _whole(given or "0", what)

    def checkbox(name: str) -> bool | None:
        return None if bool(getattr(form, name)) == bool(getattr(before, name)) else bool(getattr(form, name))

    def lines(name: str) -> Sequence[str] | None:
        given = _lines(getattr(form, name))
        return None if given == _lines(getattr(before, name)) else given

    interval, delay = number("interval_minutes", "An interval"), number("min_delay_ms", "A delay")
    return Changes(
        name=text("name"),
        feed_url=text("feed_url") or None,
        category=text("category"),
        policy=text("policy"),
        interval=None if interval is None else timedelta(minutes=interval),
        is_system=checkbox("is_system") if not is_new else None,
        is_critical=checkbox("is_critical"),
        enabled=checkbox("enabled") if not is_new else None,
        overrides=SourceOverrides(
            site=text("url"),
            sitemap=text("sitemap_url"),
            mode=text("mode") or None,
            patterns=lines("patterns"),
            selectors=lines("selectors"),
            external_links=checkbox("external_links"),
            max_depth=number("max_depth", "A depth"),
            budget=number("page_budget", "A budget"),
            delay=None if delay is None else timedelta(milliseconds=delay),
            priority=number("priority", "A priority"),
        ),
    )


def _whole(text: str, what: str) -> int:
    number = parse_number(text, digits=9)
    if number is None:
        raise Invalid(f"{what} must be a whole number, not {text[:40]!r}.")
    return number


def _lines(text: str) -> tuple[str, ...]:
    return tuple(stripped for line in text.splitlines() if (stripped := line.strip()))

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
    # A user's feed URL may contain a secret, so administrators see it masked; sent back masked, it is unchanged.
    urls = {name: masked(getattr(source, name) or "") for name in ("feed_url", "url", "sitemap_url")}
    flags = ("external_links", "is_system", "is_critical", "enabled")
    checked = {name: "yes" if getattr(source, name) else "" for name in flags}
    selectors = [f"{part}={one}" for part, some in source.selectors.items() for one in some]
    return SourceForm(
        name=source.name, category=source.category or "", mode=source.ingestion_mode, policy=source.policy or "",
        interval_minutes=str(source.interval_minutes or ""), priority=str(source.priority),
        patterns="\n".join(source.article_url_patterns), selectors="\n".join(selectors),
        max_depth=str(source.max_depth), page_budget=str(source.page_budget or ""),
        min_delay_ms=str(round(source.min_delay / timedelta(milliseconds=1)) if source.min_delay else ""),
        **urls, **checked,
    )  # fmt: skip


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
        found = parse_number(given or "0", digits=9)
        if found is None:
            raise Invalid(f"{what} must be a whole number, not {(given or '')[:40]!r}.")
        return None if given is None else found

    def checkbox(name: str) -> bool | None:
        return None if bool(getattr(form, name)) == bool(getattr(before, name)) else bool(getattr(form, name))

    def lines(name: str) -> Sequence[str] | None:
        given = read_lines(getattr(form, name))
        return None if given == read_lines(getattr(before, name)) else given

    interval, delay = number("interval_minutes", "An interval"), number("min_delay_ms", "A delay")
    overrides = SourceOverrides(
        site=text("url"), sitemap=text("sitemap_url"), mode=text("mode") or None, patterns=lines("patterns"),
        selectors=lines("selectors"), external_links=checkbox("external_links"),
        max_depth=number("max_depth", "A depth"), budget=number("page_budget", "A budget"),
        delay=None if delay is None else timedelta(milliseconds=delay), priority=number("priority", "A priority"),
    )  # fmt: skip
    return Changes(
        name=text("name"), feed_url=text("feed_url") or None, category=text("category"), policy=text("policy"),
        interval=None if interval is None else timedelta(minutes=interval), is_critical=checkbox("is_critical"),
        is_system=None if is_new else checkbox("is_system"), enabled=None if is_new else checkbox("enabled"),
        overrides=overrides,
    )  # fmt: skip


def read_lines(text: str) -> tuple[str, ...]:
    return tuple(stripped for line in text.splitlines() if (stripped := line.strip()))

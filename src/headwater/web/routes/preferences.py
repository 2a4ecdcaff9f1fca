"""The settings of a reader: looks, lists, start page, time zone."""

from collections.abc import Sequence
from dataclasses import dataclass

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromQuery, URLEncodedBody
from litestar.response import Redirect, Template

from headwater.accounts.preferences import store
from headwater.accounts.preferences.decide import check_preferences, next_digest_at, zone_names
from headwater.accounts.preferences.types import (
    ArticleImages,
    Density,
    EmailDigest,
    Font,
    LineWidth,
    PaneLayout,
    Preferences,
    PreferredText,
    SortOrder,
    StartPage,
    TextSize,
    Theme,
)
from headwater.asgi.handlers import Call, CallContext
from headwater.errors import Invalid


@dataclass(frozen=True, slots=True)
class PreferenceField:
    """A field of the form: the name of the preference, its label, and what can be chosen."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]
    hint: str = ""


LOOKS = (
    PreferenceField("theme", "Theme", ((Theme.AUTO, "Automatic"), (Theme.LIGHT, "Light"), (Theme.DARK, "Dark"))),
    PreferenceField("font", "Font", ((Font.SERIF, "Serif"), (Font.SANS, "Sans-serif"), (Font.MONO, "Monospace"))),
    PreferenceField(
        "text_size", "Text size",
        ((TextSize.SMALL, "Small"), (TextSize.MEDIUM, "Medium"), (TextSize.LARGE, "Large"),
         (TextSize.LARGEST, "Largest")),
    ),
    PreferenceField(
        "line_width", "Line width",
        ((LineWidth.NARROW, "Narrow"), (LineWidth.MEDIUM, "Medium"), (LineWidth.WIDE, "Wide")),
    ),
)  # fmt: skip
LISTS = (
    PreferenceField(
        "density", "Density", ((Density.CARDS, "Cards"), (Density.ROWS, "Rows"), (Density.COMPACT, "Compact"))
    ),
    PreferenceField(
        "layout", "Layout",
        ((PaneLayout.ONE, "One pane"), (PaneLayout.TWO, "Two panes"), (PaneLayout.THREE, "Three panes")),
        "With two or three panes, an article opens beside the list. Small screens always show one pane.",
    ),
    PreferenceField(
        "sort_order", "Sort order", ((SortOrder.NEWEST, "Newest first"), (SortOrder.OLDEST, "Oldest first")),
        "Of Unread, All, feeds and categories. Searches and views show the newest first.",
    ),
)  # fmt: skip
READING = (
    PreferenceField(
        "article_text", "Text of articles",
        ((PreferredText.FULL, "Full text"), (PreferredText.FEED, "Text of the feed")),
        "The full text is taken from the page of the article. Where one is missing, the other is shown.",
    ),
    PreferenceField(
        "article_images", "Images in articles", ((ArticleImages.SHOW, "Show"), (ArticleImages.HIDE, "Hide")),
        "Hidden images are not loaded; their descriptions are shown.",
    ),
    PreferenceField(
        "start_page", "Start page",
        ((StartPage.AUTO, "Automatic"), (StartPage.UNREAD, "Unread"), (StartPage.ALL, "All articles"),
         (StartPage.STARRED, "Starred"), (StartPage.DASHBOARD, "Feeds")),
        "Automatic opens Unread as soon as there is an article to read, and Feeds before that.",
    ),
)  # fmt: skip
EMAIL = (
    PreferenceField(
        "email_digest", "Unread articles by email",
        ((EmailDigest.OFF, "Off"), (EmailDigest.DAILY, "Daily"), (EmailDigest.WEEKLY, "Weekly")),
        "Sent at 6:00 in your time zone, weekly ones on Mondays, if there is something unread.",
    ),
)  # fmt: skip
SECTIONS = (("Appearance", LOOKS), ("Lists", LISTS), ("Reading", READING), ("Email", EMAIL))


@get("/settings")
async def preferences(call: Call, site: NamedDependency[str], saved: FromQuery[str] = "") -> Template:
    return _page(call, site, notice="Settings saved." if saved else "")


@post("/settings", status_code=303)
async def save_preferences(
    call: Call, data: URLEncodedBody[dict[str, str]], site: NamedDependency[str]
) -> Redirect | Template:
    try:
        chosen = check_preferences(data)
    except Invalid as error:
        return _page(call, site, error=str(error), status_code=400)
    if chosen.email_digest is not EmailDigest.OFF and call.user.confirmed_at is None:
        error = "Your email is not confirmed, so that no digest can be sent to it. Set it again on the page Account."
        return _page(call, site, error=error, status_code=400, chosen=chosen)
    async with call.as_user() as conn:
        at = next_digest_at(chosen, call.now)
        await store.save(conn, user_id=call.user.id, preferences=chosen, digest_at=at)
    return Redirect("/settings?saved=yes", status_code=303)


def bookmarklet(site: str) -> str:
    """The address of a bookmark that opens the page on which the current page is saved for later."""
    return f"javascript:void(open('{site}/later?url='+encodeURIComponent(location.href)))"


def _page(
    call: CallContext, site: str, *, notice: str = "", error: str = "", status_code: int = 200,
    chosen: Preferences | None = None,
) -> Template:  # fmt: skip
    return call.page(
        "account/settings.html", sections=SECTIONS, zones=zone_names(), chosen=chosen or call.preferences,
        notice=notice, error=error, status_code=status_code, bookmarklet=bookmarklet(site),
    )  # fmt: skip

"""What a reader can choose. Pure data."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from headwater.types import UserId


class Theme(StrEnum):
    AUTO = "auto"  # as the browser
    LIGHT = "light"
    DARK = "dark"


class Density(StrEnum):
    CARDS = "cards"
    ROWS = "rows"
    COMPACT = "compact"


class Font(StrEnum):
    SERIF = "serif"
    SANS = "sans"
    MONO = "mono"


class TextSize(StrEnum):
    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"
    LARGEST = "largest"


class LineWidth(StrEnum):
    NARROW = "narrow"
    MEDIUM = "medium"
    WIDE = "wide"


class PaneLayout(StrEnum):
    """How many panes a wide screen has: the list; the list and the article; the feeds, the list and the article."""

    ONE = "one"
    TWO = "two"
    THREE = "three"


class SortOrder(StrEnum):
    NEWEST = "newest"
    OLDEST = "oldest"


class StartPage(StrEnum):
    AUTO = "auto"  # unread articles, once there is an article; before that, the feeds
    UNREAD = "unread"
    ALL = "all"
    STARRED = "starred"
    DASHBOARD = "dashboard"


class PreferredText(StrEnum):
    FULL = "full"  # of the page, as far as it was extracted
    FEED = "feed"


class ArticleImages(StrEnum):
    """The images inside of an article, besides its lead image."""

    SHOW = "show"
    HIDE = "hide"


class EmailDigest(StrEnum):
    """How often the newest unread articles are sent by email."""

    OFF = "off"
    DAILY = "daily"
    WEEKLY = "weekly"


@dataclass(frozen=True, slots=True)
class Preferences:
    """One row of `reading_options`; its columns have the same names and defaults."""

    theme: Theme = Theme.AUTO
    density: Density = Density.ROWS
    font: Font = Font.SERIF
    text_size: TextSize = TextSize.MEDIUM
    line_width: LineWidth = LineWidth.MEDIUM
    layout: PaneLayout = PaneLayout.ONE
    sort_order: SortOrder = SortOrder.NEWEST
    start_page: StartPage = StartPage.AUTO
    article_text: PreferredText = PreferredText.FULL
    article_images: ArticleImages = ArticleImages.SHOW
    email_digest: EmailDigest = EmailDigest.OFF
    time_zone: str = "UTC"
    groups_stories: bool = True
    scroll_marks_read: bool = False


@dataclass(frozen=True, slots=True)
class DueDigest:
    """A user whose email digest is due."""

    user_id: UserId
    preferences: Preferences
    leased_until: datetime

"""The plain text of an article. Runs in the sandbox; loads no model."""

import re
from typing import Final

from headwater.reading.text import without_markup
from headwater.understanding.types import ArticleText

TEXT_MAX_CHARS: Final = 50_000  # what is read of a text; quality, topic and language show long before
_PARAGRAPH: Final = re.compile(r"</(?:p|div|li|h[1-6]|blockquote|tr)>|<br\s*/?>", re.IGNORECASE)


def plain_text(article: ArticleText) -> str:
    """The text of the page, or what the feed says, without markup."""
    if article.text:
        return article.text[:TEXT_MAX_CHARS]
    html = article.html[: 2 * TEXT_MAX_CHARS]
    return "\n".join(
        line for part in _PARAGRAPH.split(html) if (line := " ".join(without_markup(part).split()))
    )[:TEXT_MAX_CHARS]  # fmt: skip

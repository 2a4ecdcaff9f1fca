"""Expectations of feedparser's files that we reject on purpose, with the reason. docs/polling.md lists the same."""

_UNSEEN = "text of <title> and inside comments is not shown by a browser either"

REJECTED: dict[str, str] = {
    "encoding/bozo_linenoise.xml": "UTF-8 with one stray byte stays UTF-8; feedparser reads it all as windows-1252",
    "wellformed/lang/http_content_language.xml": "the parser is not told Content-Language: servers set it blindly",
    "wellformed/sanitize/acceptable_element_br.xml": "</br> is a line break in every browser, so <br></br> is two",
    "wellformed/sanitize/entry_content_crazy.xml": _UNSEEN,
    "wellformed/sanitize/entry_summary_crazy.xml": _UNSEEN,
    "wellformed/sanitize/feed_subtitle_crazy.xml": _UNSEEN,
    "wellformed/sanitize/feed_tagline_crazy.xml": _UNSEEN,
    "wellformed/sanitize/item_content_encoded_crazy.xml": _UNSEEN,
    "wellformed/sanitize/item_description_crazy.xml": _UNSEEN,
    "wellformed/sanitize/item_fullitem_crazy.xml": _UNSEEN,
    "wellformed/sanitize/item_content_encoded_script_nested_cdata.xml": "<![CDATA[ in HTML is a comment to a browser",
    "wellformed/rss/entity_in_doctype.xml": "an item with a guid alone is no article: there is nothing to show",
}

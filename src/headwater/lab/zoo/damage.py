"""Ways in which real feeds are broken and can still be read: each takes a good document and spoils it a little.

In: the text of a feed. Out: the text that is served. Every entry that stands before the damage must survive a reader
that recovers.
"""

from collections.abc import Callable

_OUTSIDE = '<!DOCTYPE rss [<!ENTITY outside SYSTEM "file:///etc/passwd">]>'


def damaged(kind: str, text: str) -> str:
    return DAMAGES[kind](text) if kind else text


def _bare_ampersand(text: str) -> str:
    return text.replace("<title>", "<title>Fish & chips: ")


def _undefined_entities(text: str) -> str:
    return text.replace("</description>", "&nbsp;caf&eacute; &hellip;</description>")


def _unclosed_tag(text: str) -> str:
    """The last item never closes its category."""
    at = text.rindex("</category>")
    return text[:at] + text[at + len("</category>") :]


def _junk_before(text: str) -> str:
    return f"\n\n  \n{text}"


def _junk_after(text: str) -> str:
    return f"{text}\n<!-- printed in 0.04 s -->\n<script>track()</script> thanks & goodbye"


def _control_characters(text: str) -> str:
    return text.replace("</title>", "\x0b\x1f</title>")


def _undeclared_namespace(text: str) -> str:
    return text.replace('xmlns:content="http://purl.org/rss/1.0/modules/content/" ', "")


def _cut_in_the_middle(text: str) -> str:
    """Cuts inside the content of an item, after about half of them."""
    return text[: text.index("</content:encoded>", len(text) // 2) - 20]


def _external_entity(text: str) -> str:
    head, _, rest = text.partition("<rss")
    return f"{head}{_OUTSIDE}\n<rss{rest}".replace("</description>", " &outside;</description>", 2)


DAMAGES: dict[str, Callable[[str], str]] = {
    "bare ampersand": _bare_ampersand,
    "undefined entities": _undefined_entities,
    "unclosed tag": _unclosed_tag,
    "junk before": _junk_before,
    "junk after": _junk_after,
    "control characters": _control_characters,
    "undeclared namespace": _undeclared_namespace,
    "cut in the middle": _cut_in_the_middle,
    "external entity": _external_entity,
}

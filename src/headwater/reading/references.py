"""Character references in HTML, in its text and in its attributes. Pure, and never raises.

In text `&section` means "§ion", as browsers read it and `html.unescape` too; in an attribute it is a part of a query.
"""

import html
import re
from html.entities import html5

# Taken whole, so that none is read again; a name goes as far as it can, as its next character decides.
_REFERENCE = re.compile(r"&(?:#[0-9]++;?|#[xX][0-9a-fA-F]++;?|([a-zA-Z][a-zA-Z0-9]*+)(;|=)?)")
# Python reads no number of more than 4,300 digits; of these, zeros in front aside, eight are beyond Unicode already.
_LONG_NUMBER = re.compile(r"&#(?=[0-9]{8})0*+([0-9]*+)")


def unescape(text: str) -> str:
    """A text as HTML means it. `html.unescape` raises ValueError where a number has thousands of digits."""
    return html.unescape(_LONG_NUMBER.sub(_shortened, text)) if "&" in text else text


def unescape_attribute(value: str) -> str:
    """An attribute's value as HTML means it: a name without `;` counts unless `=`, a letter or a digit follows it."""
    return _REFERENCE.sub(_meant, value) if "&" in value else value


def _shortened(number: re.Match[str]) -> str:
    return f"&#{number[1][:8] or 0}"


def _meant(reference: re.Match[str]) -> str:
    name, end = reference.groups()
    if name is None:
        return unescape(reference[0])
    return reference[0] if end == "=" else html5.get(f"{name}{end or ''}", reference[0])

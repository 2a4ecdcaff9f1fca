"""Character references in HTML, in its text and in its attributes. Pure, and never raises.

In text `&section` means "§ion", as browsers read it and `html.unescape` too; in an attribute it is a part of a query.
"""

import html
import re
from html.entities import html5

# Matched whole, so that none is decoded twice; a name is as long as possible, as the character after it decides.
_REFERENCE = re.compile(r"&(?:#[0-9]++;?|#[xX][0-9a-fA-F]++;?|([a-zA-Z][a-zA-Z0-9]*+)(;|=)?)")
# Python refuses numbers of more than 4,300 digits; without leading zeros, eight digits are beyond Unicode already.
_LONG_NUMBER = re.compile(r"&#(?=[0-9]{8})0*+([0-9]*+)")


def unescape(text: str) -> str:
    """A text with its references decoded. `html.unescape` raises ValueError for numbers of thousands of digits."""
    return html.unescape(_LONG_NUMBER.sub(_shortened, text)) if "&" in text else text


def unescape_attribute(value: str) -> str:
    """An attribute's value, decoded: a name without `;` counts unless `=`, a letter or a digit follows."""
    return _REFERENCE.sub(_meant, value) if "&" in value else value


def _shortened(number: re.Match[str]) -> str:
    return f"&#{number[1][:8] or 0}"


def _meant(reference: re.Match[str]) -> str:
    name, end = reference.groups()
    if name is None:
        return unescape(reference[0])
    return reference[0] if end == "=" else html5.get(f"{name}{end or ''}", reference[0])

"""Encodings by the names that the web gives them. Pure."""

# What browsers read under these labels (https://encoding.spec.whatwg.org/#names-and-labels), in Python's names.
WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
"""Each is a superset of what the label says, and what pages under that label really are."""

MANY_BYTES = ("gb", "hz", "big5", "cp932", "cp949", "cp950", "euc", "iso2022", "shift", "johab")
"""How encodings begin that take several bytes for a character: chance rarely makes valid text of these."""

REFUSED = frozenset(
    {"utf-7", "idna", "punycode", "unicode_escape", "raw-unicode-escape", "undefined", "mbcs", "oem"}
    | {"base64", "bz2", "hex", "quopri", "rot13", "uu", "zlib"}
)
"""Codecs of Python's that are no encodings of text, or of none that anything on the web may have."""

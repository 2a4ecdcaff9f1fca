"""Encodings by the names that the web gives them. Pure."""

import codecs

# What browsers read under these labels (https://encoding.spec.whatwg.org/#names-and-labels), in Python's names.
_WIDER = {
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
"""Each is a superset of the label's own encoding, and what pages with that label really use."""

MULTI_BYTE = ("gb", "hz", "big5", "cp932", "cp949", "cp950", "euc", "iso2022", "shift", "johab")
"""Prefixes of multi-byte encodings: random bytes are rarely valid in these."""

_REFUSED = frozenset(
    {"utf-7", "idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs", "oem"}
    | {"base64", "bz2", "hex", "quopri", "rot-13", "uu", "zlib"}
)
"""Python's codecs that do not encode text, or not on the web; each `_` as `-`."""

# Labels that browsers know and Python does not (https://encoding.spec.whatwg.org/#names-and-labels).
_ALIASES = {
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
    "iso8859-6": "csiso88596e csiso88596i iso-8859-6-e iso-8859-6-i",
    "iso8859-7": "sun_eu_greek",
    "iso8859-8": "csiso88598e csiso88598i iso-8859-8-e iso-8859-8-i visual logical",
    "iso8859-15": "csisolatin9",
    "koi8-r": "koi koi8",
    "koi8-u": "koi8-ru",
    "mac-roman": "csmacintosh mac x-mac-roman",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "cp874": "dos-874 windows-874",
    "gbk": "csgb2312 gb_2312 gb_2312-80 x-gbk",
    "big5": "cn-big5 x-x-big5",
    "euc_jp": "cseucpkdfmtjapanese x-euc-jp",
    "shift_jis": "windows-31j x-sjis",
    "euc_kr": "cseuckr csksc56011987 iso-ir-149 ks_c_5601-1989 ksc_5601 windows-949",
}
_CODECS = {
    **{label: codec for codec, labels in _ALIASES.items() for label in labels.split()},
    **{f"x-cp{page}": f"cp{page}" for page in range(1250, 1259)},
    **{f"iso8859{part}": f"iso8859-{part}" for part in (*range(1, 12), 13, 14, 15)},
}


def codec_of(label: str) -> str | None:
    """The codec that browsers use for this label; None for an unknown or refused encoding.

    UTF-16 and UTF-32 are refused: bytes in which a label can be read, one byte a letter, are in neither.
    """
    label = label.lower()
    try:
        name = codecs.lookup(_CODECS.get(label, label)).name
    except (LookupError, ValueError):
        return None
    refused = name.replace("_", "-") in _REFUSED or name.startswith(("utf-16", "utf-32"))
    return None if refused else _WIDER.get(name, name)

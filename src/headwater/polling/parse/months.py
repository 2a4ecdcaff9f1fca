"""Names of months, in the languages in which feeds write dates, and the zones that RFC 822 dates name."""

_ENGLISH = "jan feb mar apr may jun jul aug sep oct nov dec"
# One line per language, by what tells its months apart when cut to their first letters, accents as feeds write them.
_OTHERS = (
    "ιαν φεβ μάρ απρ μάι ιούν ιούλ αύγ σεπ οκτ νοέ δεκ",
    "ιαν φεβ μαρ απρ μαϊ ιουν ιουλ αυγ σεπ οκτ νοε δεκ",
    "ιαν φεβ μαώ απρ μαι ιον ιολ αυγ σεπ οκτ νοέ δεκ",
    "ιαν φεβ μάώ απρ μαΐ ιον ιολ αυγ σεπ οκτ νοέ δεκ",
    "janu febru márc ápri máj júni júli augu szept októ nove dece",
    "janu febru márc ápri máuj júni júli augu szept októ nove dece",
    "jän feb mär apr mai jun jul aug sep okt nov dez",
    "jan feb mrz apr mai jun jul aug sept okt nov dez",
    "janv févr mars avr mai juin juil août sept oct nov déc",
    "janv fevr mars avri mai juin juil aout sept oct nov dec",
    "ene feb mar abr may jun jul ago sep oct nov dic",
    "gen feb mar apr mag giu lug ago set ott nov dic",
    "jan fev mar abr mai jun jul ago set out nov dez",
    "jan feb mrt apr mei jun jul aug sep okt nov dec",
    "sty lut mar kwi maj cze lip sie wrz paź lis gru",
    "янв фев мар апр мая июн июл авг сен окт ноя дек",
    "янв фев мар апр май июн июл авг сен окт ноя дек",
    "oca şub mar nis may haz tem ağu eyl eki kas ara",
)

_ENGLISH_MONTHS = {name: number for number, name in enumerate(_ENGLISH.split(), 1)}
_OTHER_MONTHS = {name: number for line in _OTHERS for number, name in enumerate(line.split(), 1)}

ZONES: dict[str, float] = {
    **dict.fromkeys(("ut", "utc", "gmt", "z", "wet"), 0),
    "adt": -3, "ast": -4, "at": -4, "edt": -4, "est": -5, "et": -5, "cdt": -5, "cst": -6, "ct": -6,
    "mdt": -6, "mst": -7, "mt": -7, "pdt": -7, "pst": -8, "pt": -8, "akdt": -8, "akst": -9, "hst": -10,
    "a": -1, "n": 1, "m": -12, "y": 12,
    "met": 1, "mest": 2, "cet": 1, "cest": 2, "bst": 1, "west": 1, "eet": 2, "eest": 3, "msk": 3, "ist": 5.5,
    "sgt": 8, "hkt": 8, "awst": 8, "jst": 9, "kst": 9, "aest": 10, "aedt": 11, "nzst": 12, "nzdt": 13,
}


def month_number(name: str) -> int | None:
    """1 to 12 for a month's name or the start of it, in any of these languages."""
    name = name.lower()
    if (english := _ENGLISH_MONTHS.get(name[:3])) and name.isascii():
        return english
    return next((found for length in (5, 4, 3) if (found := _OTHER_MONTHS.get(name[:length]))), None)

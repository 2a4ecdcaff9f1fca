"""Names of months, in the languages in which sites write dates, and the zones that RFC 822 dates name."""

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
MONTHS = {name.title(): number for name, number in _ENGLISH_MONTHS.items()}
_OTHER_MONTHS = {name: number for line in _OTHERS for number, name in enumerate(line.split(), 1)}

_BY_OFFSET: tuple[tuple[float, str], ...] = (
    *((-12, "m"), (-10, "hst"), (-9, "akst"), (-8, "pst pt akdt pst8pdt"), (-7, "mst mt pdt mst7mdt")),
    *((-6, "cst ct mdt cst6cdt"), (-5, "est et cdt est5edt"), (-4, "ast at edt"), (-3, "adt"), (-1, "a")),
    *((0, "ut utc gmt z wet"), (1, "n met cet bst west"), (2, "mest cest eet"), (3, "eest msk"), (5.5, "ist")),
    *((8, "sgt hkt awst"), (9, "jst kst"), (10, "aest"), (11, "aedt"), (12, "y nzst"), (13, "nzdt")),
)
ZONES = {name: hours for hours, names in _BY_OFFSET for name in names.split()}


def month_number(name: str) -> int | None:
    """1 to 12 for a month's name or the start of it, in any of these languages."""
    if month := MONTHS.get(name):
        return month
    name = name.lower()
    if (english := _ENGLISH_MONTHS.get(name[:3])) and name.isascii():
        return english
    return next((found for length in (5, 4, 3) if (found := _OTHER_MONTHS.get(name[:length]))), None)

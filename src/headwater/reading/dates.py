"""Dates as feeds, pages and sitemaps write them, to aware UTC datetimes or None. Never raises."""

import re
from datetime import UTC, date, datetime, timedelta, timezone

MAX_LENGTH = 80

_ENGLISH = "jan feb mar apr may jun jul aug sep oct nov dec"
# One line per language: the first letters that distinguish its months, with accents as feeds write them.
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
_MONTHS = {name.title(): number for name, number in _ENGLISH_MONTHS.items()}
_OTHER_MONTHS = {name: number for line in _OTHERS for number, name in enumerate(line.split(), 1)}

_BY_OFFSET: tuple[tuple[float, str], ...] = (
    *((-12, "m"), (-10, "hst"), (-9, "akst"), (-8, "pst pt akdt pst8pdt"), (-7, "mst mt pdt mst7mdt")),
    *((-6, "cst ct mdt cst6cdt"), (-5, "est et cdt est5edt"), (-4, "ast at edt"), (-3, "adt"), (-1, "a")),
    *((0, "ut utc gmt z wet"), (1, "n met cet bst west"), (2, "mest cest eet"), (3, "eest msk"), (5.5, "ist")),
    *((8, "sgt hkt awst"), (9, "jst kst"), (10, "aest"), (11, "aedt"), (12, "y nzst"), (13, "nzdt")),
)
_ZONES = {name: hours for hours, names in _BY_OFFSET for name in names.split()}

_HALF = r"(?:\s*(?P<half>[ap])\.?m\b\.?)?"
_MINUTE = r"[:.h](?P<minute>\d{1,2})(?:[:.](?P<second>\d{1,2})(?:[.,]\d{1,20})?)?"
# An hour alone counts where it is marked: T10, 3 PM.
_TIME = rf"(?P<hour>\d{{1,2}})(?:{_MINUTE}|(?<=T\d\d)|(?=\s*[ap]\.?m\b)){_HALF}"
_WEEKDAY = r"(?:[^\W\d]+\.?\s*,?\s+|[^\W\d]+,)?"
_NTH = r"(?:st|nd|rd|th)?"
_NAME = r"(?P<name>[^\W\d]{3,12})"
_DAY = r"(?P<day>\d{1,2})"
_MONTH = r"(?P<month>\d{1,2})"
_YEAR = r"(?P<year>\d{4})"
_ZONE = r"(?P<zone>(?!\d).*)?"
_AT = rf"(?:[\s,T]+(?:at\s)?{_TIME})?{_ZONE}"
_ISO_DAY = rf"{_YEAR}(?:(?P<mark>[-/.]?)(?P<month>\d\d|(?<=\D)\d)(?:(?P=mark)(?P<day>\d\d|(?<=\D)\d))?)?"
_COMPACT = r"(?P<compact>\d{4}(?:\d\d)?)"
_CHINESE_TIME = r"(?P<hour>\d{1,2})[:時时点](?P<minute>\d{1,2})(?:[:分](?:(?P<second>\d{1,2})秒?)?)?"

_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        # Mon, 02 Jan 2006 15:04:05 -0700, and its many variants
        rf"{_WEEKDAY}{_DAY}{_NTH}[\s.,/-]+(?:de\s)?{_NAME}[\s.,/-]+(?:de\s)?(?P<year>\d{{4}}|\d\d){_AT}",
        # Mon Jan 2 15:04:05 -0700 2006
        rf"(?:[^\W\d]+\.?,?\s+)?{_NAME}\s+{_DAY}\s+{_TIME}(?:\s+(?P<zone>\S{{1,12}}))??\s+{_YEAR}",
        # January 2, 2006 3:04 PM EST
        rf"{_WEEKDAY}{_NAME}\.?\s+{_DAY}{_NTH},?\s+{_YEAR}{_AT}",
        # 2006-W01-1, 2006-002
        rf"{_YEAR}-?(?:W(?P<week>\d\d)(?:-?(?P<weekday>[1-7]))?|(?P<ordinal>\d{{3}}))(?:[\sT]+{_TIME})?{_ZONE}",
        # 2004-július-13T9:15-03:00
        rf"{_YEAR}-{_NAME}-{_DAY}T{_TIME}{_ZONE}",
        # 2004년 05월 28일 01:31:15
        rf"{_YEAR}(?P<korean>년)\s*{_MONTH}월\s*{_DAY}일(?:\s+{_TIME})?{_ZONE}",
        # 2020年5月6日, 2020年5月6日 10時11分
        rf"{_YEAR}年\s*{_MONTH}月\s*{_DAY}日(?:\s*{_CHINESE_TIME})?{_ZONE}",
        # 2004-05-25 오후 11:23:17
        rf"{_YEAR}-(?P<month>\d\d)-(?P<day>\d\d)\s+(?P<korean>오전|오후)\s+{_TIME}{_ZONE}",
        # 20060102150405
        rf"{_YEAR}(?P<month>\d\d)(?P<day>\d\d){_COMPACT}{_ZONE}",
        # January 2006
        rf"{_NAME}\.?,?\s+{_YEAR}",
        # 2006-01-02T15:04:05.999+07:00, 20060102, 2006-01, 2006/1/2 15:04 EDT
        rf"(?:{_WEEKDAY}(?=\d{{4}}[-/.]?\d))?{_ISO_DAY}(?:[\s,T]+(?:at\s)?(?:{_TIME}|{_COMPACT}(?:[.,]\d{{1,20}})?))?{_ZONE}",
    )
)
_OFFSET = re.compile(
    r"(?:utc|gmt|etc/gmt|z)?\s*(?P<sign>[+\-−])\s*(?P<hours>\d{1,2})(?::?(?P<minutes>\d\d))?(?!\d)", re.IGNORECASE
)
_NAMED_ZONE = re.compile(r"[(\[][^\d()]+[)\]]|[a-z_]+(?:/[a-z_-]+)+", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_PLAIN_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d:\d\d(?:\.\d{1,20})?(?:Z|[+-]\d\d:?\d\d)?)?", re.ASCII)
_PLAIN_822 = re.compile(
    r"(?:\w\w\w, )?(\d\d?) (\w\w\w) (\d{4}) (\d\d):(\d\d):(\d\d) (?:GMT|UTC|Z|([+-])(\d\d)(\d\d))", re.ASCII
)
_KOREA = timezone(timedelta(hours=9))
_LATE_CENTURY = 90
_CLOCK = ("hour", "minute", "second")


def parse_date(text: str | None) -> datetime | None:
    """The time that a text means, in UTC; a date without a zone is UTC."""
    if not text:
        return None
    text = text.strip()
    if len(text) > MAX_LENGTH:
        return None
    try:
        if moment := _rfc822_by_position(text) or _common(text):
            return moment
        text = " ".join(text.split())
        found = (form.fullmatch(text) for form in _FORMS)
        return next((moment for one in found if one and (moment := _moment(one.groupdict()))), None)
    except (ValueError, OverflowError):
        return None


def _rfc822_by_position(text: str) -> datetime | None:
    """`Mon, 02 Jan 2006 15:04:05 -0700`, as most feeds write it, each part at a fixed position."""
    month = _MONTHS.get(text[8:11]) if text[3:5] == ", " else None
    if month is None:
        return None
    zone = text[26:]
    offset = "+00:00" if zone == "GMT" else f"{zone[:3]}:{zone[3:]}"
    try:
        return datetime.fromisoformat(f"{text[12:16]}-{month:02}-{text[5:7]}T{text[17:25]}{offset}").astimezone(UTC)
    except ValueError:
        return None


def _common(text: str) -> datetime | None:
    """ISO 8601 and RFC 822 in full, the forms of nearly all feeds."""
    if text[4:5] == "-":
        try:
            moment = datetime.fromisoformat(text) if _PLAIN_ISO.fullmatch(text) else None
        except ValueError:  # 23:59:60 and 24:00:00
            return None
        return moment and (moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC))
    if not (found := _PLAIN_822.fullmatch(text)):
        return None
    day, name, year, hour, minute, second, sign, hours, minutes = found.groups()
    month = _month_number(name)
    if month is None or second == "60" or hour == "24":
        return None
    moment = datetime(int(year), month, int(day), int(hour), int(minute), int(second), tzinfo=UTC)
    if not sign or (hours == "00" and minutes == "00"):
        return moment
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return moment + offset if sign == "-" else moment - offset


def _day(parts: dict[str, str | None]) -> date | None:
    year = int(parts["year"] or 0)
    if len(parts["year"] or "") <= 2:
        year += 1900 if year >= _LATE_CENTURY else 2000
    if week := parts.get("week"):
        return date.fromisocalendar(year, int(week), int(parts["weekday"] or 1))
    if ordinal := parts.get("ordinal"):
        day = date(year, 1, 1) + timedelta(days=int(ordinal) - 1)
        if day.year != year:
            raise ValueError("no such day")
        return day
    month = _month_number(parts["name"] or "") if parts.get("name") else int(parts.get("month") or 1)
    return date(year, month, int(parts.get("day") or 1)) if month else None


def _moment(parts: dict[str, str | None]) -> datetime | None:
    day, zone = _day(parts), _zone(parts)
    if day is None or zone is None:
        return None
    hour, minute, second = _clock(parts)
    moment = datetime(day.year, day.month, day.day, tzinfo=zone) + timedelta(hours=hour, minutes=minute, seconds=second)
    return moment.astimezone(UTC)


def _clock(parts: dict[str, str | None]) -> tuple[int, int, int]:
    compact = parts.get("compact")
    if compact and not parts.get("day"):
        raise ValueError("no time without a day")
    written = (compact[:2], compact[2:4], compact[4:]) if compact else (parts.get(name) for name in _CLOCK)
    hour, minute, second = (int(part or 0) for part in written)
    half = (parts.get("half") or "").lower() or {"오전": "a", "오후": "p"}.get(parts.get("korean") or "", "")
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    if hour > 24 or minute > 59 or second > 60 or (hour == 24 and (minute or second)):
        raise ValueError("no such time")
    return hour, minute, min(second, 59)


def _zone(parts: dict[str, str | None]) -> timezone | None:
    """The zone of a date, UTC where it has none or an unknown one; None where the rest of the text is not a zone."""
    if parts.get("korean"):
        return _KOREA
    text = (parts.get("zone") or "").strip(" .,;")
    if offset := _OFFSET.match(text):
        size = timedelta(hours=int(offset["hours"]), minutes=int(offset["minutes"] or 0))
        return None if _DIGIT.search(text, offset.end()) else timezone(size if offset["sign"] == "+" else -size)
    name = text.strip("()[]. ").lower().removeprefix("etc/")
    if not name or name in _ZONES:
        return timezone(timedelta(hours=_ZONES.get(name, 0)))
    # After a time any words are a zone, written out or unknown; after a day they must look like one.
    timed = parts.get("hour") or parts.get("compact")
    return UTC if _NAMED_ZONE.fullmatch(text) or (timed and not _DIGIT.search(text)) else None


def _month_number(name: str) -> int | None:
    """1 to 12 for the name of a month or its beginning, in any of these languages."""
    if month := _MONTHS.get(name):
        return month
    name = name.lower()
    if (english := _ENGLISH_MONTHS.get(name[:3])) and name.isascii():
        return english
    return next((found for length in (5, 4, 3) if (found := _OTHER_MONTHS.get(name[:length]))), None)

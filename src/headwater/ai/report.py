"""Usage of a month: by day, by purpose and model, and a forecast. Pure."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from headwater.ai.decide import month_of, to_micros
from headwater.ai.types import MICROS, Budget, UsageDay, UsageGroup, UsageLine, UsageTotal
from headwater.errors import Invalid

DAY = timedelta(days=1)
CEILING_MOST = 1_000_000 * MICROS
MONTHS_AHEAD = 12
# Commas between thousands only: 12,50 is not 1250.
_DOLLARS = re.compile(r"([0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.([0-9]*))?")


@dataclass(frozen=True, slots=True)
class MonthReport:
    budget: Budget
    lines: Sequence[UsageLine]
    now: datetime

    @property
    def total(self) -> UsageTotal:
        return total_of(self.lines)

    @property
    def groups(self) -> list[UsageGroup]:
        """By purpose and model, the dearest first."""
        lines: dict[tuple[str, str], list[UsageLine]] = defaultdict(list)
        for line in self.lines:
            lines[line.purpose, line.model].append(line)
        groups = [UsageGroup(purpose, model, total_of(found)) for (purpose, model), found in lines.items()]
        return sorted(groups, key=lambda one: (-one.total.cost_micros, one.purpose, one.model))

    @property
    def days(self) -> list[UsageDay]:
        """Every day of the month up to today, also without calls."""
        last = min(month_after(self.budget.month) - DAY, self.now.astimezone(UTC).date())
        return days_of(self.lines, self.budget.month, last)

    @property
    def forecast_micros(self) -> int:
        """The cost at the end of the month if its other days cost as much as those so far."""
        spent, left = self.budget.spent_micros, self._end - self.now
        return spent + round(self._rate * (left / DAY)) if left > timedelta(0) else spent

    @property
    def reached_on(self) -> date | None:
        """The day in this month on which the ceiling is reached at this rate, if it is."""
        left = self.budget.ceiling_micros - self.budget.spent_micros
        if self._rate <= 0 or left < 0:
            return None
        at = self.now + DAY * min(left / self._rate, 366)
        return at.date() if at < self._end else None

    @property
    def _rate(self) -> float:
        """Micro-dollars a day. The first day counts as a whole one: a few minutes say little."""
        elapsed = self.now - (self._end - DAY * (month_after(self.budget.month) - self.budget.month).days)
        return self.budget.spent_micros / max(elapsed / DAY, 1)

    @property
    def _end(self) -> datetime:
        return datetime.combine(month_after(self.budget.month), datetime.min.time(), UTC)


def total_of(lines: Iterable[UsageLine]) -> UsageTotal:
    numbers = [(one.requests, one.failures, one.tokens_in, one.tokens_out, one.cost_micros) for one in lines]
    return UsageTotal(*(sum(column) for column in zip(*numbers, strict=True)))


def days_of(lines: Iterable[UsageLine], first: date, last: date) -> list[UsageDay]:
    """Each day from the first to the last."""
    found: dict[date, list[UsageLine]] = defaultdict(list)
    for line in lines:
        found[line.day].append(line)
    days = (first + DAY * number for number in range((last - first).days + 1))
    return [UsageDay(day, total_of(found[day])) for day in days]


def month_after(month: date) -> date:
    return (month.replace(day=28) + timedelta(days=4)).replace(day=1)


def read_month(text: str, now: datetime) -> date:
    """A month such as 2026-11 whose ceiling may be changed: this one, or one of the next. Raises Invalid."""
    try:
        month = datetime.strptime(text, "%Y-%m").replace(tzinfo=UTC).date()
    except ValueError:
        raise Invalid("Invalid month. Write it like 2026-11.") from None
    first = month_of(now)
    ahead = (month.year - first.year) * 12 + month.month - first.month
    if ahead < 0:
        raise Invalid("This month is over: its ceiling cannot be changed.")
    if ahead > MONTHS_AHEAD:
        raise Invalid(f"Only the next {MONTHS_AHEAD} months have a ceiling.")
    return month


def read_dollars(text: str) -> int:
    """An amount such as 250 or 12.50, in micro-dollars. Raises Invalid."""
    found = _DOLLARS.fullmatch(text.strip().removeprefix("$"))
    if found is None:
        raise Invalid("Enter an amount in dollars, such as 250, 1,250 or 12.50.")
    whole, fraction = found[1].replace(",", ""), found[2] or ""
    if len(whole) > 9 or len(fraction) > 6 or (micros := to_micros(Decimal(f"{whole}.{fraction}"))) > CEILING_MOST:
        raise Invalid("Enter an amount from 0 to 1,000,000 dollars.")
    return micros

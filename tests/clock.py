"""A clock that stands still until it is moved."""

from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class MovableClock:
    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> datetime:
        """Forward by so many seconds, minutes, hours or days."""
        self.now += timedelta(**by)
        return self.now

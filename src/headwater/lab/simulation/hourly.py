"""What Headwater is measured against: every feed once an hour, and nothing ever given up."""

from random import Random

from headwater.lab.simulation.types import Answer, Told
from headwater.lab.simulation.world import HOUR, World
from headwater.polling.types import PollFailed


class Hourly:
    """Every feed once an hour, come what may; spread a little, so that a limit does not always hit the same."""

    def __init__(self, world: World) -> None:
        self._chance = Random(f"{world.seed} hourly")  # noqa: S311  a world, not a secret
        self.told = Told()

    def wants_full(self, feed: int, at: float) -> bool:  # noqa: ARG002
        """It trusts a 304."""
        return False

    def next_poll(self, feed: int, answer: Answer, due: float, at: float) -> tuple[float, float]:  # noqa: ARG002
        """An hour after the last one was due, or after now where polls have queued up for longer than that."""
        self.told.warnings += isinstance(answer, PollFailed)
        next_at = due + HOUR * (0.95 + 0.1 * self._chance.random())
        return next_at if next_at > at else at + HOUR, at

    def finish(self, end: float) -> None:
        """Nothing is left open."""

"""Pseudo-random choices that are the same in any process."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")


class SeededChoice:
    """A pseudo-random generator: the same sequence for the same seed, in any process."""

    def __init__(self, *seed: object) -> None:
        text = "/".join(map(str, seed)).encode()
        self._state = int.from_bytes(blake2b(text, digest_size=8).digest())

    def roll(self, sides: int) -> int:
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % 2**64  # Knuth's MMIX generator
        return (self._state >> 33) % sides

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.roll(len(choices))]

    def sample(self, choices: Sequence[T], count: int) -> list[T]:
        left = list(choices)
        return [left.pop(self.roll(len(left))) for _ in range(min(count, len(left)))]

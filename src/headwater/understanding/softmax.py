"""Multinomial logistic regression with an L2 penalty, by L-BFGS, in numpy alone.

docs/decisions/0018-logistic-regression-in-numpy.md says why it is not scikit-learn's.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.floating[Any]]

_MEMORY: Final = 8  # steps that L-BFGS remembers
_SUFFICIENT: Final = 1e-4  # the share of the promised decrease that a step must bring
_SHORTEST: Final = 1e-10


class Rows(Protocol):
    """Examples, one a row: a dense or a sparse matrix of n rows and d columns."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def times(self, weights: Floats) -> Floats:
        """(n, d) times the transpose of (k, d): (n, k)."""
        ...

    def times_transposed(self, values: Floats) -> Floats:
        """The transpose of (n, k) times (n, d): (k, d)."""
        ...


@dataclass(frozen=True, slots=True)
class DenseRows:
    matrix: Floats

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape[0], self.matrix.shape[1]

    def times(self, weights: Floats) -> Floats:
        return self.matrix @ weights.T

    def times_transposed(self, values: Floats) -> Floats:
        return values.T @ self.matrix


@dataclass(frozen=True, slots=True)
class SparseRows:
    """The values that are not 0, with their rows and columns."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Floats
    shape: tuple[int, int]

    def times(self, weights: Floats) -> Floats:
        height = self.shape[0]
        by_class = [np.bincount(self.rows, self.values * one[self.columns], height) for one in weights]
        return np.stack(by_class, axis=1, dtype=np.float64)

    def times_transposed(self, values: Floats) -> Floats:
        width = self.shape[1]
        by_class = [np.bincount(self.columns, self.values * one[self.rows], width) for one in values.T]
        return np.stack(by_class, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Regression:
    weights: Floats  # (classes, columns)
    bias: Floats  # (classes,)

    def probabilities(self, rows: Rows) -> Floats:
        return softmax(rows.times(self.weights) + self.bias)


def softmax(scores: Floats) -> Floats:
    """Probabilities along the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def fit(
    rows: Rows,
    targets: Floats,
    *,
    row_weights: Floats | None = None,
    inverse_penalty: float = 1.0,
    tolerance: float = 1e-5,
) -> Regression:
    """Minimise the cross-entropy with `targets`, of which each row is a distribution over the classes, plus
    |weights|² / (2 · inverse_penalty). The bias has no penalty. `row_weights`: how much each row counts; their mean
    is 1."""
    height, width = rows.shape
    counted = np.ones((height, 1)) if row_weights is None else row_weights.reshape(height, 1)
    classes: int = targets.shape[1]
    penalty = 1 / (inverse_penalty * height)

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights, bias = flat[:-classes].reshape(classes, width), flat[-classes:]
        scores = rows.times(weights) + bias
        scores -= scores.max(axis=1, keepdims=True)
        totals = np.log(np.exp(scores).sum(axis=1, keepdims=True))
        error = counted * (np.exp(scores - totals) - targets) / height
        value = float((counted * targets * (totals - scores)).sum() / height + penalty / 2 * (weights * weights).sum())
        slope = rows.times_transposed(error) + penalty * weights
        return value, np.concatenate([slope.ravel(), error.sum(axis=0)])

    found = minimise(loss, np.zeros(classes * (width + 1), dtype=np.float64), tolerance=tolerance)
    return Regression(found[:-classes].reshape(classes, width), found[-classes:])


def minimise(
    function: Callable[[Floats], tuple[float, Floats]], start: Floats, *, tolerance: float, max_steps: int = 500
) -> Floats:
    """The minimum of a convex function that returns its value and gradient, until no slope exceeds the tolerance."""
    at = start
    value, gradient = function(at)
    changes: deque[tuple[Floats, Floats, float]] = deque(maxlen=_MEMORY)
    for _ in range(max_steps):
        if np.abs(gradient).max() <= tolerance:
            break
        direction = _direction(gradient, changes)
        slope = float(gradient @ direction)
        step = 1.0 if changes else min(1.0, 1 / float(np.abs(gradient).sum()))
        next_value, next_gradient = function(at + step * direction)
        while next_value > value + _SUFFICIENT * step * slope and step > _SHORTEST:
            step /= 2
            next_value, next_gradient = function(at + step * direction)
        if step <= _SHORTEST:
            break  # as near as these numbers allow
        moved, bent = step * direction, next_gradient - gradient
        at, value, gradient = at + moved, next_value, next_gradient
        if (curvature := float(moved @ bent)) > 0:
            changes.append((moved, bent, curvature))
    return at


def _direction(gradient: Floats, changes: deque[tuple[Floats, Floats, float]]) -> Floats:
    """Downhill, corrected by the curvature of the last steps (Nocedal and Wright, Algorithm 7.4)."""
    direction = -gradient
    shares: list[float] = []
    for moved, bent, curvature in reversed(changes):
        shares.append(float(moved @ direction) / curvature)
        direction = direction - shares[-1] * bent
    if changes:
        _, bent, curvature = changes[-1]
        direction = direction * (curvature / float(bent @ bent))
    for (moved, bent, curvature), share in zip(changes, reversed(shares), strict=True):
        direction = direction + (share - float(bent @ direction) / curvature) * moved
    return direction

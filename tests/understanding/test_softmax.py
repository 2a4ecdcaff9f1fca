"""The regression, against scikit-learn's on the same examples."""

import warnings

import numpy as np
import pytest

from headwater.understanding.softmax import DenseRows, SparseRows, fit, minimise, softmax

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from sklearn.linear_model import LogisticRegression

RANDOM = np.random.default_rng(7)
CENTRES = RANDOM.normal(size=(4, 12))
ANSWERS = RANDOM.integers(0, 4, size=150)
EXAMPLES = CENTRES[ANSWERS] + RANDOM.normal(size=(150, 12)) * 1.5
TARGETS = np.eye(4)[ANSWERS]


@pytest.mark.parametrize("inverse_penalty", [0.1, 1.0, 10.0])
def test_the_solution_is_that_of_scikit_learn(inverse_penalty):
    theirs = LogisticRegression(C=inverse_penalty, tol=1e-10, max_iter=10_000).fit(EXAMPLES, ANSWERS)
    ours = fit(DenseRows(EXAMPLES), TARGETS, inverse_penalty=inverse_penalty, tolerance=1e-9)
    assert ours.weights == pytest.approx(theirs.coef_, abs=1e-4)
    assert ours.bias - ours.bias.mean() == pytest.approx(theirs.intercept_ - theirs.intercept_.mean(), abs=1e-4)
    assert ours.probabilities(DenseRows(EXAMPLES)) == pytest.approx(theirs.predict_proba(EXAMPLES), abs=1e-5)


def test_sparse_rows_give_the_same_as_dense_ones():
    examples = np.where(RANDOM.random(EXAMPLES.shape) < 0.3, EXAMPLES, 0)
    examples[5] = 0  # an example without any value
    rows, columns = examples.nonzero()
    sparse = SparseRows(rows, columns, examples[rows, columns], (150, 12))
    dense = fit(DenseRows(examples), TARGETS, tolerance=1e-9)
    assert fit(sparse, TARGETS, tolerance=1e-9).weights == pytest.approx(dense.weights, abs=1e-5)
    assert dense.probabilities(sparse) == pytest.approx(dense.probabilities(DenseRows(examples)))


def test_a_target_may_be_shared_by_classes():
    """An example of two classes counts half for each."""
    half = fit(DenseRows(EXAMPLES[:1]), np.array([[0.5, 0.5, 0, 0]]), tolerance=1e-7)
    assert half.probabilities(DenseRows(EXAMPLES[:1]))[0] == pytest.approx([0.5, 0.5, 0, 0], abs=1e-3)


def test_the_minimum_of_a_narrow_valley_is_found():
    scales = np.logspace(0, 2, 30)
    found = minimise(lambda at: (float(scales @ (at - 1) ** 2), 2 * scales * (at - 1)), np.zeros(30), tolerance=1e-8)
    assert found == pytest.approx(np.ones(30), abs=1e-5)


def test_large_scores_do_not_overflow():
    assert softmax(np.array([1e6, 0.0, -1e6])) == pytest.approx([1, 0, 0])

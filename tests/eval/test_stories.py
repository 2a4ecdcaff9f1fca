"""Floors for grouping articles into stories: on our own articles always, on the headlines where they lie beside us."""

import pytest

from tests.eval import stories
from tests.eval.stories import B3

OWN = B3(precision=0.95, recall=0.65)
OWN_RATIO = 1.3
HALF = B3(precision=0.85, recall=0.72)  # of each
HALVES_F1 = 0.86  # mean
ALL = B3(precision=0.86, recall=0.8)
RATIO = 1.3
SEEDS = (1, 2, 3)


def test_our_own_articles_are_grouped_better_than_by_their_titles() -> None:
    articles = stories.own()

    ours = stories.group(articles)

    titles = stories.group_by_titles(articles, stories.best_by_titles(articles))
    assert (ours.precision >= OWN.precision, ours.recall >= OWN.recall) == (True, True), ours
    assert ours.f1 >= OWN_RATIO * titles.f1


needs_corpus = pytest.mark.skipif(not stories.HEADLINES.is_file(), reason="the headlines are not here")


@needs_corpus
@pytest.mark.soak
def test_halves_of_the_headlines_score_alike() -> None:
    halves = [half for seed in SEEDS for half in stories.halves(stories.headlines(), seed)]

    scores = [stories.group(half) for half in halves]

    assert min(one.precision for one in scores) >= HALF.precision, scores
    assert min(one.recall for one in scores) >= HALF.recall, scores
    assert sum(one.f1 for one in scores) / len(scores) >= HALVES_F1


@needs_corpus
@pytest.mark.soak
def test_all_headlines_together_are_grouped_better_than_by_their_titles() -> None:
    ours = stories.group(stories.headlines())

    titles = stories.group_by_titles(stories.headlines(), stories.best_by_titles(stories.headlines()))
    assert (ours.precision >= ALL.precision, ours.recall >= ALL.recall) == (True, True), ours
    assert ours.f1 >= RATIO * titles.f1


@needs_corpus
def test_with_a_feed_for_each_publisher_the_precision_is_no_lower() -> None:
    assert stories.group(stories.headlines(by_publisher=True)).precision >= ALL.precision


def test_b3_of_known_groups() -> None:
    # Of the literature's example: one group of two stories.
    score = stories.score_groups(["a", "a", "a", "b"], ["x", "x", "y", "y"])

    assert score.precision == pytest.approx((2 / 3 + 2 / 3 + 1 / 3 + 1) / 4)
    assert score.recall == pytest.approx((1 + 1 + 1 / 2 + 1 / 2) / 4)

"""How often the topic is right, on texts that the model was not trained on.

The floors are what was reached when they were set, less a little for other versions of the libraries below.
"""

import pytest

from tests.eval.topics import NEWS, cross_validated, learn_ours, learn_plain, news, own_material

OWN_FLOOR = 0.88
NEWS_FLOORS = {100: 0.77, 1_000: 0.85}
RATIO_GOALS = {100: 1.1, 1_000: 1.0}


def test_topics_of_our_own_material_stay_above_their_floor() -> None:
    ours = cross_validated(learn_ours, own_material())
    print(f"{ours:.4f}")  # noqa: T201

    assert ours >= OWN_FLOOR


@pytest.mark.skipif(not NEWS.is_file(), reason="the corpora do not lie beside the project")
@pytest.mark.parametrize("labels", NEWS_FLOORS)
def test_topics_of_news_items_stay_above_their_floor_and_above_plain_scikit_learn(labels: int) -> None:
    ours, theirs = (cross_validated(learn, news(), labels) for learn in (learn_ours, learn_plain))
    print(f"{labels} labels: {ours:.4f}, scikit-learn {theirs:.4f}")  # noqa: T201

    assert ours >= NEWS_FLOORS[labels]
    assert ours >= RATIO_GOALS[labels] * theirs

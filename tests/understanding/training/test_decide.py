from datetime import timedelta

import numpy as np
import pytest

from headwater.labels.vocabulary import HEALTH, SCIENCE, SPORT
from headwater.understanding.training.decide import MIN_COMPARED, MIN_LABELS, classes_of, too_few, unseen_by
from headwater.understanding.training.types import Example, PersonExample
from tests.clock import START


@pytest.mark.parametrize(
    ("topics", "categories", "scores", "expected"),
    [
        ([SPORT], [], {}, ("sport",)),
        ([SPORT, HEALTH], [], {}, ("sport", "health")),
        ([SPORT], ["Politics"], {}, ("sport",)),  # a topic of one class needs no category
        ([SCIENCE], ["Technology"], {"science": 0.9}, ("technology",)),
        ([SCIENCE], ["Science & Health"], {"technology": 0.9}, ("science",)),
        ([SCIENCE], [], {"science": 0.2, "technology": 0.3}, ("technology",)),
        ([SCIENCE], ["Technology", "Science & Health"], {"science": 0.4, "technology": 0.3}, ("science",)),
        (["a topic of another version"], [], {}, ()),
    ],
)
def test_peoples_topics_stand_for_classes(topics, categories, scores, expected):
    assert classes_of(topics, categories, scores) == expected


def test_the_active_model_is_tested_only_on_labels_that_are_newer():
    example = Example(np.zeros(256, np.float32), {}, ("sport",))
    given = [PersonExample(example, START + timedelta(days=day)) for day in (0, 1, 2)]
    assert unseen_by(None, given) == [True, True, True]
    assert unseen_by(START + timedelta(days=1), given) == [False, False, True]


def test_too_few_labels_are_named():
    assert f"needs {MIN_LABELS}" in too_few(MIN_LABELS - 1, MIN_LABELS - 1)
    assert f"{MIN_COMPARED} are needed" in too_few(MIN_LABELS, MIN_COMPARED - 1)
    assert too_few(MIN_LABELS, MIN_COMPARED) == ""

"""Training from people's labels, and the comparison with the active model."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from headwater.labels.vocabulary import CLASSES
from headwater.understanding.embedding import embed
from headwater.understanding.topics import load_base_model
from headwater.understanding.training.compare import train_and_compare
from headwater.understanding.training.train import (
    accuracy,
    embedding_share,
    fit_model,
    folds_of,
    material_examples,
    read_material,
    train,
)
from headwater.understanding.training.types import Example, PersonExample, TrainingReport
from headwater.understanding.words import word_counts
from tests.clock import START

# Texts that the model which ships gets wrong: it takes them for the economy.
SHOPS = ["pasta", "jeans", "tea", "lamps", "cheese", "boots", "soap", "chairs", "bread", "shirts", "knives", "honey"]


def an_example(text: str, *classes: str) -> Example:
    return Example(embed([text])[0], word_counts(text), classes)


def shopping(count: int) -> list[PersonExample]:
    texts = [f"Shops sell more {SHOPS[at % 12]} as prices fall in week {at} of the market" for at in range(count)]
    return [PersonExample(an_example(text, "lifestyle"), START + timedelta(hours=at)) for at, text in enumerate(texts)]


def test_a_model_learns_from_peoples_labels():
    given = shopping(40)
    base = load_base_model()
    trained = train_and_compare(given, active=base, active_trained_at=None, version="new")

    assert (trained.report.labels, trained.report.compared) == (40, 40)
    assert (trained.report.version, trained.report.active_version) == ("new", base.version)
    assert trained.report.accuracy_before < 0.3
    assert trained.report.accuracy > 0.9
    assert not trained.report.is_worse
    scores = trained.model.scores(given[0].example.embedding, given[0].example.word_counts)
    assert max(scores, key=scores.__getitem__) == "lifestyle"
    assert trained.model.version == "new"


def test_a_model_that_is_worse_is_reported_as_worse():
    """The labels have no pattern: the active model learned them by heart, a new one cannot guess them."""
    texts = [f"{a} {b}" for a in ("alpha", "beta", "gamma", "delta", "omega") for b in SHOPS[:8]]
    names = ["sport", "weather", "crime", "religion"]
    given = [PersonExample(an_example(text, names[hash_of(text) % 4]), START) for text in texts]
    active = train([one.example for one in given] * 20, version="active")

    report = train_and_compare(given, active=active, active_trained_at=None, version="new").report

    assert report.accuracy < 0.6 < report.accuracy_before
    assert report.is_worse


def hash_of(text: str) -> int:
    return sum(ord(letter) * at * at for at, letter in enumerate(text, 3)) // 7


def test_only_labels_newer_than_the_active_model_are_compared():
    given = shopping(40)
    trained_at = given[24].labelled_at
    report = train_and_compare(given, active=load_base_model(), active_trained_at=trained_at, version="new").report
    assert (report.labels, report.compared) == (40, 15)


def test_folds_spread_each_class():
    examples = [an_example("", name) for name in ["sport"] * 10 + ["crime"] * 5]
    folds = folds_of(examples)
    assert [sorted(folds[:10].tolist()), sorted(folds[10:].tolist())] == [sorted([0, 1, 2, 3, 4] * 2), [0, 1, 2, 3, 4]]


def test_an_example_without_words_or_embedding_does_no_harm():
    examples = [*material_examples()[::6], an_example("", "sport")]
    model = train(examples, version="1")
    assert sum(model.scores(None, {}).values()) == pytest.approx(1)


def test_classes_of_one_topic_are_not_told_apart_in_the_accuracy():
    example = an_example("", "science")
    assert accuracy([example, example], [{"technology": 1.0, "sport": 0.0}, {"technology": 0.0, "sport": 1.0}]) == 0.5
    assert accuracy([], []) == 0


def test_many_labels_of_one_topic_do_not_hide_the_others():
    """Texts of all topics are said to be about society. Such a model took 94 % of the others for society, too."""
    material, texts = material_examples(), [text for _, text in read_material()]
    seen, unseen = material[::2], material[1::2]
    labelled = [an_example(f"{one[:120]} {other[-120:]}", "society") for one, other in pairwise(texts)]

    model = fit_model([*seen, *labelled], "1", tuple(CLASSES))

    assert accuracy(unseen, [model.scores(one.embedding, one.word_counts) for one in unseen]) > 0.7


@pytest.mark.parametrize(("of_material", "is_worse"), [(0.9, False), (0.81, False), (0.79, True)])
def test_a_model_that_is_worse_at_the_topics_of_the_material_is_worse(of_material: float, is_worse: bool) -> None:
    report = TrainingReport("new", "base", 40, 40, 0.9, 0.2, of_material=of_material, of_material_alone=0.9)
    assert (report.is_worse, report.is_narrow) == (is_worse, is_worse)


def test_labels_of_topics_that_fit_no_text_are_refused():
    """Half of the texts of each topic are said to be about another."""
    names = list(CLASSES)
    wrong = [
        PersonExample(replace(one, classes=(names[(names.index(one.classes[0]) + 1) % len(names)],)), START)
        for one in material_examples()[::2]
    ]

    report = train_and_compare(wrong, active=load_base_model(), active_trained_at=None, version="new").report

    assert report.is_narrow


def test_embeddings_weigh_less_the_more_examples_there_are():
    assert [round(embedding_share(count), 3) for count in (0, 1, 100, 316, 1_000, 50_000)] == [
        0.7,
        0.7,
        0.7,
        0.6,
        0.5,
        0.5,
    ]

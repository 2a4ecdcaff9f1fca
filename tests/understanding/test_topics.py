"""The model of topics: what it says of a text, and how it is stored."""

import json
from dataclasses import replace

import numpy as np
import pytest

from headwater.labels.types import Scheme
from headwater.labels.vocabulary import CLASSES, SCIENCE
from headwater.understanding.embedding import embed
from headwater.understanding.model_file import MAX_BYTES, InvalidModel, decode, encode
from headwater.understanding.topics import load_base_model, topic_labels
from headwater.understanding.training.train import material_examples, material_version, read_material, train
from headwater.understanding.words import word_counts

MODEL = load_base_model()


def scores_of(text: str) -> dict[str, float]:
    return MODEL.scores(embed([text])[0], word_counts(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Striker scores twice as United win the derby in front of a full stadium", "sport"),
        ("The central bank cut interest rates after inflation and bond yields fell", "economy"),
        ("Voters elect a new parliament; the opposition party hopes to form a coalition", "politics"),
        ("Light rain and a cold northerly wind are forecast for the coming night", "weather"),
        ("Security update for the operating system fixes a flaw in the browser engine", "technology"),
        ("Astronomers observed a neutron star that spins more slowly than theory allows", "science"),
        ("Nurses vaccinate patients against influenza in hospitals and clinics", "health"),
        ("Roast the carrots with honey and thyme, and serve them with yoghurt", "lifestyle"),
    ],
)
def test_the_most_probable_class_of_a_plain_text_is_right(text, expected):
    scores = scores_of(text)
    assert max(scores, key=scores.__getitem__) == expected


def test_probabilities_sum_to_one():
    for text in ("", "the", "Zxqv blorft", "Police arrest two after a robbery", "x" * 30_000):
        scores = scores_of(text)
        assert list(scores) == list(CLASSES)
        assert sum(scores.values()) == pytest.approx(1)
        assert all(0 <= one <= 1 for one in scores.values())


def test_nothing_is_said_of_a_text_without_words():
    assert topic_labels(scores_of(""), "1") == []
    assert topic_labels(MODEL.scores(None, {}), "1") == []


def test_words_alone_or_an_embedding_alone_are_enough():
    text = "The goalkeeper saved a penalty and the team won the league match"
    by_words, by_embedding = MODEL.scores(None, word_counts(text)), MODEL.scores(embed([text])[0], {})
    assert max(by_words, key=by_words.__getitem__) == max(by_embedding, key=by_embedding.__getitem__) == "sport"


def test_an_embedding_that_is_not_finite_is_ignored():
    counts = word_counts("The goalkeeper saved a penalty and the team won the league match")
    assert MODEL.scores(np.full(256, np.nan, np.float32), counts) == MODEL.scores(None, counts)


def test_labels_are_topics_and_categories_with_summed_scores():
    labels = topic_labels(dict.fromkeys(CLASSES, 0.0) | {"science": 0.4, "technology": 0.5, "health": 0.1}, "v7")
    assert [(one.scheme, one.label, round(one.score, 6), one.version) for one in labels] == [
        (Scheme.TOPIC, SCIENCE, 0.9, "v7"),
        (Scheme.CATEGORY, "Science & Health", 0.5, "v7"),
        (Scheme.CATEGORY, "Technology", 0.5, "v7"),
    ]


def test_a_stored_model_says_the_same():
    data = encode(MODEL)
    text = "The ministers met to discuss the budget"
    again = decode(data)
    assert again.scores(embed([text])[0], word_counts(text)) == pytest.approx(scores_of(text), abs=1e-6)
    assert encode(again) == data
    assert len(data) < MAX_BYTES


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("format", 2), ("classes", ["arts"]), ("buckets", 10**9), ("buckets", 0), ("buckets", "7"), ("version", ""),
        ("version", "x" * 101), ("embedding_share", 2), ("embedding_share", "1"), ("sharpness", -1),
        ("sharpness", float("nan")),
    ],
)  # fmt: skip
def test_a_model_with_another_header_is_refused(part, value):
    data = encode(MODEL)
    end = 4 + int.from_bytes(data[:4], "little")
    head = json.dumps(json.loads(data[4:end]) | {part: value}).encode()
    with pytest.raises(InvalidModel):
        decode(len(head).to_bytes(4, "little") + head + data[end:])


@pytest.mark.parametrize("data", [b"", b"\x00" * 10, b"\xff" * 100, b"\x02\x00\x00\x00[]", b"\x02\x00\x00\x00{{rest"])
def test_bytes_that_are_not_a_model_are_refused(data):
    with pytest.raises(InvalidModel):
        decode(data)


def test_a_model_of_another_length_or_with_bad_numbers_is_refused():
    data = encode(MODEL)
    with pytest.raises(InvalidModel, match="bytes of numbers"):
        decode(data[:-1])
    with pytest.raises(InvalidModel, match="bytes of numbers"):
        decode(data + b"\x00")
    with pytest.raises(InvalidModel, match="finite"):
        decode(data[:-2] + np.array([np.nan], "<f2").tobytes())
    with pytest.raises(InvalidModel, match="at most"):
        decode(data + bytes(MAX_BYTES))
    with pytest.raises(InvalidModel, match="order"):
        decode(encode(replace(MODEL, buckets=MODEL.buckets[::-1])))


def test_the_material_has_thirty_different_texts_of_each_class():
    material = read_material()
    assert len({text for _, text in material}) == len(material)
    assert min(sum(name == one for name, _ in material) for one in CLASSES) >= 30
    assert {name for name, _ in material} == set(CLASSES)


def test_the_model_that_ships_is_of_the_material():
    """Otherwise run scripts/train_topics.py."""
    assert MODEL.version == material_version()
    trained = train(material_examples(), version="again")
    text = "A court sentenced the former minister for taking bribes"
    found, given = trained.scores(embed([text])[0], word_counts(text)), scores_of(text)
    assert found == pytest.approx(given, abs=0.01)

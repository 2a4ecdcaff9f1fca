"""When two texts are the same, and when they are nearly so."""

import random

from hypothesis import given
from hypothesis import strategies as st

from headwater.articles.fingerprint import NEAR_BITS, SHORTEST_LIKE, distance, hash_of, simhash_of, words_of

TEXT = " ".join(f"word{number}" for number in random.Random(1).sample(range(10_000), 600))


def test_markup_case_and_punctuation_make_no_difference() -> None:
    assert hash_of(words_of("High  water,\nat last!")) == hash_of(words_of("high water at LAST"))


def test_a_text_without_words_has_no_hash() -> None:
    assert hash_of(words_of(" — … ")) is None


def test_letters_of_scripts_without_spaces_count_one_by_one() -> None:
    assert words_of("川の水 level 2") == ["川", "の", "水", "level", "2"]


def test_a_short_text_has_no_simhash() -> None:
    assert simhash_of(["word"] * (SHORTEST_LIKE - 1)) is None
    assert simhash_of(words_of(TEXT)) is not None


def test_a_text_with_one_word_changed_is_near() -> None:
    one, other = simhash_of(words_of(TEXT)), simhash_of(words_of(TEXT.replace("word", "Word ", 1)))

    assert one is not None
    assert other is not None
    assert distance(one, other) <= NEAR_BITS


def test_different_texts_are_not_near() -> None:
    hashes = [simhash_of([f"{seed}-{number}" for number in range(200)]) for seed in range(50)]

    assert min(distance(one, other) for one in hashes for other in hashes if one != other and one and other) > 10


@given(st.text())
def test_any_text_has_fingerprints_that_postgresql_can_keep(text: str) -> None:
    words = words_of(text) * SHORTEST_LIKE

    simhash = simhash_of(words)

    assert simhash is None or -(2**63) <= simhash < 2**63
    assert (hash_of(words) is None) == (not words)


def test_distance_counts_bits_of_signed_numbers() -> None:
    assert distance(-1, 0) == 64
    assert distance(-(2**63), 0) == 1
    assert distance(5, 5) == 0

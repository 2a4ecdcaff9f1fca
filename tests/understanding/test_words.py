from headwater.understanding.words import BUCKETS, MAX_CHARACTERS, bucket_of, split_words, word_counts


def test_words_are_lower_case_letters_and_digits_of_two_and_more():
    assert split_words("The G7's 3rd_Über-summit, a 2026 day") == ["the", "g7", "3rd", "über", "summit", "2026", "day"]


def test_the_bucket_of_a_word_never_changes():
    """A stored model has one weight for each bucket."""
    assert [bucket_of("election"), bucket_of("über")] == [14336, 1160]


def test_counts_add_up_to_the_number_of_words():
    text = "rain rain wind " * 20
    assert word_counts(text) == {bucket_of("rain"): 40, bucket_of("wind"): 20}


def test_an_empty_text_has_no_words():
    assert word_counts("") == {}
    assert word_counts(" \n…!? \x00") == {}


def test_hostile_text_stays_within_limits():
    counts = word_counts("\ud800\ud800 " + "x" * 1_000_000 + " beyond")
    assert all(0 <= bucket < BUCKETS for bucket in counts)
    assert sum(counts.values()) <= 2
    assert len(split_words("ab " * 1_000_000)) <= MAX_CHARACTERS // 3 + 1

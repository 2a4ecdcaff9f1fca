"""Text → 256 numbers."""

import subprocess
import sys

import numpy as np
import pytest

from headwater.understanding.embedding import DIMENSIONS, TEXT_MAX_CHARS, embed, pack, unpack

WITHOUT_NETWORK = """
import socket, sys
def refuse(*_): raise AssertionError("a socket was opened")
socket.socket = socket.create_connection = socket.getaddrinfo = refuse
from headwater.understanding.embedding import embed, pack
sys.stdout.buffer.write(pack(embed(["A storm hit the coast."])[0]))
assert "wordllama" not in sys.modules and "huggingface_hub" not in sys.modules
"""


def likeness(one: str, other: str) -> float:
    first, second = embed([one, other])
    return float(first @ second)


def test_texts_of_like_meaning_have_like_vectors():
    storm, like, other = "The hurricane flooded the coast", "A cyclone hit seaside towns", "Shares of the bank rose"

    assert likeness(storm, like) > likeness(storm, other) + 0.1


def test_another_process_without_network_gives_the_same_vector():
    done = subprocess.run([sys.executable, "-c", WITHOUT_NETWORK], capture_output=True, check=True, timeout=300)

    assert done.stdout == pack(embed(["A storm hit the coast."])[0])


def test_a_text_has_the_same_vector_alone_and_among_others():
    alone = embed(["Parliament votes"])[0]

    assert np.array_equal(embed(["a", "Parliament votes", ""])[1], alone)


@pytest.mark.parametrize("text", ["", " \n\t", "\u3000"])
def test_a_text_without_words_is_zeros(text: str):
    assert not embed([text]).any()


def test_no_texts_give_no_rows():
    assert embed([]).shape == (0, DIMENSIONS)


@pytest.mark.parametrize(
    "text",
    [
        "\x00\x01", "\ud800 lone surrogate", "\U0001f600" * 50, "字" * 5_000, "a" * 5_000_000, "<s></s><unk>",
        "à̧" * 999, "word " * 1_000_000,
    ],
    ids=["controls", "surrogate", "emoji", "no spaces", "one huge word", "special tokens", "combining", "huge"],
)  # fmt: skip
def test_odd_text_has_a_finite_vector_of_length_1(text: str):
    [vector] = embed([text])

    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-3)


def test_special_tokens_in_a_text_are_text():
    assert likeness("<s>", "<s >") > 0.5


def test_the_end_of_a_very_long_text_changes_nothing():
    text = "storm " * (TEXT_MAX_CHARS // 6 + 1)

    assert np.array_equal(embed([text])[0], embed([text + " banks"])[0])


def test_a_stored_vector_is_512_bytes_and_reads_back():
    [vector] = embed(["A storm hit the coast."])

    stored = pack(vector)
    assert len(stored) == 2 * DIMENSIONS
    assert np.allclose(unpack(stored), vector, atol=1e-3)


def test_stored_bytes_of_another_length_are_refused():
    with pytest.raises(ValueError, match="256"):
        unpack(b"\x00" * 10)

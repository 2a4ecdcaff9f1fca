"""Text → 256 numbers: the mean of the vectors of its tokens. English.

Vectors and tokenizer are files of the wordllama wheel, read from where it is installed. Nothing is downloaded.
"""

import json
from collections.abc import Sequence
from functools import cache
from importlib.metadata import distribution
from itertools import chain, islice
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

DIMENSIONS: Final = 256
TEXT_MAX_CHARS: Final = 20_000  # about 3,000 words: more would not change the mean
WORD_MAX_CHARS: Final = 64  # the tokenizer's time grows faster than the length of a word
_CACHED_WORDS: Final = 50_000  # about 10 MB
_VECTORS: Final = "wordllama/weights/l2_supercat_256.safetensors"
_TOKENIZER: Final = "wordllama/tokenizers/l2_supercat_tokenizer_config.json"

Vectors: TypeAlias = npt.NDArray[np.float32]


def embed(texts: Sequence[str]) -> Vectors:
    """A row of length 1 for each text; zeros for a text without words."""
    embedder = _embedder()
    return np.array([embedder.embed(text) for text in texts], np.float32).reshape(len(texts), DIMENSIONS)


def pack(vector: npt.NDArray[np.floating]) -> bytes:
    """As stored: 256 numbers of 16 bits, little-endian."""
    return vector.astype("<f2").tobytes()


def unpack(stored: bytes) -> Vectors:
    """Raises ValueError if it is not what `pack` returns."""
    vector = np.frombuffer(stored, "<f2").astype(np.float32)
    if len(vector) != DIMENSIONS:
        raise ValueError(f"an embedding has {DIMENSIONS} numbers, not {len(vector)}")
    return vector


class _Embedder:
    """The token ids of known words are cached: tokenising a word takes a hundred times as long as looking it up."""

    def __init__(self, tokenizer: Tokenizer, vectors: Vectors) -> None:
        self._tokenizer = tokenizer
        self._vectors = vectors
        self._known: dict[str, tuple[int, ...]] = {}

    def embed(self, text: str) -> Vectors:
        ids: list[int] = []
        for word in text[:TEXT_MAX_CHARS].split():
            ids += self._known.get(word) or self._tokenise(word)
        if not ids:
            return np.zeros(DIMENSIONS, np.float32)
        total = self._vectors[ids].sum(axis=0)
        return total / max(float(np.linalg.norm(total)), 1e-9)

    def _tokenise(self, word: str) -> tuple[int, ...]:
        pieces = [word[at : at + WORD_MAX_CHARS] for at in range(0, len(word), WORD_MAX_CHARS)]
        # A lone surrogate is no text for the tokenizer.
        valid = [piece.encode(errors="replace").decode() for piece in pieces]
        encoded = [self._tokenizer.encode(piece, add_special_tokens=False).ids for piece in valid]
        ids = tuple(chain.from_iterable(encoded))
        if len(pieces) == 1:
            self._remember(word, ids)
        return ids

    def _remember(self, word: str, ids: tuple[int, ...]) -> None:
        if len(self._known) >= _CACHED_WORDS:
            for oldest in list(islice(self._known, _CACHED_WORDS // 2)):
                del self._known[oldest]
        self._known[word] = ids


@cache
def _embedder() -> _Embedder:
    tokenizer = Tokenizer.from_file(str(_file(_TOKENIZER)))
    tokenizer.encode_special_tokens = True  # "<s>" in a text is text
    return _Embedder(tokenizer, _read_vectors(_file(_VECTORS)))


def _read_vectors(path: Path) -> Vectors:
    """A safetensors file: the length of its header in 8 bytes, the header in JSON, then the numbers."""
    raw = path.read_bytes()
    begin = 8 + int.from_bytes(raw[:8], "little")
    tensor = json.loads(raw[8:begin])["embedding.weight"]
    first, last = tensor["data_offsets"]
    return np.frombuffer(raw[begin + first : begin + last], "<f2").reshape(tensor["shape"]).astype(np.float32)


def _file(name: str) -> Path:
    """Without importing the package, which imports its downloader."""
    return Path(str(distribution("wordllama").locate_file(name)))

"""A model of topics as bytes: a header in JSON and plain arrays. Nothing in it is executed; every size is checked."""

import json
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from headwater.labels.vocabulary import CLASSES
from headwater.understanding.embedding import DIMENSIONS
from headwater.understanding.softmax import Floats
from headwater.understanding.topic_model import TopicModel
from headwater.understanding.words import BUCKETS

FORMAT: Final = 1
MAX_BYTES: Final = 4_000_000  # every bucket with 18 classes takes 2.5 MB
_MAX_HEADER: Final = 10_000
_LENGTH: Final = 4  # bytes of the length of the header


class InvalidModel(ValueError):
    """What is stored is not a model of this version."""


def encode(model: TopicModel) -> bytes:
    """As stored: numbers of 16 bits, little-endian; the classes and sizes in the header."""
    header = {
        "format": FORMAT, "version": model.version, "classes": list(model.classes), "buckets": len(model.buckets),
        "embedding_share": model.embedding_share, "sharpness": model.sharpness,
    }  # fmt: skip
    head = json.dumps(header, sort_keys=True).encode()
    arrays = [
        model.buckets.astype("<u2"),
        *(
            one.astype("<f2")
            for one in (
                model.embedding_weights, model.embedding_bias, model.rarity, model.word_weights, model.word_bias,
            )
        ),
    ]  # fmt: skip
    return b"".join([len(head).to_bytes(_LENGTH, "little"), head, *(one.tobytes() for one in arrays)])


def decode(data: bytes) -> TopicModel:
    """Raises InvalidModel if it is not what `encode` returns."""
    if len(data) > MAX_BYTES:
        raise InvalidModel(f"A model has at most {MAX_BYTES:,} bytes, not {len(data):,}.")
    header, body = _header(data)
    classes, buckets, version = header.get("classes"), header.get("buckets"), header.get("version")
    if header.get("format") != FORMAT:
        raise InvalidModel(f"The format of the model is {header.get('format')!r}, not {FORMAT}.")
    if classes != list(CLASSES):
        raise InvalidModel("The model has other classes.")
    if not isinstance(buckets, int) or not 0 < buckets <= BUCKETS:
        raise InvalidModel(f"The model has {buckets!r} buckets, not 1 to {BUCKETS:,}.")
    if not isinstance(version, str) or not 0 < len(version) <= 100:
        raise InvalidModel("The model has no version.")
    return _model(body, version, buckets, _share(header, "embedding_share", 1), _share(header, "sharpness", 20))


def _header(data: bytes) -> tuple[dict[str, Any], bytes]:
    end = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
    if not _LENGTH < end <= min(len(data), _MAX_HEADER):
        raise InvalidModel("The model has no header.")
    try:
        header = json.loads(data[_LENGTH:end])
    except (ValueError, RecursionError) as error:
        raise InvalidModel("The header of the model is not JSON.") from error
    if not isinstance(header, dict):
        raise InvalidModel("The header of the model is not an object.")
    return header, data[end:]  # pyright: ignore[reportUnknownVariableType]


def _share(header: dict[str, Any], name: str, most: float) -> float:
    value = header.get(name)
    if not isinstance(value, int | float) or not 0 <= value <= most:
        raise InvalidModel(f"{name} of the model is {value!r}, not 0 to {most}.")
    return float(value)


def _model(body: bytes, version: str, buckets: int, embedding_share: float, sharpness: float) -> TopicModel:
    classes = len(CLASSES)
    shapes = [(classes, DIMENSIONS), (classes,), (buckets,), (buckets, classes), (classes,)]
    needed = 2 * (buckets + sum(int(np.prod(shape)) for shape in shapes))
    if len(body) != needed:
        raise InvalidModel(f"The model has {len(body):,} bytes of numbers, not {needed:,}.")
    at = 2 * buckets
    places = np.frombuffer(body[:at], "<u2").astype(np.int64)
    if (np.diff(places) <= 0).any():
        raise InvalidModel("The buckets of the model are not in order.")
    arrays: list[Floats] = []
    for shape in shapes:
        size = 2 * int(np.prod(shape))
        arrays.append(_floats(body[at : at + size]).reshape(shape))
        at += size
    weights, bias, rarity, word_weights, word_bias = arrays
    return TopicModel(
        version, tuple(CLASSES), weights, bias, places, rarity, word_weights, word_bias, embedding_share, sharpness
    )


def _floats(raw: bytes) -> NDArray[np.float32]:
    values = np.frombuffer(raw, "<f2").astype(np.float32)
    if not np.isfinite(values).all():
        raise InvalidModel("The model has a number that is not finite.")
    return values

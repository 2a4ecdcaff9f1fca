"""Pictures of the zoo: a landscape for each article and an icon for most sites, drawn and written as PNG.

The same for the same number or name in any process.
"""

import struct
import zlib
from colorsys import hls_to_rgb
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

WIDTH, HEIGHT = 640, 360
SIDE = 64
_EDGE = 1.5  # pixels over which an edge is smoothed
_SHAPES = 4

Plane: TypeAlias = npt.NDArray[np.float64]


def landscape(number: int) -> bytes:
    """Sky, sun, three ranges of hills and water, as PNG: one of 24, since each takes 0.1 s to draw."""
    return _landscape(number % 24)


@lru_cache(maxsize=24)
def _landscape(number: int) -> bytes:
    hue, sun = number * 47 % 360, 120 + number * 83 % 400
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float64)
    picture = _blend(_colour(hue, 0.88, 0.55), _colour(hue + 35, 0.72, 0.65), y / HEIGHT)
    glow = np.clip(1 - np.hypot(x - sun, y - 110) / 260, 0, 1) ** 2
    picture = _over(picture, _colour(hue + 45, 0.95, 0.9), glow * 0.7)
    picture = _over(picture, _colour(hue + 45, 0.97, 0.9), _inside(42 - np.hypot(x - sun, y - 110)))
    for depth in range(3):
        wave = np.sin(x / (150 - 35 * depth) + number * (depth + 1)) * (26 - 5 * depth)
        ridge = 175 + 48 * depth + wave + np.sin(x / 47 + number) * 7
        picture = _over(picture, _colour(hue - 12 * depth, 0.62 - 0.15 * depth, 0.32), _inside(y - ridge))
    water = np.clip((y - 310) / 50, 0, 1) * 0.25
    shine = _inside(4 - np.abs((y + 5 * np.sin(x / 60 + number)) % 18 - 9) - 2) * (y > 318) * 0.18
    picture = _over(picture, _colour(hue + 15, 0.22, 0.4), _inside(y - 308) * (0.75 + water))
    return _png(_over(picture, _colour(hue + 30, 0.85, 0.6), shine))


@lru_cache(maxsize=256)
def icon(name: str) -> bytes:
    """A rounded square with a simple shape, as PNG with transparent corners."""
    seed = zlib.crc32(name.encode())
    y, x = (np.mgrid[0:SIDE, 0:SIDE] - (SIDE - 1) / 2).astype(np.float64)
    hue, half = seed % 360, SIDE / 2
    picture = _blend(_colour(hue, 0.55, 0.6), _colour(hue + 25, 0.36, 0.65), (y + half) / SIDE)
    drawn = _shape(seed // 360 % _SHAPES, x, y)
    picture = _over(picture, _colour(hue + 20, 0.96, 0.8), _inside(drawn))
    corner = half - 14
    outside = np.hypot(np.maximum(np.abs(x) - corner, 0), np.maximum(np.abs(y) - corner, 0))
    return _png(np.dstack([picture, _inside(14 - outside)]))


def favicon(name: str) -> bytes:
    """The icon in an .ico file, which holds a PNG."""
    image = icon(name)
    entry = struct.pack("<BBBBHHII", SIDE, SIDE, 0, 0, 1, 32, len(image), 22)
    return struct.pack("<HHH", 0, 1, 1) + entry + image


def _shape(which: int, x: Plane, y: Plane) -> Plane:
    """How far inside of a ring, a hill, waves or a star each pixel is."""
    match which:
        case 0:
            return 6 - np.abs(np.hypot(x, y) - 14)
        case 1:
            return np.minimum(16 - y, y - np.abs(x) * 1.1 + 18)
        case 2:
            return np.minimum(3.5 - np.abs((y + 4 * np.sin(x / 5)) % 14 - 7), 20 - np.hypot(x, y))
        case _:
            return 20 - (np.sqrt(np.abs(x)) + np.sqrt(np.abs(y))) ** 2


def _inside(distance: Plane) -> Plane:
    return np.clip(distance / _EDGE + 0.5, 0, 1)


def _colour(hue: float, lightness: float, saturation: float) -> Plane:
    return np.array(hls_to_rgb(hue % 360 / 360, lightness, saturation))


def _blend(first: Plane, second: Plane, share: Plane) -> Plane:
    return first + (second - first) * share[..., None]


def _over(picture: Plane, colour: Plane, cover: Plane) -> Plane:
    return picture + (colour - picture) * cover[..., None]


def _png(picture: npt.NDArray[Any]) -> bytes:
    pixels = np.rint(np.clip(picture, 0, 1) * 255).astype(np.uint8)
    height, width, channels = pixels.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    head = struct.pack(">IIBBBBB", width, height, 8, 6 if channels == 4 else 2, 0, 0, 0)
    parts = (b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

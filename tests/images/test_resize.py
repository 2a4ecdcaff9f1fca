"""What becomes of the bytes of an image, in the process that runs it."""

import io
import struct
import zlib

import pytest
from PIL import Image

from headwater.images.decide import format_of
from headwater.images.resize import MOST_SCANS, resize
from headwater.images.types import ICON_SIDE, LEAD_HEIGHT, LEAD_WIDTH, ImageKind, Refusal, ResizedImage
from tests.images.world import picture


def made(body: bytes, kind: ImageKind) -> Image.Image:
    found = resize(body, kind=kind)
    assert isinstance(found, ResizedImage), found
    image = Image.open(io.BytesIO(found.data))
    assert image.format == "WEBP"
    return image


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "AVIF"])
def test_each_format_becomes_a_webp_of_the_size_of_cards(form: str) -> None:
    assert made(picture(1600, 1200, form), ImageKind.LEAD).size == (LEAD_WIDTH, LEAD_HEIGHT)


@pytest.mark.parametrize(
    ("size", "then"), [((400, 400), (400, 225)), ((1600, 400), (640, 360)), ((300, 150), (266, 149))]
)
def test_a_small_image_is_cut_and_not_enlarged(size: tuple[int, int], then: tuple[int, int]) -> None:
    assert made(picture(*size), ImageKind.LEAD).size == then


@pytest.mark.parametrize(("size", "then"), [((512, 512), ICON_SIDE), ((16, 16), 16), ((32, 20), 32)])
def test_an_icon_becomes_a_square(size: tuple[int, int], then: int) -> None:
    assert made(picture(*size), ImageKind.ICON).size == (then, then)


def test_an_ico_file_is_read() -> None:
    assert made(picture(48, 48, "ICO"), ImageKind.ICON).size == (48, 48)


def test_metadata_are_left_out() -> None:
    out = io.BytesIO()
    exif = Image.Exif()
    exif[0x010E] = "taken at home"
    Image.new("RGB", (800, 600)).save(out, "JPEG", exif=exif)

    found = resize(out.getvalue(), kind=ImageKind.LEAD)

    assert isinstance(found, ResizedImage)
    assert b"EXIF" not in found.data
    assert b"home" not in found.data


@pytest.mark.parametrize(
    ("size", "kind"),
    [
        ((1, 1), ImageKind.LEAD), ((299, 200), ImageKind.LEAD), ((728, 90), ImageKind.LEAD),
        ((300, 700), ImageKind.LEAD), ((4, 4), ImageKind.ICON), ((88, 31), ImageKind.ICON),
    ],
)  # fmt: skip
def test_pixels_banners_and_columns_are_refused(size: tuple[int, int], kind: ImageKind) -> None:
    assert resize(picture(*size), kind=kind) is Refusal.WRONG_SIZE


def bomb(width: int, height: int) -> bytes:
    """A PNG whose header names this size, and whose few bytes would be decoded into all of it."""
    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    parts = (b"IHDR", head), (b"IDAT", zlib.compress(bytes(10_000))), (b"IEND", b"")
    chunks = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.mark.parametrize("kind", list(ImageKind))
def test_a_decompression_bomb_is_refused_by_its_header(kind: ImageKind) -> None:
    assert resize(bomb(30_000, 30_000), kind=kind) is Refusal.TOO_LARGE


@pytest.mark.parametrize("kind", list(ImageKind))
def test_a_jpeg_with_very_many_scans_is_refused(kind: ImageKind) -> None:
    """80,000 of them, in 5 MB, take hours: each is decoded as a whole image."""
    out = io.BytesIO()
    Image.new("RGB", (600, 600), "teal").save(out, "JPEG", progressive=True)
    body = out.getvalue()
    last = body[body.rindex(b"\xff\xda") : -2]

    assert made(body, kind)
    assert resize(body[:-2] + MOST_SCANS * last + body[-2:], kind=kind) is Refusal.TOO_LARGE


def test_a_bomb_inside_of_an_ico_file_is_refused() -> None:
    image = bomb(30_000, 30_000)
    entry = struct.pack("<BBBBHHII", 64, 64, 0, 0, 1, 32, len(image), 22)
    body = struct.pack("<HHH", 0, 1, 1) + entry + image

    assert resize(body, kind=ImageKind.ICON) in {Refusal.TOO_LARGE, Refusal.UNREADABLE}


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"<?xml version='1.0'?><svg/>", b"%PDF-1.7",
        b"BM" + bytes(60), b"II*\0" + bytes(60), b"8BPS" + bytes(60), b"<html>", bytes(2000),
    ],
)  # fmt: skip
def test_all_other_types_are_refused_whatever_their_name(body: bytes) -> None:
    assert resize(body, kind=ImageKind.LEAD) is Refusal.NOT_AN_IMAGE


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "ICO", "AVIF"])
def test_broken_bytes_are_refused(form: str) -> None:
    whole = picture(400, 300, form) if form != "ICO" else picture(64, 64, form)
    kind = ImageKind.ICON if form == "ICO" else ImageKind.LEAD
    for size in (12, 40, len(whole) // 2):
        found = resize(whole[:size], kind=kind)
        assert isinstance(found, ResizedImage) or found in set(Refusal)
    assert resize(whole[:30], kind=kind) in {Refusal.UNREADABLE, Refusal.NOT_AN_IMAGE}


def test_the_format_is_that_of_the_bytes() -> None:
    assert [format_of(picture(form=form)) for form in ("PNG", "JPEG", "GIF", "WEBP", "AVIF")] == [
        "PNG", "JPEG", "GIF", "WEBP", "AVIF",
    ]  # fmt: skip


def drawing(colour: str) -> bytes:
    """A shape without a background."""
    out = io.BytesIO()
    image = Image.new("RGBA", (64, 64))
    image.paste(colour, (16, 16, 48, 48))
    image.save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize(("colour", "is_on_tile"), [("black", True), ("white", True), ("teal", False)])
def test_a_shape_that_one_theme_would_hide_gets_a_tile(colour: str, is_on_tile: bool) -> None:
    corner = made(drawing(colour), ImageKind.ICON).convert("RGBA").getpixel((2, 2))
    assert isinstance(corner, tuple)
    assert (corner[3] == 255) is is_on_tile

"""Hostile bytes become a small WebP image, or are refused. Runs in the sandbox, in a process that can be killed.

Pillow is imported on first use: only the children of the sandbox need it.
"""

import io
from typing import TYPE_CHECKING

from headwater.images.decide import format_of
from headwater.images.types import ICON_SIDE, LEAD_HEIGHT, LEAD_WIDTH, ImageKind, Refusal, ResizedImage

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_PIXELS = 40_000_000  # 160 MB in memory; cameras take 24 to 60 million, sites publish less
MOST_SCANS = 50  # of a JPEG; ordinary ones have 1 to 12, and each takes as long as one image
ICON_LEAST = 8
LEAD_LEAST = (300, 150)  # smaller ones are buttons, logos and counting pixels
LEAD_FLATTEST, LEAD_TALLEST = 4.0, 0.5  # width by height: banners and columns are not cut
ICON_WIDEST = 2.0
ICON_QUALITY, LEAD_QUALITY = 90, 72
SOLID = 204  # of 255: icons that cover at least four fifths of their square
DARK, LIGHT, INK = 70, 230, "#26373e"
_SCAN = b"\xff\xda"  # begins one; in the data of an image 0xff is followed by 0
METHOD = 4  # of the WebP encoder: 6 takes three times as long for 2 %


def resize(body: bytes, *, kind: ImageKind) -> ResizedImage | Refusal:
    """The image as it is stored, without metadata; of a moving one its first frame."""
    from PIL import Image, UnidentifiedImageError  # noqa: PLC0415

    form = format_of(body)
    if form is None:
        return Refusal.NOT_AN_IMAGE
    if form == "JPEG" and body.count(_SCAN) > MOST_SCANS:
        return Refusal.TOO_LARGE
    Image.MAX_IMAGE_PIXELS = MOST_PIXELS // 2  # Pillow raises an error at twice this, also for the parts of an .ico
    try:
        with Image.open(io.BytesIO(body), formats=(form,)) as image:
            refused = check_size(image.width, image.height, kind)
            return refused or ResizedImage(_drawn(image, kind))
    except Image.DecompressionBombError:
        return Refusal.TOO_LARGE
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, EOFError, IndexError, TypeError, KeyError):
        return Refusal.UNREADABLE  # what decoders raise for broken bytes


def check_size(width: int, height: int, kind: ImageKind) -> Refusal | None:
    """By the size that the header names, before anything is decoded."""
    if width * height > MOST_PIXELS:
        return Refusal.TOO_LARGE
    shape = width / max(height, 1)
    if kind is ImageKind.ICON:
        is_fit = min(width, height) >= ICON_LEAST and 1 / ICON_WIDEST <= shape <= ICON_WIDEST
    else:
        is_fit = width >= LEAD_LEAST[0] and height >= LEAD_LEAST[1] and LEAD_TALLEST <= shape <= LEAD_FLATTEST
    return None if is_fit else Refusal.WRONG_SIZE


def _drawn(image: "Image", kind: ImageKind) -> bytes:
    out = io.BytesIO()
    drawn, quality = (_icon(image), ICON_QUALITY) if kind is ImageKind.ICON else (_lead(image), LEAD_QUALITY)
    drawn.save(out, "WEBP", quality=quality, method=METHOD, exif=b"", icc_profile=b"")
    return out.getvalue()


def _icon(image: "Image") -> "Image":
    """The whole icon in a transparent square."""
    from PIL import Image, ImageOps  # noqa: PLC0415

    side = min(ICON_SIDE, max(image.size))  # a small one is not enlarged
    drawn = ImageOps.contain(image.convert("RGBA"), (side, side), Image.Resampling.LANCZOS)
    square = Image.new("RGBA", (side, side))
    square.paste(drawn, ((side - drawn.width) // 2, (side - drawn.height) // 2))
    return _on_tile(square)


def _on_tile(icon: "Image") -> "Image":
    """A dark shape without a background is invisible on a dark page, a white one on a light page: both get a tile."""
    from PIL import Image, ImageStat  # noqa: PLC0415

    alpha = icon.getchannel("A")
    is_solid = ImageStat.Stat(alpha).mean[0] > SOLID
    light = ImageStat.Stat(icon.convert("L"), alpha.point(_is_drawn)).mean[0] if alpha.getbbox() else DARK
    if is_solid or DARK < light < LIGHT:
        return icon
    tile = Image.new("RGBA", icon.size, "white" if light <= DARK else INK)
    return Image.alpha_composite(tile, icon)


def _is_drawn(alpha: int) -> int:
    return 255 if alpha > 127 else 0


def _lead(image: "Image") -> "Image":
    """The middle of the image, in the shape that cards have; the upper part of a tall one, where faces are."""
    from PIL import Image, ImageOps  # noqa: PLC0415

    image.draft("RGB", (LEAD_WIDTH * 2, LEAD_HEIGHT * 2))  # a JPEG is decoded in a smaller size: a quarter of the time
    upright = ImageOps.exif_transpose(image)
    if upright.has_transparency_data:
        paper = Image.new("RGBA", upright.size, "white")
        upright = Image.alpha_composite(paper, upright.convert("RGBA"))
    width = min(LEAD_WIDTH, upright.width, upright.height * LEAD_WIDTH // LEAD_HEIGHT)  # a small one is not enlarged
    size = (width, width * LEAD_HEIGHT // LEAD_WIDTH)
    return ImageOps.fit(upright.convert("RGB"), size, Image.Resampling.LANCZOS, centering=(0.5, 0.35))

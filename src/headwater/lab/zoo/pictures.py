"""Pictures and sounds for the articles: a drawn landscape, and a few silent frames of MP3.

In: an article's number. Out: bytes, the same for the same number.
"""

_FRAME = b"\xff\xfb\x90\x00" + bytes(413)  # one silent MPEG-1 layer III frame: 128 kbit/s at 44.1 kHz
AUDIO = _FRAME * 20
AUDIO_BYTES = len(AUDIO)


def landscape(number: int) -> bytes:
    """Sky, sun, hills and water, in a mood that the number decides."""
    hue, sun = number * 47 % 360, 120 + number * 83 % 400
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 360" role="img" aria-label="A landscape">'
        f'<rect width="640" height="360" fill="hsl({hue} 60% 85%)"/>'
        f'<circle cx="{sun}" cy="{90 + number * 29 % 60}" r="42" fill="hsl({(hue + 40) % 360} 90% 92%)"/>'
        f'<path d="M0 220 Q{sun} {110 + number * 13 % 80} 640 210 V360 H0Z" fill="hsl({hue} 35% 60%)"/>'
        f'<path d="M0 260 Q{640 - sun} {190 + number * 7 % 50} 640 250 V360 H0Z" fill="hsl({hue} 38% 45%)"/>'
        f'<rect y="290" width="640" height="70" fill="hsl({(hue + 15) % 360} 45% 32%)"/></svg>'
    ).encode()

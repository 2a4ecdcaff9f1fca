"""New ids: UUIDv7, so that rows made later sort later and land at the end of their index."""

import secrets
import time
from uuid import UUID


def new_id() -> UUID:
    """A UUIDv7 (RFC 9562): 48 bits of milliseconds, then 74 bits of chance."""
    milliseconds = time.time_ns() // 1_000_000
    chance = secrets.randbits(74)
    return UUID(
        int=(milliseconds & (2**48 - 1)) << 80
        | 0x7 << 76  # version
        | (chance >> 62) << 64  # 12 bits
        | 0b10 << 62  # variant
        | chance & (2**62 - 1)
    )

"""The keys of hosts, made of digests of their names: nothing is looked up to know where a host is kept. Pure.

The SQL functions `host_id_of` and `shard_of` say the same.
"""

import hashlib
from functools import lru_cache

SHARDS = 16
ALL_SHARDS = tuple(range(SHARDS))


@lru_cache(maxsize=65_536)
def host_id_of(host: str) -> int:
    """64 bits of the host's name."""
    return from_bytes(hashlib.sha256(host.encode()).digest()[:8])


def shard_of(host_id: int) -> int:
    """The part of the table that the host lies in."""
    return host_id % SHARDS


def from_bytes(digest: bytes) -> int:
    """As a bigint."""
    return int.from_bytes(digest, "big", signed=True)

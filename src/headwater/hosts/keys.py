"""The keys of hosts: digests of their names, so that no lookup is needed. Pure.

The SQL functions `host_id_of` and `shard_of` compute the same.
"""

import hashlib
from collections.abc import Iterable
from functools import lru_cache

SHARDS = 16
ALL_SHARDS = tuple(range(SHARDS))


@lru_cache(maxsize=65_536)
def host_id_of(host: str) -> int:
    """64 bits of the digest of the host's name."""
    return from_bytes(hashlib.sha256(host.encode()).digest()[:8])


def shard_of(host_id: int) -> int:
    return host_id % SHARDS


def host_key(host: str) -> dict[str, int]:
    """The primary key of a host, as parameters of a statement."""
    host_id = host_id_of(host)
    return {"shard": shard_of(host_id), "host_id": host_id}


def sorted_keys(host_ids: Iterable[int]) -> list[tuple[int, int]]:
    """Primary keys in the order in which every transaction locks hosts."""
    return sorted((shard_of(host_id), host_id) for host_id in set(host_ids))


def from_bytes(digest: bytes) -> int:
    return int.from_bytes(digest, "big", signed=True)

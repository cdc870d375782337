"""Which shard a unit belongs to: known before any data exists, the same on every machine."""

from hashlib import sha256


def shard_of(unit: str, shards: int) -> int:
    """Stable hash of a unit's name modulo the number of shards."""
    return int(sha256(unit.encode()).hexdigest()[:15], 16) % shards

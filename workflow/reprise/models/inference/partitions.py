"""Divide a run into partitions, one per job.

A clip's partition depends only on its recipe (the digest of how the clip is made) and on the number of jobs.
"""

import re
from typing import NamedTuple

from reprise.core.files import text_digest

# Clips are hashed to this many slots, and each partition has a contiguous range of slots. A job locks its range, so two
# jobs never query the same clip at the same time, even if they divide the run differently.
HASH_SLOTS = 2**16
MAX_PARTITIONS = 256
PARTITION_NAME = re.compile(r"([1-9][0-9]*)of([1-9][0-9]*)")


class Partition(NamedTuple):
    """A partition of a run: the clips of job `number` of `total` jobs, where `number` starts at 1."""

    number: int
    total: int

    @classmethod
    def parse(cls, name: str) -> "Partition":
        """Return the partition with a name such as `2of4`; raise a ValueError for any other text."""
        match = PARTITION_NAME.fullmatch(name)
        if match is None or int(match[1]) > int(match[2]):
            raise ValueError(f"'{name}' is not the name of a partition, such as 2of4")
        return cls(int(match[1]), int(match[2]))

    @property
    def name(self) -> str:
        return f"{self.number}of{self.total}"

    @property
    def slots(self) -> range:
        """Return the slots of this partition; together, the partitions of a run cover all slots once."""
        return range((self.number - 1) * HASH_SLOTS // self.total, self.number * HASH_SLOTS // self.total)

    def contains(self, recipe: str) -> bool:
        """Return whether the clip with this recipe belongs to this partition; equal recipes stay together."""
        slot = int(text_digest(recipe)[:4], 16)  # Four hexadecimal digits number all HASH_SLOTS slots.
        return slot in self.slots


WHOLE_RUN = Partition(1, 1)


def list_partitions(count: int) -> list[Partition]:
    """Return all partitions of a run that is divided into `count` jobs."""
    return [Partition(number, count) for number in range(1, count + 1)]

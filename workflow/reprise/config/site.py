"""`profiles/slurm/partitions.yaml`: which partitions a site has, and what each gives to a job."""

from typing import Self

from pydantic import Field, model_validator

from reprise.core.settings import Settings, mistake


class PartitionLimits(Settings):
    """One partition. A limit that is omitted is none; without `max_gpu` it has no GPUs."""

    max_runtime: int | None = Field(None, ge=1)
    """Longest time of a job, in minutes."""
    max_mem_mb: int | None = Field(None, ge=1)
    """Memory of a node, in MB."""
    max_threads: int | None = Field(None, ge=1)
    """CPUs of a node."""
    max_gpu: int = Field(0, ge=0)
    """GPUs of a node."""


class Site(Settings):
    """The partitions, by name. A job goes to the one that it fits best; to one with GPUs only if it needs them."""

    partitions: dict[str, PartitionLimits]

    @model_validator(mode="after")
    def _some_partition(self) -> Self:
        if not self.partitions:
            raise mistake("partitions: none is named.")
        return self

    def for_gpus(self, count: int) -> dict[str, PartitionLimits]:
        """The partitions for jobs with so many GPUs: for none those without, if there are any."""
        without = {name: one for name, one in self.partitions.items() if not one.max_gpu}
        having = {name: one for name, one in self.partitions.items() if one.max_gpu >= count}
        return having if count else without or having

    def longest_minutes(self, gpus: int) -> int | None:
        """The longest time of a job with so many GPUs; None where there is no limit."""
        return _most([one.max_runtime for one in self.for_gpus(gpus).values()])

    def most_memory_mb(self, gpus: int) -> int | None:
        """The same of its memory."""
        return _most([one.max_mem_mb for one in self.for_gpus(gpus).values()])


def _most(limits: list[int | None]) -> int | None:
    known = [limit for limit in limits if limit is not None]
    return max(known) if known and len(known) == len(limits) else None

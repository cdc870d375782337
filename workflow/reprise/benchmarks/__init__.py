"""Benchmarks: one module each. The registry holds module names; nothing else of the library names a benchmark."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from reprise.core.errors import UserError, unknown

if TYPE_CHECKING:
    import polars as pl

    from reprise.benchmarks.prompts import Prompt
    from reprise.stats.measures import Measure, Resampling

MODULES = {
    "velociti": "reprise.benchmarks.velociti",
    "vinoground": "reprise.benchmarks.vinoground",
    "temporalbench": "reprise.benchmarks.temporalbench",
    "mmbench_video": "reprise.benchmarks.mmbench_video",
}


class Benchmark(Protocol):
    """What a benchmark's module defines."""

    FORMS: Mapping[str, frozenset[str]]
    """form of question -> the metrics that its answers give"""
    GROUPS: tuple[str, ...]
    """groups that a metric may be given for"""

    def annotations(
        self, files: Sequence[Path], clips: str, options: Mapping[str, object]
    ) -> "tuple[pl.DataFrame, pl.DataFrame]":
        """Clips and items of a release, in the one schema of all benchmarks."""
        ...

    def requests(self, items: "pl.DataFrame", form: str, prompt: "Prompt") -> "list[dict[str, object]]":
        """What a form of question asks of each item: role, filled prompt, options, expected option."""
        ...

    STATISTICS: frozenset[str]
    """numbers of the data itself"""
    CHANCE: Mapping[str, float | None]
    """metric -> what a random guesser reaches, in percent; None where statistics `chance.<form>.<metric>` give it"""

    def measures(
        self, form: str, items: "pl.DataFrame", verdicts: "pl.DataFrame", resampling: "Resampling", *, drop_unread: bool
    ) -> "list[Measure]":
        """The metrics of a run's verdicts: one row per request that was asked; the items come without their texts."""
        ...

    def outcomes(self, form: str, items: "pl.DataFrame", verdicts: "pl.DataFrame") -> "dict[str, pl.DataFrame]":
        """Metric -> one row a sample (item_id, unit, task, right), for comparing two models sample by sample."""
        ...

    def in_group(self, items: "pl.DataFrame", group: str) -> "pl.DataFrame":
        """The items that a group's numbers are about."""
        ...

    def statistics(self, items: "pl.DataFrame", clips: "pl.DataFrame") -> "list[tuple[str, str, float]]":
        """Numbers of the data itself: metric, group, value."""
        ...


class Judged(Protocol):
    """What a benchmark's module defines besides if a judge rates its answers."""

    def answers(
        self, form: str, items: "pl.DataFrame", responses: "pl.DataFrame", reader: str
    ) -> "list[dict[str, str]]":
        """What was answered to each item: item_id, role, text, error (`unreadable` where the reader finds none)."""
        ...


class OnVideo(Protocol):
    """What a benchmark's module defines besides if it counts something in the videos themselves."""

    def video_statistics(self, items: "pl.DataFrame", facts: "pl.DataFrame") -> "list[tuple[str, str, float]]":
        """Numbers of the videos: metric, group, value."""
        ...


def plain_answers(responses: "pl.DataFrame") -> list[dict[str, str]]:
    """What was answered, as it is, where every question is asked by itself."""
    return responses.select("item_id", "role", "text", "error").to_dicts()


def load_judged(name: str) -> Judged:
    """A benchmark's module, where a protocol of it names a judge."""
    module = import_module(benchmark_module(name))
    if not hasattr(module, "answers"):
        raise UserError(f"config/benchmarks/{name}.yaml: a protocol names a judge, but {name} has no free answers.")
    return cast(Judged, module)


def benchmark_module(name: str) -> str:
    """Import string of a benchmark's module."""
    if name not in MODULES:
        raise unknown("benchmark", name, MODULES, "config")
    return MODULES[name]


def load_benchmark(name: str) -> Benchmark:
    """A benchmark's module."""
    return cast(Benchmark, import_module(benchmark_module(name)))

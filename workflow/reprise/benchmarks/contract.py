"""What the modules of a benchmark's folder define."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import polars as pl

    from reprise.benchmarks.prompts import Prompt
    from reprise.stats.measures import Measure, Resampling


class Release(Protocol):
    """`release.py`."""

    def read_release(
        self, files: Sequence[Path], clips: str, options: Mapping[str, object]
    ) -> "tuple[pl.DataFrame, pl.DataFrame]":
        """Clips and items of a release, in the one schema of all benchmarks."""
        ...


class Questions(Protocol):
    """`questions.py`."""

    def requests(self, items: "pl.DataFrame", form: str, prompt: "Prompt") -> "list[dict[str, object]]":
        """What a form of question asks of each item: role, filled prompt, options, expected option."""
        ...


class FreeAnswers(Protocol):
    """`answers.py`, where a judge is asked about the answers."""

    def answers(
        self, form: str, items: "pl.DataFrame", responses: "pl.DataFrame", reader: str
    ) -> "list[dict[str, str]]":
        """What was answered to each item: item_id, role, text, error (`unreadable` where the reader finds none)."""
        ...


class Scores(Protocol):
    """`scores.py`."""

    FORMS: Mapping[str, frozenset[str]]
    """form of question -> the metrics that its answers give"""
    GROUPS: tuple[str, ...]
    """groups that a metric may be given for"""
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


class DataStatistics(Protocol):
    """`data_statistics.py`, where a table shows numbers of the data itself."""

    STATISTICS: frozenset[str]
    """numbers of the data itself"""

    def statistics(self, items: "pl.DataFrame", clips: "pl.DataFrame") -> "list[tuple[str, str, float]]":
        """Numbers of the data itself: metric, group, value."""
        ...


class VideoStatistics(Protocol):
    """`data_statistics.py`, where something is counted in the videos themselves."""

    def video_statistics(self, items: "pl.DataFrame", facts: "pl.DataFrame") -> "list[tuple[str, str, float]]":
        """Numbers of the videos: metric, group, value."""
        ...


def plain_answers(responses: "pl.DataFrame") -> list[dict[str, str]]:
    """What was answered, as it is, where every question is asked by itself."""
    return responses.select("item_id", "role", "text", "error").to_dicts()

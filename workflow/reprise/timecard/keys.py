"""The keys of time cards: which runs showed a model which view of its clips."""

from pathlib import Path

from pydantic import Field

from reprise.core.keyfile import Key
from reprise.core.settings import Settings
from reprise.timecard.card import Published


class CardBenchmarkKey(Settings):
    """What a card shows of one benchmark."""

    name: str
    title: str
    protocol: str
    form: str
    """form of question of the protocol"""
    sampling: str
    score: str
    """the metric"""
    score_title: str
    group: str
    """of items, over whose tasks the score is the mean"""
    decimals: int
    items: Path
    statistics: Path | None = None
    """where chance is counted from the data"""
    runs: dict[str, str] = Field({})
    """view -> run"""
    views: dict[str, Path | None]
    """view -> the verdicts on its answers; None where it was not asked"""
    missing: dict[str, str] = Field({})
    """view -> why it was not asked"""
    published: tuple[Published, ...] = ()


class TimeCardKey(Key):
    """Key of the stage `time_card`."""

    suite: str
    notice: str = ""
    level: float
    model: str
    title: str
    benchmarks: tuple[CardBenchmarkKey, ...]


class TimeAllKey(Key):
    """Key of the stage `time_all`."""

    suite: str
    notice: str = ""
    level: float
    models: tuple[str, ...]

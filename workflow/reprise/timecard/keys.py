"""The keys of time cards: which runs showed a model which view of its clips."""

from pathlib import Path

from pydantic import Field

from reprise.core.settings import Key
from reprise.timecard.card import CardModel, CardScore, Published


class CardBenchmarkKey(CardScore):
    """What a card shows of one benchmark."""

    form: str
    """form of question of the protocol"""
    group: str
    """of items, over whose tasks the score is the mean"""
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


class TimeCardKey(Key, CardModel):
    """Key of the stage `time_card`."""

    benchmarks: tuple[CardBenchmarkKey, ...]


class TimeAllKey(Key):
    """Key of the stage `time_all`."""

    suite: str
    notice: str = ""
    level: float
    models: tuple[str, ...]

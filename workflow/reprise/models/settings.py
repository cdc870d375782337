"""`settings:` of every adapter. Imports neither torch nor an SDK, so that a configuration can."""

from typing import Literal

from pydantic import Field

from reprise.core.settings import Settings


class NoSettings(Settings):
    """An adapter without settings."""


class TextSettings(Settings):
    """Settings of the adapter `text`."""

    head: Literal["vera"] | None = None
    """`vera`: the encoder has VERA's head and gives plausibilities, for protocols that ask `similarity`."""


class ConstantSettings(Settings):
    """Settings of the adapter `constant`."""

    option: int = Field(0, ge=0)
    """Which option it takes, counted from 0."""
    text: str = ""
    """Its answer to open questions."""


class RandomSettings(Settings):
    """Settings of the adapter `random`."""

    seed: int = 0
    """Seed of the draws."""
    texts: list[str] = Field([])
    """Sentences from which it draws the answer to an open question; by default none, and the answer is empty."""


class WordMatchSettings(Settings):
    """Settings of the adapter `wordmatch`."""

    measure: Literal["f1", "recall"] = "f1"
    """Measure of the words that answer and reference share."""


class ImportSettings(Settings):
    """Settings of the adapter `import`: for files that are not where their run's name says. All folders are inside
    `resources/imports/<benchmark>/<slug>/`; `.` is that folder itself."""

    runs: dict[str, str] = Field({})
    """`<benchmark>/<protocol>/<sampling>` -> folder of this model's answers."""
    names: list[str] = Field([])
    """Names, besides its slug, by which the reference harness calls this judge: `<predictions>_<name>_score.xlsx`."""
    ratings: dict[str, str] = Field({})
    """`<benchmark>/<protocol>/<sampling>/<model>` -> folder of this judge's ratings of that run."""

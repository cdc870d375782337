"""`settings:` of every adapter. Imports neither torch nor an SDK, so that a configuration can."""

from typing import Literal, Self

from pydantic import Field, model_validator

from reprise.core.settings import Settings, mistake
from reprise.models.quantised import Quantised


class NoSettings(Settings):
    """An adapter without settings."""


class TransformersSettings(Settings):
    """Settings of the adapter `transformers`. The limits of pixels are those of one frame as the model sees it."""

    frames: Literal["video", "images"] | None = None
    """How frames are shown: as one `video`, or as `images`, one a frame. By default as a video where processor and
    chat template take one, else as images."""
    min_pixels: int | None = Field(None, ge=1)
    """Least pixels of a frame; smaller ones are enlarged. By default what the checkpoint says."""
    max_pixels: int | None = Field(None, ge=1)
    """Most pixels of a frame; larger ones are made smaller. By default what the checkpoint says."""
    total_pixels: int | None = Field(None, ge=1)
    """Most pixels of all frames together, two frames counted as one, as `qwen_vl_utils` does: with many frames each
    gets fewer, down to 1.05 times `min_pixels`. Needs the two others."""

    engine: Literal["shared", "plain"] = "shared"
    """`shared`: what all questions about a clip begin with is encoded once, where the model's class allows it. `plain`:
    each question is asked from its beginning; the same numbers but for rounding."""
    quantised: Quantised | None = None
    """How the weights are quantised; tables say so. `int8` and `nf4`: on loading, by bitsandbytes. All others: the
    checkpoint is, by the method that its `config.json` names."""

    @model_validator(mode="after")
    def _limits_that_agree(self) -> Self:
        if self.total_pixels is not None and None in (self.min_pixels, self.max_pixels):
            raise mistake("total_pixels needs min_pixels and max_pixels beside it.")
        if self.min_pixels is not None and self.max_pixels is not None and self.min_pixels > self.max_pixels:
            raise mistake(f"min_pixels {self.min_pixels} is more than max_pixels {self.max_pixels}.")
        return self


class TextSettings(Settings):
    """Settings of the adapter `text`."""

    head: Literal["vera"] | None = None
    """`vera`: the encoder has VERA's head and gives plausibilities, for protocols that ask `similarity`."""
    quantised: Quantised | None = None
    """As of the adapter `transformers`."""

    @model_validator(mode="after")
    def _head_of_plain_weights(self) -> Self:
        if self.head is not None and self.quantised is not None:
            raise mistake(f"head: {self.head} is read from plain weights. Remove `quantised`.")
        return self


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

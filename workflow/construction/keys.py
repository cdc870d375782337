"""Settings keys of a construction's steps. The steps `review` and `static` share `ReviewKey`."""

from pydantic import Field
from reprise.benchmarks.prompts import Prompt
from reprise.core.settings import Key

from construction.settings import Construction, SubsetSearch


class StepKey(Key):
    settings: Construction


class WritingKey(StepKey):
    prompts: dict[str, Prompt]


class SamplesKey(WritingKey):
    embedder: str | None = None
    """digest of the checkpoint that embeds captions, if the encoder is a checkpoint"""


class ReviewKey(StepKey):
    verdicts: dict[str, str] = Field({})  # file of verdicts -> sha256


class ConstructionStatisticsKey(StepKey):
    title: str
    notice: str


class DrawKey(Key):
    scoring: dict[str, str]
    count: int
    seed: int
    files: dict[str, str]  # file of questions -> sha256


class SubsetKey(Key):
    settings: SubsetSearch

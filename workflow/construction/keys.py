"""Settings keys of a construction's steps. The steps `review` and `static` share `ReviewKey`."""

from pydantic import Field
from reprise.benchmarks.prompts import Prompt
from reprise.core.settings import Key

from construction.settings import Construction, SubsetSearch


class StepKey(Key):
    """Key of a step that depends only on the `construction:` of the suite."""

    settings: Construction


class WritingKey(StepKey):
    """Key of a step that builds the writers' requests."""

    prompts: dict[str, Prompt]  # name of a prompt -> prompt


class SamplesKey(WritingKey):
    embedder: str | None = None
    """digest of the checkpoint that embeds captions, if the encoder is a checkpoint"""


class ReviewKey(StepKey):
    verdicts: dict[str, str] = Field({})  # file of verdicts -> sha256


class ConstructionStatisticsKey(StepKey):
    title: str
    notice: str


class DrawKey(Key):
    """Key of the step that samples questions of other video sets."""

    scoring: dict[str, str]  # video set -> how its answers are scored
    count: int  # questions to sample from each set
    seed: int
    files: dict[str, str]  # file of questions -> sha256


class SubsetKey(Key):
    """Key of the search for a subset of VELOCITI."""

    settings: SubsetSearch

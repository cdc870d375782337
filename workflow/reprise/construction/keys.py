"""Keys of the steps of a construction."""

from typing import ClassVar

from pydantic import Field

from reprise.benchmarks.prompts import Prompt
from reprise.construction.registry import module_name
from reprise.construction.settings import Construction, SubsetSearch
from reprise.core.keyfile import Key


class StepKey(Key):
    """Key of one step: the construction's settings, and the digest of the step's modules."""

    STEP: ClassVar[str] = ""
    CARRIERS = (*Key.CARRIERS, "reprise.construction.registry")
    settings: Construction

    def modules(self) -> tuple[str, ...]:
        return (f"reprise.stages.construction_{self.STEP}", module_name(self.settings.kind, self.STEP))


class PoolClipsKey(StepKey):
    STEP = "clips"


class CandidatesKey(StepKey):
    STEP = "candidates"


class WritingKey(StepKey):
    STEP = "requests"
    prompts: dict[str, Prompt]


class SamplesKey(StepKey):
    STEP = "samples"
    prompts: dict[str, Prompt]
    embedder: str | None = None
    """version of the model of embeddings, or the digest of its folder, where captions are compared by one"""


class ReviewKey(StepKey):
    STEP = "review"
    verdicts: dict[str, str] = Field({})  # file of verdicts -> sha256


class ConstructedReleaseKey(StepKey):
    STEP = "release"


class StaticKey(StepKey):
    STEP = "static"
    verdicts: dict[str, str] = Field({})  # file of people's checks -> sha256


class DrawKey(Key):
    STAGE = "reprise.stages.construction_draw"
    scoring: dict[str, str]
    count: int
    seed: int
    files: dict[str, str]  # file of questions -> sha256


class AnnotationKey(StepKey):
    STEP = "guidelines"


class ConstructionStatisticsKey(StepKey):
    STEP = "statistics"
    title: str
    notice: str


class SubsetKey(Key):
    STAGE = "reprise.stages.construction_subset"
    settings: SubsetSearch

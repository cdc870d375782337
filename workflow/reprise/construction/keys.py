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
    """Key of the stage `construction_clips`."""

    STEP = "clips"


class CandidatesKey(StepKey):
    """Key of the stage `construction_candidates`."""

    STEP = "candidates"


class WritingKey(StepKey):
    """Key of the stage `construction_requests`."""

    STEP = "requests"
    prompts: dict[str, Prompt]


class SamplesKey(StepKey):
    """Key of the stage `construction_samples`."""

    STEP = "samples"
    prompts: dict[str, Prompt]
    embedder: str | None = None
    """version of the model of embeddings, or the digest of its folder, where captions are compared by one"""


class ReviewKey(StepKey):
    """Key of the stage `construction_review`."""

    STEP = "review"
    verdicts: dict[str, str] = Field({})
    """file of verdicts -> sha256"""


class ConstructedReleaseKey(StepKey):
    """Key of the stage `construction_release`."""

    STEP = "release"


class StaticKey(StepKey):
    """Key of the stage `construction_static`."""

    STEP = "static"
    verdicts: dict[str, str] = Field({})
    """file of people's checks -> sha256"""


class DrawKey(Key):
    """Key of the stage `construction_draw`."""

    STAGE = "reprise.stages.construction_draw"
    scoring: dict[str, str]
    count: int
    seed: int
    files: dict[str, str]
    """file of questions -> sha256"""


class AnnotationKey(StepKey):
    """Key of the stage `construction_guidelines`."""

    STEP = "guidelines"


class ConstructionStatisticsKey(StepKey):
    """Key of the stage `construction_statistics`."""

    STEP = "statistics"
    title: str
    notice: str


class SubsetKey(Key):
    """Key of the stage `construction_subset`."""

    STAGE = "reprise.stages.construction_subset"
    settings: SubsetSearch

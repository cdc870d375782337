"""Keys of the steps of a construction."""

from pydantic import Field

from reprise.benchmarks.prompts import Prompt
from reprise.construction.settings import Construction, SubsetSearch
from reprise.core.settings import Key


class StepKey(Key):
    """Key of one step of a construction, which may ask for more than its settings."""

    settings: Construction


class WritingKey(StepKey):
    """Key of the stage `construction_requests`."""

    prompts: dict[str, Prompt]


class SamplesKey(WritingKey):
    """Key of the stage `construction_samples`."""

    embedder: str | None = None
    """version of the model of embeddings, or the digest of its folder, where captions are compared by one"""


class ReviewKey(StepKey):
    """Key of the stages `construction_review` and `construction_static`."""

    verdicts: dict[str, str] = Field({})
    """file of people's verdicts -> sha256"""


class ConstructionStatisticsKey(StepKey):
    """Key of the stage `construction_statistics`."""

    title: str
    notice: str


class DrawKey(Key):
    """Key of the stage `construction_draw`."""

    scoring: dict[str, str]
    count: int
    seed: int
    files: dict[str, str]
    """file of questions -> sha256"""


class SubsetKey(Key):
    """Key of the stage `construction_subset`."""

    settings: SubsetSearch

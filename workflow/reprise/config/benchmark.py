"""`config/benchmarks/<benchmark>.yaml`: a benchmark's paper, files and protocols."""

from typing import Literal

from pydantic import Field

from reprise.config.names import Slug
from reprise.core.names import LINK
from reprise.core.settings import FilePath, FilePattern, Settings
from reprise.extraction.keys import Pattern

SUBSET = "subset"  # group of items that protocols of a published subset query


class Protocol(Settings):
    """How items become requests: form of question, prompt, kind of answer, and extraction of the option."""

    form: str
    """Form of the question, such as `entail` or `mc`."""
    prompt: str
    """Name of the prompt in the benchmark's file of prompts."""
    request_type: Literal["score", "choose", "write", "similarity"]
    """`score`: a probability per option; `choose`: an option in words; `write`: free text; `similarity`: the similarity
    of text and clip."""
    max_tokens: int = Field(1, ge=1)
    """Maximum length of a response in tokens."""
    extraction: Literal["plain", "output_block", "first_character", "options", "robust", "text"] = "plain"
    """How an option is extracted from a response in words (docs/reference/protocols.md explains each value)."""
    compare_with: Literal["all-MiniLM-L6-v2"] | None = None
    """Embedding model that compares free-form responses with the expected text."""
    detail: Literal["low", "high", "auto"] | None = None
    """Image detail that adapter `openai` sends."""
    image_size: int | None = Field(None, ge=1)
    """Maximum side of a frame in pixels; larger frames are downscaled before they are sent to a server."""
    frames_min: dict[str, int] = Field({})
    """For a metric, the minimum number of frames. Values from fewer frames are grey and never marked as best. This
    does not apply to runs without frames."""
    items: Slug | None = None
    """Group of items whose questions are requested, such as `subset`; by default all items."""
    patterns: list[Pattern] = Field([])
    """Extraction patterns, tried first by `robust` (docs/reference/extraction.md)."""
    judge: str | None = None
    """Name of the prompt for a judge. Without it, answers are not sent to a judge."""
    judge_scope: Literal["all", "unparsed"] = "all"
    """Responses that a judge maps to an option: `all`, or only those that `robust` leaves `unparsed`."""
    max_rating: Literal[3, 5] = 3
    """Highest rating of the judge; the lowest is 0."""
    judge_tokens: int = Field(64, ge=1)
    """Maximum length of a judge's reply in tokens."""
    responses_from: Slug | None = None
    """Protocol with the same requests, whose imported responses are also used."""


class StatedNumber(Settings):
    """A number with its source."""

    number: float = Field(ge=0)
    """The number."""
    basis: Literal["paper", "release", "arithmetic"]
    """`paper`: printed there; `release`: a count or size of the released files; `arithmetic`: computed from these."""
    source: str = Field(min_length=1)
    """Where it is printed, or how it is computed."""


class RequestCount(Settings):
    """Number of samples and clips of some forms of question."""

    forms: list[str] = Field(min_length=1)
    """Forms of question, as in `form:` of protocols."""
    items: Slug | None = None
    """Group of items, as in `items:` of protocols."""
    samples: StatedNumber
    """Number of samples that are asked about."""
    headline_samples: StatedNumber | None = None
    """Number of samples that the benchmark's headline score counts; null if it is unknown."""
    requests_per_sample: int = Field(1, ge=1)
    """Number of requests about a sample."""
    clips: StatedNumber
    """Number of clips."""
    clip_seconds: StatedNumber | None = None
    """Mean or maximum length of a clip in seconds; null if unknown."""


class ReleasedData(Settings):
    """Counts, size and terms of the released data."""

    page: str = Field(pattern=LINK)
    """Page of the data set."""
    licence: str = Field(min_length=1)
    """Licence of the data, or that none is stated."""
    access: Literal["open", "gated", "unknown"]
    """`gated`: the page asks users to accept terms before the download."""
    accept: str = ""
    """Terms to accept, in a few words."""
    annotation_files: list[str] = Field(min_length=1)
    """Example names of the annotation files, for users who copy them by hand."""
    video_gb: StatedNumber | None = None
    """Size of all videos in GB; null if it is unknown."""
    counts: list[RequestCount] = Field([])
    """Samples and clips by form of question; forms that are not listed have unknown counts."""


class Benchmark(Settings):
    """`config/benchmarks/<benchmark>.yaml`: a benchmark's paper, files and protocols."""

    title: str
    """Name of the benchmark in tables."""
    version: int = Field(1, ge=1)
    """Increase it when code or this file intentionally changes items, requests or scores; the workflow then recomputes
    the results."""
    paper: str
    """Citation of the paper in tables."""
    prompts: FilePath
    """File with the prompts."""
    release_files: list[FilePattern]
    """Glob patterns of the released annotation files."""
    data: ReleasedData | None = None
    """Counts, size and terms of the released data, which `reprise plan` prints before any download."""
    groups: list[Slug] = Field([])
    """Names of groups of items that are not in the code, such as other sets of videos."""
    options: dict[str, str] = Field({})
    """Options of the code that reads the release; the benchmark's page names them."""
    margins: dict[Slug, float] = Field({})
    """For a metric, the largest difference from a published number that still counts as reproduced; for other
    metrics, it is 2 percentage points."""
    protocols: dict[Slug, Protocol]
    """Protocols by name."""
    protocol_titles: dict[Slug, str] = Field({})
    """For a protocol, its name in the report, in a few words; by default the key."""

    def get_title(self, protocol: str) -> str:
        """Return the name of the benchmark, and whether a protocol queries only its subset."""
        return f"{self.title} {SUBSET}" if self.protocols[protocol].items == SUBSET else self.title

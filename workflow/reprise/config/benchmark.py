"""`config/benchmarks/<benchmark>.yaml`: a benchmark's paper, files and protocols."""

from typing import Literal

from pydantic import Field

from reprise.config.names import Slug
from reprise.core.settings import FilePath, FilePattern, Settings
from reprise.extraction.keys import Pattern


class Protocol(Settings):
    """What is requested about an item: form of question, prompt, and answer extraction."""

    form: str
    """Form of the question, such as `entail` or `mc`; each benchmark defines its own."""
    prompt: str
    """Name of the prompt in the benchmark's file of prompts."""
    ask: Literal["score", "choose", "write", "similarity"]
    """`score`: a probability per option; `choose`: an option in words; `write`: free text; `similarity`: the similarity
    of text and clip."""
    max_tokens: int = Field(1, ge=1)
    """Maximum length of a response in tokens."""
    extraction: Literal["plain", "output_block", "first_character", "options", "person", "text"] = "plain"
    """How answers are extracted. `plain`: the whole response names an option; `output_block`: use the last
    `<<<output>>>` block; `first_character`: extractor `authors` takes the first character; `options`: letter or option
    text, `authors` with VLMEvalKit's exact matching; `person`: both extractors use the table of `robust`, because the
    authors used a judge; `text`: compare the whole response with the expected text."""
    compare_with: Literal["all-MiniLM-L6-v2"] | None = None
    """Embedding model that compares free-form responses with the expected text."""
    detail: Literal["low", "high", "auto"] | None = None
    """Image detail that adapter `openai` sends with each image; other adapters ignore it."""
    image_size: int | None = Field(None, ge=1)
    """Maximum side of a frame in pixels; larger frames are downscaled before they are sent to a server. Not supported
    by adapters that load weights."""
    frames_min: dict[str, int] = Field({})
    """Metric -> minimum number of frames for a meaningful value. Values from fewer frames are grey and never marked
    best; runs without frames are exempt."""
    items: Slug | None = None
    """Group of items to request, such as `subset`; by default all items."""
    patterns: list[Pattern] = Field([])
    """Extraction patterns that `robust` applies before its own table (docs/reference/extraction.md)."""
    judge: str | None = None
    """Name of the prompt for a judge, which rates a free-form response or maps it to an option."""
    judge_scope: Literal["all", "unparsed"] = "all"
    """Responses that a judge maps to an option: `all`, or only those that `robust` leaves `unparsed`. The footnotes
    count them."""
    rated_to: Literal[3, 5] = 3
    """Highest rating of the judge; the lowest is 0."""
    judge_tokens: int = Field(64, ge=1)
    """Maximum length of a judge's reply in tokens."""
    answers_of: Slug | None = None
    """Protocol with the same requests for at least these items; its imported responses are used for this protocol
    too."""


class Benchmark(Settings):
    """`config/benchmarks/<benchmark>.yaml`: a benchmark's paper, files and protocols."""

    title: str
    """Name of the benchmark in tables."""
    version: int = Field(1, ge=1)
    """Increase it when code or this file intentionally changes items, requests or scores; results are then
    recomputed."""
    paper: str
    """Citation of the paper in tables."""
    prompts: FilePath
    """File with the prompts."""
    release_files: list[FilePattern]
    """Glob patterns of the released annotation files."""
    groups: list[Slug] = Field([])
    """Groups of items that are defined by the data only, such as sets of other videos."""
    options: dict[str, str] = Field({})
    """Options for parsing the release."""
    margins: dict[Slug, float] = Field({})
    """Metric -> largest difference from a published number that counts as equivalent; 2 points for other metrics."""
    protocols: dict[Slug, Protocol]
    """Protocols by name."""

"""`config/benchmarks/<benchmark>.yaml`: a benchmark's paper, files and protocols."""

from typing import Literal

from pydantic import Field

from reprise.config.names import Slug
from reprise.core.settings import FilePath, FilePattern, Settings
from reprise.reading.keys import Pattern


class Protocol(Settings):
    """What is asked: a form of question, its prompt, and how the answers are read."""

    form: str
    """Form of the question; each benchmark has its own, such as `entail` and `mc`."""
    prompt: str
    """Name of the prompt in the benchmark's file of prompts."""
    ask: Literal["score", "choose", "write", "similarity"]
    """`score`: a probability per option; `choose`: an option in words; `write`: free text; `similarity`: how close
    a text and a clip are."""
    max_tokens: int = Field(1, ge=1)
    """Longest answer, in tokens."""
    reading: Literal["plain", "output_block", "first_character", "options", "person", "text"] = "plain"
    """How answers are read. `plain`: the whole answer names an option; `output_block`: only what stands in the last
    `<<<output>>>` block; `first_character`: the reader `authors` takes the first character; `options`: by letter or
    option text, `authors` by VLMEvalKit's exact matching; `person`: both readers by the table of `robust`, where the
    authors asked a judge; `text`: the whole answer is compared with what is expected."""
    compare_with: Literal["all-MiniLM-L6-v2"] | None = None
    """The model whose embeddings compare free answers with what is expected."""
    detail: Literal["low", "high", "auto"] | None = None
    """The detail in which models behind adapter `openai` see an image; it is sent with each one. Other adapters have no
    such field."""
    image_size: int | None = Field(None, ge=1)
    """Longest side of a frame in pixels; larger frames are made smaller before they are sent to a server. Adapters that
    load weights make no frame smaller, so that such a protocol is refused for them."""
    frames_min: dict[str, int] = Field({})
    """Metric -> the fewest frames that can show what it asks about. Numbers of fewer are printed in grey and compete
    with none; those of no frames at all count."""
    items: Slug | None = None
    """Ask only these items of the benchmark, such as `subset`; all where none are named."""
    patterns: list[Pattern] = Field([])
    """Rows by which `robust` reads these answers before its own table (docs/reference/readers.md)."""
    judge: str | None = None
    """Name of the prompt by which a judge rates free answers, or says which option an answer comes to."""
    judge_reads: Literal["all", "unread"] = "all"
    """What is put to a judge that says which option an answer comes to: `all` answers, or only those that `robust`
    leaves `unread`; its readings are counted and named below the tables."""
    rated_to: Literal[3, 5] = 3
    """The judge's highest rating; the lowest is 0."""
    judge_tokens: int = Field(64, ge=1)
    """Longest reply of the judge, in tokens."""
    answers_of: Slug | None = None
    """A protocol that asks the same about these items or more: imported answers to it are answers to this one too."""


class Benchmark(Settings):
    """`config/benchmarks/<benchmark>.yaml`: a benchmark's paper, files and protocols."""

    title: str
    """The benchmark's name in tables."""
    version: int = Field(1, ge=1)
    """Raised when its code or this file gives other items, questions or scores on purpose; results of another
    version are made again."""
    paper: str
    """The paper, as tables cite it."""
    prompts: FilePath
    """The file of its prompts."""
    release_files: list[FilePattern]
    """Glob patterns of the released annotation files."""
    groups: list[Slug] = Field([])
    """Groups of items that only the data name, such as sets of other videos."""
    options: dict[str, str] = Field({})
    """Options for reading the benchmark's release."""
    protocols: dict[Slug, Protocol]
    """What can be asked, by name."""

"""What each file of the configuration may say."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from reprise.fetch.settings import Release, Route
from reprise.media.settings import ClipSettings, FactSettings
from reprise.stats.settings import Bootstrap

# The one pattern of every name that stands in a path or a command: no name can leave its folder or mean anything to a
# shell.
SLUG = r"[a-z0-9][a-z0-9._-]*"
SLUG_IN_WORDS = "lower-case letters, digits, '.', '_' and '-', first a letter or a digit"
Slug = Annotated[str, Field(pattern=f"^{SLUG}$")]
RunName = Annotated[str, Field(pattern=f"^{SLUG}/{SLUG}/{SLUG}$")]


class Strict(BaseModel):
    """A part of the configuration; a key it does not know is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Main(Strict):
    """config/config.yaml: which suite, and what all suites share."""

    suite: Slug
    store: str = "resources/store"
    bootstrap: Bootstrap = Bootstrap()
    samplings: dict[Slug, dict[str, Any]]


class SubsetFile(Strict):
    """A list of rows that somebody published."""

    file: str


class SubsetDraw(Strict):
    """A seeded draw of this many rows a test."""

    per_test: int = Field(ge=1)
    seed: int = 0


class SuiteBenchmark(Strict):
    tables: str
    release: Release
    clips: Literal["ids", "release"]
    route: Route
    also: list[RunName] = []
    """runs beside those of the tables: <protocol>/<sampling>/<model>"""
    judges: list[Slug] | None = None
    """judges of this benchmark's answers in place of the suite's"""
    extras: str | None = None
    """a folder on this machine whose files count as files of the release, where they are there"""
    ratings: str | None = None
    """csv of people's ratings of answers, read where the file is there"""
    subset: SubsetFile | SubsetDraw | None = None


class Suite(Strict):
    """config/suites/<suite>.yaml: read alone, never merged with another."""

    title: str
    notice: str = ""
    show_published: bool = True
    run: list[Slug | dict[Literal["gpus"], int]]
    judges: list[Slug] = []
    """models that judge free answers; tables show what the first one says where a row names no other"""
    stand_in: Slug | None = None
    """a baseline that answers in place of every other model; rows and judges keep their labels"""
    budget_usd: float = Field(0, ge=0)
    shards: int = Field(ge=1, le=4096)
    missing_share_max: float = Field(ge=0, le=1)
    clip_settings: ClipSettings = ClipSettings()
    fact_settings: FactSettings = FactSettings()
    benchmarks: dict[Slug, SuiteBenchmark]


class Model(Strict):
    """config/models/<slug>.yaml: one model and all that shapes its answers."""

    label: str
    adapter: str
    checkpoint: str | None = None
    repo: str | None = None
    revision: str | None = None
    gpus: int = Field(0, ge=0)
    memory_mb: int = Field(2000, ge=100)
    threads: int = Field(1, ge=1)
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    attention: Literal["sdpa", "eager", "flash_attention_2"] = "sdpa"
    trust_remote_code: bool = False
    settings: dict[str, Any] = {}


class Protocol(Strict):
    """What a benchmark asks: a form of question, its prompt, and how long the answer may be."""

    form: str
    prompt: str
    ask: Literal["score", "choose", "write", "similarity"]
    max_tokens: int = Field(1, ge=1)
    reading: Literal["plain", "output_block", "first_character", "options", "person", "text"] = "plain"
    """how answers are read; `first_character`, `options` and `person` (who asked a judge) are the authors' readers"""
    compare_with: Literal["all-MiniLM-L6-v2"] | None = None
    """embeds free answers and what is expected, to compare them"""
    frames_min: dict[str, int] = {}
    """metric -> number of frames below which it says nothing"""
    items: Slug | None = None
    judge: str | None = None
    """name of the prompt by which a judge rates free answers, or says which option an answer comes to"""
    judge_tokens: int = Field(64, ge=1)


class Benchmark(Strict):
    """config/benchmarks/<benchmark>.yaml."""

    title: str
    paper: str
    license: str
    prompts: str
    published: str
    release_files: list[str]
    groups: list[Slug] = []
    """groups of items that only the data name, beside those of the benchmark's module"""
    options: dict[str, str] = {}
    protocols: dict[Slug, Protocol]


class PublishedAs(Strict):
    """How the csv of published numbers names a column, where it differs from what the rows say."""

    row: str | None = None
    frames: str | None = None
    group: str | None = None


class Ratio(Strict):
    """A metric of a row's run in percent of the same metric with frames of another sampling."""

    metric: str
    over: Slug


class Column(Strict):
    """One column: one metric, or several joined in a cell, of one group of items; or the rows' numbers of frames.

    What it names of a run (model, protocol, sampling) stands for what its rows name.
    """

    title: str
    metrics: list[str] | None = None
    group: str | None = None
    model: Slug | None = None
    protocol: Slug | None = None
    sampling: Slug | None = None
    ratio: Ratio | None = None
    published: PublishedAs = PublishedAs()
    decimals: int = Field(1, ge=0, le=4)
    signed: bool = False
    span: str | None = None
    lower_is_better: bool = False
    shows: Literal["metrics", "frames"] = "metrics"


class Row(Strict):
    """One row: a run, a random guesser (`chance`), the data themselves (`dataset`), or published numbers only."""

    label: str
    model: Slug | None = None
    protocol: Slug | None = None
    sampling: Slug | None = None
    judge: Slug | None = None
    chance: bool = False
    dataset: bool = False
    group: str | None = None
    published: str | None = None
    frames: str | None = None

    def under(self, column: Column) -> "Row":
        """The row as one column shows it."""
        named = {name: getattr(column, name) for name in ("model", "protocol", "sampling")}
        return self.model_copy(update={name: value for name, value in named.items() if value is not None})


class Section(Strict):
    """Rows under a title; what it says of protocol, sampling and published labels holds for its rows."""

    title: str | None = None
    protocol: Slug | None = None
    sampling: Slug | None = None
    published_suffix: str = ""
    rows: list[Row] = Field(min_length=1)

    def resolved(self) -> list[Row]:
        return [
            row.model_copy(
                update={
                    "protocol": row.protocol or self.protocol,
                    "sampling": row.sampling or self.sampling,
                    "published": row.published or f"{row.label}{self.published_suffix}",
                }
            )
            for row in self.rows
        ]


class TableSpec(Strict):
    title: str
    caption: str
    metrics: list[str] = []
    columns: list[Column] = Field(min_length=1)
    sections: list[Section] = Field(min_length=1)
    notes: list[str] = []
    best: bool = True
    significance: bool = False
    """mark what is above chance"""
    bold: Literal["best", "significant"] = "best"
    stub: str | None = None
    """header of the row labels"""
    compared_with: str | None = None
    """group of items: mark what lies above or below the same run's number for this group"""

    def rows(self) -> list[Row]:
        """All rows with their sections' settings."""
        return [row for section in self.sections for row in section.resolved()]

    def places(self) -> list[Row]:
        """The rows as every cell shows them; a ratio names one more, the one below the line."""
        below = [c.model_copy(update={"sampling": c.ratio.over}) for c in self.columns if c.ratio]
        return [row.under(column) for row in self.rows() for column in (*self.columns, *below)]

    def metrics_of(self, column: Column) -> list[str]:
        return (column.metrics or self.metrics) if column.shows == "metrics" else []


class Tables(Strict):
    """config/tables/<benchmark>.yaml: the rows (runs) and columns (metrics) of every table of a paper."""

    benchmark: Slug
    tables: dict[Annotated[str, Field(pattern=r"^table[0-9]+$")], TableSpec]


class Configuration(BaseModel):
    """Everything that one suite needs, read and checked."""

    model_config = ConfigDict(frozen=True)
    name: str
    main: Main
    suite: Suite
    benchmarks: dict[str, Benchmark]
    tables: dict[str, Tables]
    models: dict[str, Model]

"""`config/suites/<suite>.yaml`: models, benchmarks and data of one suite."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import Discriminator, Field, Tag

from reprise.benchmarks.keys import DEFAULT_TEXT_CHARS_MAX
from reprise.config.figures import FigureWidth
from reprise.config.names import RunName, Slug, get_entry_tag
from reprise.config.side_packages import TypeOf
from reprise.core.paths import ALL
from reprise.core.settings import FilePath, Settings
from reprise.fetch.settings import Release, Route
from reprise.media.settings import DEFAULT_LIMITS, ClipMetadataSettings, ClipSettings, Limits

TemporalAblation = Literal[
    "none",
    "mismatched",
    "first",
    "middle",
    "last",
    "first_repeated",
    "middle_repeated",
    "last_repeated",
    "shuffled",
    "reversed",
]

PublishedContent = Literal["answers", "texts", "clips"]
"""What a benchmark's licence allows to pass on: ids and answers, also texts, or also clips."""


class SubsetFile(Settings):
    """A published subset."""

    file: FilePath
    """csv file with the subset."""


class SubsetDraw(Settings):
    """A random subset."""

    per_test: int = Field(ge=1)
    """Number of rows to draw from each test."""
    seed: int = 0
    """Random seed."""


def _get_subset_tag(entry: Any) -> str:
    """Return the tag of the value of `subset:`: `(list)` for a published list, `(draw)` for a random sample."""
    return "(list)" if isinstance(entry, SubsetFile) or (isinstance(entry, dict) and "file" in entry) else "(draw)"


Subset = Annotated[
    Annotated[SubsetFile, Tag("(list)")] | Annotated[SubsetDraw, Tag("(draw)")], Discriminator(_get_subset_tag)
]


class SuiteBenchmark(Settings):
    """One benchmark of a suite."""

    tables: FilePath
    """File that defines the benchmark's tables."""
    figures: FilePath | None = None
    """File that defines the benchmark's figures."""
    release: Release
    """Source of the annotation files."""
    construction: Annotated[Any, TypeOf("construction", "Construction")] | None = None
    """How to construct the release, for `release: {kind: constructed}`."""
    clips: Literal["ids", "release", "files"]
    """`release`: released videos, unchanged; `ids`: clips trimmed from source videos; `files`: your own files by name,
    trimmed where the release has a span."""
    route: Route
    """Source of the videos. If you change it, clips are made again."""
    extra_runs: list[RunName] = Field([])
    """Runs that are in no table, as `<protocol>/<sampling>/<model>`."""
    judges: list[Slug] | None = None
    """Judges of this benchmark; by default those of the suite."""
    redistribution: str = ""
    """What the videos' licence says about passing them on; the report shows it beside the clips."""
    publish: PublishedContent = "answers"
    """Content of the zip of `reprise publish`, as the licence allows: `answers` (and verdicts, with ids only), also
    `texts` (captions, questions and prompts), or also `clips`."""
    hub_task: str = ""
    """ID of the task in `eval.yaml` of the data set's repository, if the hub lists the data set as a benchmark."""
    extras: FilePath | None = None
    """Local folder whose files are added to the release and replace files of the same name."""
    ratings: FilePath | None = None
    """csv file of existing human ratings (`run,item_id,rating`), used if it exists."""
    annotators: dict[Slug, Annotated[Any, TypeOf("annotators", "Design")]] = Field({})
    """Groups of annotators for human evaluation."""
    subset_search: Annotated[Any, TypeOf("subset_search", "SubsetSearch")] | None = None
    """VELOCITI: search for a subset and write it to `results/<suite>/construction/velociti/subset/<model>.csv`, a file
    for `subset:`."""
    subset: Subset | None = None
    """The items that protocols with `items: subset` use: a published list, or a random sample."""


class GpuLimit(Settings):
    """An entry of `run:` that selects models by the GPUs that they need."""

    gpus: int = Field(ge=0)
    """Selects every model that needs at most this many GPUs."""


RunTerm = Annotated[Annotated[Slug, Tag("(text)")] | Annotated[GpuLimit, Tag("(group)")], Discriminator(get_entry_tag)]


class OverviewLine(Settings):
    """A line of the overview with settings."""

    model: Slug
    """The model."""
    benchmarks: list[Slug] | None = None
    """Benchmarks of this model; by default all in the overview."""
    samplings: dict[Slug, Slug] = Field({})
    """For each benchmark, the sampling to use instead of the one in the benchmark's tables."""
    protocols: dict[Slug, Slug] = Field({})
    """For each benchmark, the protocol to use instead of the one in the benchmark's tables."""

    def extend(self, benchmarks: Sequence[str] | None, samplings: Mapping[str, str]) -> "OverviewLine":
        """Return the line with additional benchmarks (None adds all of them) and samplings."""
        has_all = self.benchmarks is None or benchmarks is None
        all_benchmarks = None if has_all else list(dict.fromkeys([*(self.benchmarks or ()), *(benchmarks or ())]))
        return self.model_copy(update={"benchmarks": all_benchmarks, "samplings": {**self.samplings, **samplings}})

    def to_entry(self) -> str | dict[str, Any]:
        """Return the entry of the line in a YAML file: only the slug if the line has no other settings."""
        fields = self.model_dump(exclude_defaults=True)
        return fields if len(fields) > 1 else self.model


Line = Annotated[Annotated[Slug, Tag("(text)")] | Annotated[OverviewLine, Tag("(group)")], Discriminator(get_entry_tag)]


class Suite(Settings):
    """`config/suites/<suite>.yaml`: models, benchmarks and data of one suite."""

    title: str
    """Title of the suite in its tables."""
    notice: str = ""
    """A sentence that every table of the suite shows."""
    show_published: bool = True
    """Whether to show published values; the rows must be those of the paper."""
    figure_width: FigureWidth = "neurips"
    """Width of figures in print: the text of a venue (with two columns: a column for figures with `width: column`, both
    for `width: page`), always its `-column` or `-page`, or a number of inches for all figures."""
    run: list[RunTerm]
    """Models to run: names, `local` (no GPU, download or API), `gpus: N` (models that need at most N GPUs), `all` or
    `none`. Other rows show published values."""
    skip: list[Slug] = Field([])
    """Models to exclude from `run:`."""
    judges: list[Slug] = Field([])
    """Judges of free-form responses, which `run:` must select too; tables show the ratings of the first."""
    overview: list[Line] = Field([])
    """Models of the overview (`results/tables/overview.*`), one line each."""
    temporal: list[Slug] = Field([])
    """Models of the overview that get a temporal profile (docs/reference/temporal.md), or `all`."""
    temporal_ablations: list[TemporalAblation] = Field([*get_args(TemporalAblation)], min_length=1)
    """Temporal ablations of the profiles. A verdict is omitted if its rule needs an ablation that is not listed."""
    single_frame_probe: list[Slug] = Field([])
    """Benchmarks whose temporal profiles also show every planned frame alone: four runs per frame
    (docs/reference/temporal.md). Their protocol needs scores, and their sampling a fixed number of frames."""
    baseline: Slug | None = None
    """Baseline that answers instead of every model and judge. Its random answers differ between the models that it
    replaces."""
    budget_usd: float = Field(0, ge=0)
    """Maximum total cost in US dollars of models with a `price:`, over all suites of this store."""
    budget_tokens: int = Field(0, ge=0)
    """Maximum total tokens of models behind an API without a `price:`."""
    shards: int = Field(ge=1, le=4096)
    """Number of groups (shards) into which the videos are divided; one job fetches or trims each group. If you change
    it, nothing is fetched or trimmed again."""
    missing_share_max: float = Field(ge=0, le=1)
    """Maximum share of a run's items without a clip. Above it, a table is not made, and an error says why."""
    failed_share_max: float = Field(0.05, ge=0, le=1)
    """Maximum share of failed responses of a run, or of failed replies of a judge. Above it, a table is not made, and
    an error says why. Imported predictions are not counted."""
    answer_attempts: int = Field(3, ge=1)
    """How many `snakemake` commands try a request whose failure is transient, such as a time-out."""
    limits: Limits = DEFAULT_LIMITS
    """Maximum size of videos and images."""
    text_chars_max: int = Field(DEFAULT_TEXT_CHARS_MAX, ge=1)
    """Maximum characters of a text in a release; items with longer texts are missing."""
    clip_settings: ClipSettings = ClipSettings()
    """Encoding, concatenations, and images as clips."""
    clip_metadata_settings: ClipMetadataSettings = ClipMetadataSettings()
    """Shot detection and motion measurement."""
    benchmarks: dict[Slug, SuiteBenchmark]
    """Benchmarks by name."""

    def has_temporal_profile(self, model: str) -> bool:
        """Return whether a model of the overview gets a temporal profile."""
        return model in self.temporal or ALL in self.temporal

    def overview_lines(self) -> list[OverviewLine]:
        """Return the lines of the overview, each as settings."""
        return [line if isinstance(line, OverviewLine) else OverviewLine(model=line) for line in self.overview]

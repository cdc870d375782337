"""`config/suites/<suite>.yaml`: what one suite runs, on which data."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import Discriminator, Field, Tag

from reprise.benchmarks.keys import LONGEST_TEXT
from reprise.config.names import RunName, Slug, text_or_group
from reprise.config.side_packages import TypeOf
from reprise.core.settings import FilePath, Settings
from reprise.fetch.settings import Release, Route
from reprise.media.settings import DEFAULT_LIMITS, ClipSettings, FactSettings, Limits

TimeView = Literal["none", "middle", "first", "shuffled", "reversed", "another"]


class SubsetFile(Settings):
    """A subset that was published as a list."""

    file: FilePath
    """The list, a csv file."""


class SubsetDraw(Settings):
    """A subset that is drawn."""

    per_test: int = Field(ge=1)
    """Number of rows to draw from every test."""
    seed: int = 0
    """Seed of the draw."""


def _kind_of_subset(entry: Any) -> str:
    """Return the tag of a subset: a published list, or a draw."""
    return "(list)" if isinstance(entry, SubsetFile) or (isinstance(entry, dict) and "file" in entry) else "(draw)"


Subset = Annotated[
    Annotated[SubsetFile, Tag("(list)")] | Annotated[SubsetDraw, Tag("(draw)")], Discriminator(_kind_of_subset)
]


class SuiteBenchmark(Settings):
    """One benchmark of a suite."""

    tables: FilePath
    """The file of its tables."""
    figures: FilePath | None = None
    """The file of its figures; without one it has none."""
    release: Release
    """Where its annotation files come from."""
    construction: Annotated[Any, TypeOf("construction", "Construction")] | None = None
    """How the release is made, where it is `{kind: constructed}`."""
    clips: Literal["ids", "release", "files"]
    """`release` takes the released videos as they are, `ids` trims the clips from their source videos, `files` takes
    files of your own by their names, and cuts them where the release has a span."""
    route: Route
    """Where its videos come from; part of what a clip is."""
    extra_runs: list[RunName] = Field([])
    """Runs to make besides those of the tables: `<protocol>/<sampling>/<model>`."""
    judges: list[Slug] | None = None
    """Judges of this benchmark's answers; by default those of the suite."""
    passing_on: str = ""
    """What the licence of its videos says about passing clips on; the report shows it beside them."""
    extras: FilePath | None = None
    """A folder on this machine whose files count as files of the release; where both have a file, this one counts."""
    ratings: FilePath | None = None
    """csv file of people's ratings of answers (`run,item_id,rating`) that were not asked for here, read if it exists;
    people are asked for theirs by a group of `people:` of kind `rating`."""
    people: dict[Slug, Annotated[Any, TypeOf("people", "Design")]] = Field({})
    """Groups of people that are asked, by name: surveys for them, and what their answers, or ratings, come to."""
    subset_search: Annotated[Any, TypeOf("subset_search", "SubsetSearch")] | None = None
    """VELOCITI: how `construction/velociti/subset/<model>.csv` is searched for, a list for `subset:`."""
    subset: Subset | None = None
    """The items of protocols that ask `items: subset`: a list or a seeded draw."""


class OnGpus(Settings):
    """A term of `run:`."""

    gpus: int = Field(ge=0)
    """Selects every model that needs at most this many GPUs."""


Term = Annotated[Annotated[Slug, Tag("(text)")] | Annotated[OnGpus, Tag("(group)")], Discriminator(text_or_group)]


class OverviewLine(Settings):
    """A line of the overview that says more than its model."""

    model: Slug
    """The model."""
    benchmarks: list[Slug] | None = None
    """The benchmarks that it is asked; by default all that have a part in the overview."""
    samplings: dict[Slug, Slug] = Field({})
    """Benchmark -> which frames the model is shown, in place of what the benchmark's tables say."""

    def with_more(self, benchmarks: Sequence[str] | None, samplings: Mapping[str, str]) -> "OverviewLine":
        """Return the line with additional benchmarks, or all benchmarks if None is given, and with samplings."""
        has_all = self.benchmarks is None or benchmarks is None
        merged = None if has_all else list(dict.fromkeys([*(self.benchmarks or ()), *(benchmarks or ())]))
        return OverviewLine(model=self.model, benchmarks=merged, samplings={**self.samplings, **samplings})

    def as_written(self) -> str | dict[str, Any]:
        """Return the line as it is written to a file: the slug alone if it has no other settings."""
        fields = self.model_dump(exclude_defaults=True)
        return fields if len(fields) > 1 else self.model


Line = Annotated[Annotated[Slug, Tag("(text)")] | Annotated[OverviewLine, Tag("(group)")], Discriminator(text_or_group)]


class Suite(Settings):
    """`config/suites/<suite>.yaml`: what one suite runs, on which data. It is read alone, never merged with another."""

    title: str
    """Name of the suite in its tables."""
    notice: str = ""
    """A sentence that every table of the suite shows."""
    show_published: bool = True
    """Whether the rows are the paper's rows, so that published values are shown."""
    run: list[Term]
    """The models that run here: slugs, `local` (no GPU, no download, no API), `gpus: N` (models that need at most N
    GPUs), `all`, `none`. Every other row shows its published value, marked. Models with `settings.key`, behind an API,
    also need a budget: `budget_usd`, or `budget_tokens` where their price is unknown."""
    skip: list[Slug] = Field([])
    """Models that do not run although a term of `run:` selects them."""
    judges: list[Slug] = Field([])
    """Models that judge free answers, the first of which the tables show. They must be selected by `run:` too; without
    a judge the rows that need one show published values."""
    overview: list[Line] = Field([])
    """The models of the overview (`results/tables/overview.*`), a line each; without any there is no overview."""
    time: list[Slug] = Field([])
    """Models of the overview whose cards of time are made (`results/time/<model>.*`), or `all` of them: each is asked
    what its line of the overview says, and again with its frames in views of time (docs/reference/time.md)."""
    time_views: list[TimeView] = Field([*get_args(TimeView)], min_length=1)
    """The views that cards of time ask. `[none, middle, shuffled]` tells the parts of a score at half the cost."""
    stand_in: Slug | None = None
    """A baseline that answers in place of every other model and judge. Labels stay; each model's slug is its seed."""
    budget_usd: float = Field(0, ge=0)
    """US dollars that models behind an API may cost in all, of whatever suite of this store: a job stops before a
    question would cross it. At 0 no model with a `price:` runs."""
    budget_tokens: int = Field(0, ge=0)
    """Tokens, of prompts and answers, that models behind an API may take in all whose files name no `price:`; at 0 none
    of them runs."""
    shards: int = Field(ge=1, le=4096)
    """Number of shards that the videos are divided into. Changing it repeats no work that is in the store."""
    missing_share_max: float = Field(ge=0, le=1)
    """Largest share of a run's items without a clip, 0 to 1; above it a table stops with an error."""
    failed_share_max: float = Field(0.05, ge=0, le=1)
    """Largest share of a run's answers, or of a judge's replies, that may have failed, 0 to 1; above it a table stops
    with an error. Answers that were made elsewhere do not count."""
    answer_attempts: int = Field(3, ge=1)
    """Runs of the workflow that ask a question whose failure may pass, such as a timeout."""
    limits: Limits = DEFAULT_LIMITS
    """The largest videos and images that are taken."""
    text_chars_max: int = Field(LONGEST_TEXT, ge=1)
    """Most characters of one text of a release; an item with a longer one is not asked, and counts as missing."""
    clip_settings: ClipSettings = ClipSettings()
    """Encoding, concatenations, images as clips."""
    fact_settings: FactSettings = FactSettings()
    """Detection of shots, measuring of motion."""
    benchmarks: dict[Slug, SuiteBenchmark]
    """The benchmarks by name."""

    def overview_lines(self) -> list[OverviewLine]:
        """Return the lines of the overview, each as settings."""
        return [line if isinstance(line, OverviewLine) else OverviewLine(model=line) for line in self.overview]

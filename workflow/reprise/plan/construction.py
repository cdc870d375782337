"""The benchmarks that a suite makes: the keys of their steps, and what the rules ask."""

from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from reprise.benchmarks.prompts import Prompt, load_prompts
from reprise.config.unfiltered import static_filters
from reprise.construction.keys import (
    AnnotationKey,
    CandidatesKey,
    ConstructedReleaseKey,
    ConstructionStatisticsKey,
    DrawKey,
    PoolClipsKey,
    ReviewKey,
    SamplesKey,
    StaticKey,
    StepKey,
    WritingKey,
)
from reprise.construction.registry import MEASURED
from reprise.construction.settings import (
    CheckpointEncoder,
    Constructing,
    Construction,
    Making,
    MmbenchVideoSettings,
    OtherSets,
    VinogroundSettings,
)
from reprise.core.errors import UserError
from reprise.core.files import fitting_files, matching_files
from reprise.core.keyfile import Key
from reprise.core.names import UNFILTERED, one_of
from reprise.core.paths import Run
from reprise.fetch.keys import ReleaseKey
from reprise.fetch.settings import ReleaseFolder
from reprise.models.local.embeddings import DISTRIBUTION
from reprise.plan.identity import local_weights
from reprise.plan.runs import Plan

Wildcards = Any
SOURCE, WRITER = "source", "writer"
WRITING = "construction"
"""what stands for the protocol of a round of writing"""
PAGE = "statistics.md"
UNREAD = "unread"


def constructed(plan: Plan) -> Mapping[str, Construction]:
    """The benchmarks that are made, and how."""
    entries = plan.config.suite.benchmarks.items()
    return {name: entry.construction for name, entry in entries if entry.construction is not None}


def written(plan: Plan) -> Mapping[str, Constructing]:
    """Those of them whose texts a language model writes."""
    return {name: how for name, how in constructed(plan).items() if isinstance(how, Constructing)}


def writer_run(benchmark: str, number: int | str, settings: Constructing) -> Run:
    """A round of writing, named as runs are."""
    return Run(benchmark, WRITING, f"round{number}", settings.writer)


def writer_of(plan: Plan, benchmark: str) -> str:
    """The model that writes a benchmark's texts; it must run here."""
    writer = written(plan)[benchmark].writer
    if writer not in plan.models:
        raise UserError(
            f"config/suites/{plan.config.name}.yaml: benchmarks.{benchmark}.construction.writer: '{writer}' does not "
            "run here. Name it in `run:`; a model behind an API also needs a budget."
        )
    return writer


def writing_prompts(settings: Making) -> dict[str, Prompt]:
    """The prompts by which the writer is asked; none where there is no writer."""
    return load_prompts(Path(settings.prompts)) if isinstance(settings, Constructing) else {}


def as_asked(prompts: Mapping[str, Prompt]) -> dict[str, str]:
    """All prompts of a writer, as they stand in its key."""
    texts = {name: {"system": one.system, "user": one.user} for name, one in sorted(prompts.items())}
    return {f"{name}.{part}": text for name, parts in texts.items() for part, text in parts.items()}


class Writing(NamedTuple):
    """What the key of a writer is made of."""

    path: Path
    name: str
    writer: str
    prompts: dict[str, str]
    asked: dict[str, Any]


def writing(plan: Plan, benchmark: str, sampling: dict[str, str]) -> Writing:
    """The writer of a benchmark, and what it is asked; it is shown no frames."""
    settings, writer = written(plan)[benchmark], writer_of(plan, benchmark)
    asked = {"form": "writer", "ask": "write", "max_tokens": settings.max_tokens, "sampling": sampling}
    path, name = plan.results.construction_key(benchmark, WRITER), f"{writer} as writer of {benchmark}"
    return Writing(path, name, writer, as_asked(writing_prompts(settings)), asked)


def step_keys(plan: Plan, benchmark: str) -> Iterator[tuple[Path, Key]]:
    """The key files of a construction's steps, but for the writer's; without the digests of their code."""
    settings = constructed(plan)[benchmark]
    prompts, title = writing_prompts(settings), plan.config.benchmarks[benchmark].title
    verdicts = {str(path): plan.store.digest(path) for path in fitting_files(settings.review.verdicts)}
    steps: dict[str, Key] = {
        SOURCE: _source(plan, benchmark, settings),
        **({"clips": PoolClipsKey(settings=settings)} if settings.kind in MEASURED else {}),
        "candidates": CandidatesKey(settings=settings),
        "samples": SamplesKey(settings=settings, prompts=prompts, embedder=_embedder(plan, benchmark, settings)),
        "review": ReviewKey(settings=settings, verdicts=verdicts),
        "release": ConstructedReleaseKey(settings=settings),
        "statistics": ConstructionStatisticsKey(settings=settings, title=title, notice=plan.config.suite.notice),
    }
    if isinstance(settings, Constructing):
        steps["requests"] = WritingKey(settings=settings, prompts=prompts)
    if isinstance(settings, MmbenchVideoSettings):
        steps["guidelines"] = AnnotationKey(settings=settings)
    if others := other_sets(settings):
        files = {name: plan.store.digest(Path(name)) for name in others.files().values()}
        own = others.model_dump(exclude={"folder"})
        steps["draw"] = DrawKey(**own, seed=settings.seed, files=files)
    if benchmark in static_filters(plan.config):
        checked = checks_by_hand(plan, benchmark)
        steps["static"] = StaticKey(
            settings=settings, verdicts={str(path): plan.store.digest(path) for path in checked}
        )
    for step, key in steps.items():
        yield plan.results.construction_key(benchmark, step), _lean(key)


def _embedder(plan: Plan, benchmark: str, settings: Construction) -> str | None:
    """The version of the model that compares captions, where one does; that of a folder is its digest."""
    if not isinstance(settings, VinogroundSettings) or settings.encoder.kind == "words":
        return None
    if isinstance(settings.encoder, CheckpointEncoder):
        where = f"config/suites/{plan.config.name}.yaml: benchmarks.{benchmark}.construction.encoder.folder"
        return local_weights(Path(settings.encoder.folder), where, "or write `encoder: {kind: words}`", plan.store)
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "not installed"


def _source(plan: Plan, benchmark: str, settings: Construction) -> ReleaseKey:
    """The raw annotations; those in a folder by their content, so that an edited file is a change."""
    where, patterns = settings.annotations, tuple(settings.files)
    files = matching_files(Path(where.path), patterns) if isinstance(where, ReleaseFolder) else {}
    found = {name: plan.store.digest(path) for name, path in files.items()}
    return ReleaseKey(benchmark=benchmark, release=where, files=patterns, found=found)


def _lean(key: Key) -> Key:
    """A key without what its step does not read, so that a change of the review makes no caption anew."""
    if not isinstance(key, StepKey):
        return key
    unread: dict[str, Any] = {}
    if isinstance(key.settings, Constructing):  # both are in the writer's key, as their content
        unread = {"writer": UNREAD, "prompts": UNREAD}
    if not isinstance(key, ReviewKey | StaticKey):
        unread["review"] = type(key.settings.review)(verdicts=UNREAD)
    if isinstance(key.settings, MmbenchVideoSettings) and not isinstance(key, StaticKey):
        unread |= {"static": None}
    if isinstance(key.settings, MmbenchVideoSettings) and not isinstance(key, ConstructedReleaseKey):
        unread |= {"other_sets": None}
    return key.model_copy(update={"settings": key.settings.model_copy(update=unread)})


def other_sets(settings: Construction) -> OtherSets | None:
    """The other sets that a benchmark's questions are compared with."""
    return settings.other_sets if isinstance(settings, MmbenchVideoSettings) else None


def checks_by_hand(plan: Plan, benchmark: str) -> list[Path]:
    """What people said of static questions so far."""
    pattern = static_filters(plan.config)[benchmark].verdicts
    return fitting_files(pattern) if pattern else []


class Constructed:
    """What the rules of a construction ask."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._made = constructed(plan)
        self._written = written(plan)
        self._filtered = static_filters(plan.config)

    def here(self) -> str:
        """The benchmarks that are made, as a wildcard's pattern."""
        return one_of(self._made)

    def elsewhere(self) -> str:
        """Those whose release is fetched or found."""
        before = {f"{name}{UNFILTERED}" for name in self._filtered}
        return one_of(self._plan.config.suite.benchmarks.keys() - self._made.keys() - before)

    def filtered(self) -> str:
        """Those that are made from which static questions are dropped."""
        return one_of(self._filtered)

    def measured(self) -> str:
        """Those whose clips are fetched and measured before anything is written about them."""
        return one_of(name for name, settings in self._made.items() if settings.kind in MEASURED)

    def facts(self, wildcards: Wildcards) -> list[Path]:
        """What was measured of the clips that a benchmark may be made of; nothing where nothing is."""
        is_needed = self._made[wildcards.benchmark].kind in MEASURED
        return [self._plan.results.construction(wildcards.benchmark, "facts.parquet")] if is_needed else []

    def ledgers(self, wildcards: Wildcards) -> list[Path]:
        """Every shard of those clips."""
        folder = self._plan.results.construction(wildcards.benchmark, "clips")
        return [folder / f"{shard}.parquet" for shard in range(self._plan.config.suite.shards)]

    def pages(self) -> list[Path]:
        """The page of numbers of each."""
        return [self._plan.results.construction(name, PAGE) for name in sorted(self._made)]

    def rounds_before(self, wildcards: Wildcards) -> list[Path]:
        """The replies of the rounds before."""
        return self._replies(wildcards.benchmark, int(wildcards.round) - 1)

    def every_round(self, wildcards: Wildcards) -> list[Path]:
        """The replies of all rounds; none where nothing is written by a model."""
        settings = self._written.get(wildcards.benchmark)
        return self._replies(wildcards.benchmark, settings.rounds) if settings else []

    def _replies(self, benchmark: str, rounds: int) -> list[Path]:
        folder = self._plan.results.construction(benchmark, "replies")
        return [folder / f"{number}.parquet" for number in range(1, rounds + 1)]

    def verdicts(self, wildcards: Wildcards) -> list[Path]:
        """People's verdicts so far."""
        return fitting_files(self._made[wildcards.benchmark].review.verdicts)

    def searched(self) -> str:
        """The benchmarks of which a subset can be searched for, as a wildcard's pattern."""
        entries = self._plan.config.suite.benchmarks.items()
        return one_of(name for name, entry in entries if entry.subset_search is not None)

    def subset_verdicts(self, wildcards: Wildcards) -> list[Path]:
        """The verdicts of the run by which a subset is searched for."""
        search = self._plan.config.suite.benchmarks[wildcards.benchmark].subset_search
        assert search is not None  # the rule's wildcard says so
        run = Run(wildcards.benchmark, search.protocol, search.sampling, wildcards.model)
        if run not in self._plan.runs():
            raise UserError(
                f"config/suites/{self._plan.config.name}.yaml: benchmarks.{run.benchmark}.subset_search: there is no "
                f"run '{run.name}' here. Name it in `extra_runs:` and its model in `run:`, or correct `protocol:` and "
                "`sampling:`."
            )
        return [self._plan.results.verdicts(run, "robust")]

    def run(self, wildcards: Wildcards) -> Run:
        """A round of writing, named as runs are."""
        return writer_run(wildcards.benchmark, wildcards.round, self._written[wildcards.benchmark])

    def tables(self, *names: str) -> Callable[[Wildcards], list[Path]]:
        """Tables of a construction."""
        return lambda wildcards: [
            self._plan.results.construction(wildcards.benchmark, f"{name}.parquet") for name in names
        ]

    def released(self, wildcards: Wildcards) -> list[Path]:
        """The table whose rows are released: what static questions are dropped from, or what people reviewed."""
        name = "static" if wildcards.benchmark in self._filtered else "reviewed"
        return self.tables(name)(wildcards)

    def counted(self, wildcards: Wildcards) -> list[Path]:
        """The tables of all steps."""
        names = ["pool", "texts", "candidates", "written", "samples", "reviewed", "votes"]
        return self.tables(*names, *(["static"] if wildcards.benchmark in self._filtered else []))(wildcards)

    def ratings(self, wildcards: Wildcards) -> list[Path]:
        """What the judge says of the answers from one random frame."""
        benchmark = wildcards.benchmark
        runs = [Run.parse(f"{benchmark}{UNFILTERED}/{name}") for name in self._filtered[benchmark].runs()]
        return [self._plan.results.verdicts(run, self._plan.judge_of(run)) for run in runs]

    def checks_by_hand(self, wildcards: Wildcards) -> list[Path]:
        """What people said of static questions so far."""
        return checks_by_hand(self._plan, wildcards.benchmark)

    def sets(self) -> str:
        """The other sets that questions are drawn of."""
        return one_of({name for how in self._made.values() if (found := other_sets(how)) for name in found.scoring})

    def drawn(self, wildcards: Wildcards) -> list[Path]:
        """What is drawn of each of them, which is released too."""
        found, folder = other_sets(self._made[wildcards.benchmark]), self._plan.results
        names = sorted(found.scoring) if found else []
        return [folder.construction(wildcards.benchmark, f"sets/{name}.csv") for name in names]

    def set_file(self, wildcards: Wildcards) -> list[str]:
        """The questions of such a set."""
        found = other_sets(self._made[wildcards.benchmark])
        return [found.files()[wildcards.set]] if found else []

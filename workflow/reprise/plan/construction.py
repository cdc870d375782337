"""The benchmarks that a suite makes: the keys of their steps, and what the rules ask."""

from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from reprise.benchmarks.prompts import Prompt, load_prompts
from reprise.construction.keys import (
    CandidatesKey,
    ConstructedReleaseKey,
    ConstructionStatisticsKey,
    ReviewKey,
    SamplesKey,
    StepKey,
    WritingKey,
)
from reprise.construction.settings import Construction, ReviewSettings, VinogroundSettings
from reprise.core.errors import UserError
from reprise.core.files import matching_files
from reprise.core.keyfile import Key
from reprise.core.names import one_of
from reprise.core.paths import Run
from reprise.fetch.keys import ReleaseKey
from reprise.fetch.settings import ReleaseFolder
from reprise.models.embeddings import DISTRIBUTION
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


def writer_run(benchmark: str, number: int | str, settings: Construction) -> Run:
    """A round of writing, named as runs are."""
    return Run(benchmark, WRITING, f"round{number}", settings.writer)


def writer_of(plan: Plan, benchmark: str) -> str:
    """The model that writes a benchmark's texts; it must run here."""
    writer = constructed(plan)[benchmark].writer
    if writer not in plan.models:
        raise UserError(
            f"config/suites/{plan.config.name}.yaml: benchmarks.{benchmark}.construction.writer: '{writer}' does not "
            "run here. Name it in `run:`; a model behind an API also needs a budget."
        )
    return writer


def writing_prompts(settings: Construction) -> dict[str, Prompt]:
    """The prompts by which the writer is asked."""
    return load_prompts(Path(settings.prompts))


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
    settings, writer = constructed(plan)[benchmark], writer_of(plan, benchmark)
    asked = {"form": "writer", "ask": "write", "max_tokens": settings.max_tokens, "sampling": sampling}
    path, name = plan.results.construction_key(benchmark, WRITER), f"{writer} as writer of {benchmark}"
    return Writing(path, name, writer, as_asked(writing_prompts(settings)), asked)


def step_keys(plan: Plan, benchmark: str) -> Iterator[tuple[Path, Key]]:
    """The key files of a construction's steps, but for the writer's; without the digests of their code."""
    settings = constructed(plan)[benchmark]
    prompts, title = writing_prompts(settings), plan.config.benchmarks[benchmark].title
    verdicts = {str(path): plan.store.digest(path) for path in verdict_files(settings)}
    steps: dict[str, Key] = {
        SOURCE: _source(plan, benchmark, settings),
        "candidates": CandidatesKey(settings=settings),
        "requests": WritingKey(settings=settings, prompts=prompts),
        "samples": SamplesKey(settings=settings, prompts=prompts, embedder=_embedder(settings)),
        "review": ReviewKey(settings=settings, verdicts=verdicts),
        "release": ConstructedReleaseKey(settings=settings),
        "statistics": ConstructionStatisticsKey(settings=settings, title=title, notice=plan.config.suite.notice),
    }
    for step, key in steps.items():
        yield plan.results.construction_key(benchmark, step), _lean(key)


def _embedder(settings: Construction) -> str | None:
    """The version of the model that compares captions, where one does."""
    if not isinstance(settings, VinogroundSettings) or settings.encoder == "words":
        return None
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
    unread: dict[str, Any] = {"writer": UNREAD, "prompts": UNREAD}  # both are in the writer's key, as their content
    if not isinstance(key, ReviewKey):
        unread["review"] = ReviewSettings(verdicts=UNREAD)
    return key.model_copy(update={"settings": key.settings.model_copy(update=unread)})


def verdict_files(settings: Construction) -> list[Path]:
    """People's verdicts so far."""
    return sorted(path for path in Path().glob(settings.review.verdicts) if path.is_file())


class Constructed:
    """What the rules of a construction ask."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._made = constructed(plan)

    def here(self) -> str:
        """The benchmarks that are made, as a wildcard's pattern."""
        return one_of(self._made)

    def elsewhere(self) -> str:
        """Those whose release is fetched or found."""
        return one_of(self._plan.config.suite.benchmarks.keys() - self._made.keys())

    def pages(self) -> list[Path]:
        """The page of numbers of each."""
        return [self._plan.results.construction(name, PAGE) for name in sorted(self._made)]

    def rounds_before(self, wildcards: Wildcards) -> list[Path]:
        """The replies of the rounds before."""
        return self._replies(wildcards.benchmark, int(wildcards.round) - 1)

    def every_round(self, wildcards: Wildcards) -> list[Path]:
        """The replies of all rounds."""
        return self._replies(wildcards.benchmark, self._made[wildcards.benchmark].rounds)

    def _replies(self, benchmark: str, rounds: int) -> list[Path]:
        folder = self._plan.results.construction(benchmark, "replies")
        return [folder / f"{number}.parquet" for number in range(1, rounds + 1)]

    def verdicts(self, wildcards: Wildcards) -> list[Path]:
        """People's verdicts so far."""
        return verdict_files(self._made[wildcards.benchmark])

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
        return writer_run(wildcards.benchmark, wildcards.round, self._made[wildcards.benchmark])

    def tables(self, *names: str) -> Callable[[Wildcards], list[Path]]:
        """Tables of a construction."""
        return lambda wildcards: [
            self._plan.results.construction(wildcards.benchmark, f"{name}.parquet") for name in names
        ]

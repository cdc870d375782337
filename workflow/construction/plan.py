"""For rules.smk: the making of a benchmark, from raw annotations to a release."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from reprise.benchmarks.prompts import Prompt, load_prompts
from reprise.benchmarks.rows import grouped
from reprise.core.errors import UserError
from reprise.core.files import fitting_files
from reprise.core.names import UNFILTERED, one_of
from reprise.core.paths import Ledger, Run, Scored, settings_name
from reprise.core.settings import Settings
from reprise.fetch.keys import ReleaseKey
from reprise.fetch.settings import ReleaseFolder
from reprise.models.keys import ModelRunKey
from reprise.plan.answers import FailedAnswers, Job, failed_answers
from reprise.plan.retries import ledger_reason, retry_param
from reprise.plan.run_keys import NO_FRAMES, RunKeys, local_weights
from reprise.plan.runs import Plan
from reprise.plan.side_package import SidePackage
from reprise.plan.states import NEW, Asking, States, in_words

from construction.configuration import static_filters
from construction.keys import (
    ConstructionStatisticsKey,
    DrawKey,
    ReviewKey,
    SamplesKey,
    StepKey,
    SubsetKey,
    WritingKey,
)
from construction.registry import MEASURED
from construction.settings import (
    CheckpointEncoder,
    Constructing,
    Making,
    MmbenchVideoSettings,
    TemporalBenchSettings,
    VinogroundSettings,
    writers_of,
)
from construction.settings import Construction as ConstructionSettings

VERSIONS = {
    "construction_candidates": 1,
    "construction_clips": 1,
    "construction_draw": 1,
    "construction_guidelines": 1,
    "construction_release": 1,
    "construction_requests": 1,
    "construction_review": 1,
    "construction_samples": 1,
    "construction_static": 1,
    "construction_statistics": 1,
    "construction_subset": 1,
}
"""stage -> its version; raise it when the results of the stage change on purpose, with a line in CHANGELOG.md"""
WRITER = "writer"
WRITING = "construction"  # what stands for the protocol of a round of writing


def constructed(plan: Plan) -> Mapping[str, ConstructionSettings]:
    entries = plan.config.suite.benchmarks.items()
    return {name: entry.construction for name, entry in entries if entry.construction is not None}


def written(plan: Plan) -> Mapping[str, Constructing]:
    """Those of them whose texts a language model writes."""
    return {name: how for name, how in constructed(plan).items() if isinstance(how, Constructing)}


def writer_run(benchmark: str, number: int | str, writer: str) -> Run:
    return Run(benchmark, WRITING, f"round{number}", writer)


def writers_here(plan: Plan, benchmark: str, settings: Constructing) -> list[str]:
    """The models that write a benchmark's texts; they must run here."""
    writers = writers_of(settings)
    for writer in writers:
        if writer not in plan.models:
            key = "writer" if writer == settings.writer else "other_writers"
            raise UserError(
                f"{plan.config.file}: benchmarks.{benchmark}.construction.{key}: '{writer}' does "
                "not run here. Name it in `run:`; a model behind an API also needs a budget."
            )
    return writers


def writing_prompts(settings: Making) -> dict[str, Prompt]:
    """The prompts by which the writer is asked; none where there is no writer."""
    return load_prompts(Path(settings.prompts)) if isinstance(settings, Constructing) else {}


def writer_settings(runs: RunKeys, benchmark: str, settings: Constructing, writer: str) -> tuple[str, ModelRunKey]:
    """The settings of a model that writes a benchmark's texts, with their name."""
    asked = {"form": "writer", "ask": "write", "max_tokens": settings.max_tokens, "sampling": NO_FRAMES}
    texts = {
        f"{name}.{part}": text
        for name, prompt in writing_prompts(settings).items()
        for part, text in (("system", prompt.system), ("user", prompt.user))
    }
    name = settings_name("construction", benchmark, WRITER, writer)
    return name, runs.of_model(f"{writer} as writer of {benchmark}", writer, texts, asked)


UNREAD = "unread"


class Package(SidePackage):
    VERSIONS = VERSIONS

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._made, self._written = constructed(plan), written(plan)
        entries, made = plan.config.suite.benchmarks.items(), self._made.items()
        self._searches = {name: entry.subset_search for name, entry in entries if entry.subset_search is not None}
        self._filtered = static_filters(plan.config)
        self._checks = {name: fitting_files(how.verdicts or "") for name, how in self._filtered.items()}
        self._sets = {
            name: how.other_sets for name, how in made if isinstance(how, MmbenchVideoSettings) and how.other_sets
        }
        # Wildcards' patterns: the benchmarks that are made, those from which static questions are dropped, those whose
        # clips are fetched and measured before anything is written about them, and those whose subset can be searched
        # for; the other sets that questions are drawn of.
        self.here, self.filtered = one_of(self._made), one_of(self._filtered)
        self.measured = one_of(name for name, how in made if how.kind in MEASURED)
        self.searched = one_of(self._searches)
        self.sets = one_of({name for others in self._sets.values() for name in others.scoring})

    def keys(self, runs: RunKeys) -> Iterator[tuple[str, Settings]]:
        name_of_settings = settings_name
        for benchmark, how in self._made.items():
            where, patterns = how.annotations, tuple(how.files)
            found = self._plan.digests_in(where.path, patterns) if isinstance(where, ReleaseFolder) else {}
            source = ReleaseKey(benchmark=benchmark, release=where, files=patterns, found=found)
            yield (
                name_of_settings("construction", benchmark, "source"),
                runs.versioned("release", source, world=where.kind),
            )
            for step, key in self._steps(benchmark, how).items():
                coded = runs.versioned(f"construction_{step}", lean(step, key))
                yield name_of_settings("construction", benchmark, step), coded
        for benchmark, others in self._sets.items():
            digests, own = self._plan.digests(others.files().values()), others.model_dump(exclude={"folder"})
            draw = DrawKey(**own, seed=self._made[benchmark].seed, files=digests)
            yield name_of_settings("construction", benchmark, "draw"), runs.versioned("construction_draw", draw)
        for benchmark, settings in self._written.items():
            for writer in writers_here(self._plan, benchmark, settings):
                yield writer_settings(runs, benchmark, settings, writer)
        for benchmark, search in self._searches.items():
            file = name_of_settings("construction", benchmark, "subset")
            yield file, runs.versioned("construction_subset", SubsetKey(settings=search))

    def _steps(self, benchmark: str, how: ConstructionSettings) -> Mapping[str, StepKey]:
        """Return the settings of a construction's steps."""
        plan, prompts = self._plan, writing_prompts(how)
        title, notice = plan.config.benchmarks[benchmark].title, plan.config.suite.notice
        steps: dict[str, StepKey] = {
            "candidates": StepKey(settings=how),
            "samples": SamplesKey(settings=how, prompts=prompts, embedder=_embedder(plan, benchmark, how)),
            "review": ReviewKey(settings=how, verdicts=plan.digests(fitting_files(how.review.verdicts))),
            "release": StepKey(settings=how),
            "statistics": ConstructionStatisticsKey(settings=how, title=title, notice=notice),
        }
        if how.kind in MEASURED:
            steps["clips"] = StepKey(settings=how)
        if isinstance(how, Constructing):
            steps["requests"] = WritingKey(settings=how, prompts=prompts)
        if isinstance(how, MmbenchVideoSettings):
            steps["guidelines"] = StepKey(settings=how)
        if benchmark in self._filtered:
            steps["static"] = ReviewKey(settings=how, verdicts=plan.digests(self._checks[benchmark]))
        return steps

    def facts(self, wildcards: Any) -> list[Path]:
        """What was measured of the clips that a benchmark may be made of; nothing where nothing is."""
        is_needed = self._made[wildcards.benchmark].kind in MEASURED
        return [self._results.construction(wildcards.benchmark, "facts.parquet")] if is_needed else []

    def ledgers(self, wildcards: Any) -> list[Path]:
        folder = self._results.construction(wildcards.benchmark, "clips")
        return [folder / f"{shard}.parquet" for shard in range(self._plan.config.suite.shards)]

    def retry_sources(self, wildcards: Any) -> str:
        return self._retry("sources", wildcards)

    def retry_clips(self, wildcards: Any) -> str:
        return self._retry("clips", wildcards)

    def _retry(self, stage: Ledger, wildcards: Any) -> str:
        path = self._results.construction(wildcards.benchmark, stage) / f"{wildcards.shard}.parquet"
        return retry_param(path, ledger_reason(self._plan, stage, wildcards.benchmark, path))

    def pages(self) -> list[Path]:
        return [self._results.construction(name, "statistics.md") for name in sorted(self._made)]

    def jobs(self) -> Iterator[Job]:
        """The rounds in which a language model writes what benchmarks are made of."""
        runs = RunKeys(self._plan)
        for benchmark, settings in self._written.items():
            for writer in writers_of(settings):
                name, key = writer_settings(runs, benchmark, settings, writer)
                for number in range(1, settings.rounds + 1):
                    yield Job(
                        Scored(writer_run(benchmark, number, writer)),
                        name,
                        key.key,
                        responses=self._round("replies", benchmark, writer, number),
                        requests=self._round("requests", benchmark, writer, number),
                        max_tokens=settings.max_tokens,
                        title=f"round{number} of writing {benchmark} by {writer}",
                    )

    def _round(self, folder: str, benchmark: str, writer: str, number: int | str) -> Path:
        return self._results.construction(benchmark, folder) / writer / f"{number}.parquet"

    def askings(self, states: States, benchmarks: Collection[str]) -> Iterator[Asking]:
        """Of each writer the round that is made next; what is asked after it depends on its replies."""
        own = (job for job in self.jobs() if job.scored.run.benchmark in benchmarks)
        rounds = grouped(own, lambda job: (job.scored.run.benchmark, job.scored.run.model))
        for jobs in rounds.values():
            for later, job in zip(reversed(range(len(jobs))), jobs, strict=True):
                asking = _of_round(states, job)
                if asking.why:
                    *why, last = asking.why
                    yield asking._replace(why=(*why, f"{last}, and at most {later} rounds after it" if later else last))
                    break

    def outcome(self, targets: Sequence[str]) -> Iterator[str]:
        """What each benchmark that these targets make is made of, and what was dropped before anything was written."""
        for benchmark in self._made:
            pool = self._results.construction(benchmark, "pool.parquet")
            if not pool.is_file() or (targets and not any(Path(one).is_relative_to(pool.parent) for one in targets)):
                continue
            filters = Counter(pl.read_parquet(pool, columns=["filter"])["filter"])
            rows, kept = filters.total(), filters.pop("", 0)
            dropped = f" ({', '.join(f'{count} {name}' for name, count in filters.most_common())})" if filters else ""
            yield f"Construction of {benchmark}: {kept} of {rows} kept before the writing{dropped}"

    def retry_replies(self, wildcards: Any) -> str:
        """Another value where requests of a round failed and are worth another try."""
        replies = self._round("replies", wildcards.benchmark, wildcards.model, wildcards.round)
        failed = self._failed.get(Scored(writer_run(wildcards.benchmark, wildcards.round, wildcards.model)))
        return retry_param(replies, "failed" if failed is not None and failed.due else "")

    @cached_property
    def _failed(self) -> dict[Scored, FailedAnswers]:
        return {answers.job.scored: answers for answers in failed_answers(self._plan)}

    def rounds_before(self, wildcards: Any) -> list[Path]:
        """A writer's replies of the rounds before; to the first of several, who labels what all wrote, those of all."""
        settings = self._written[wildcards.benchmark]
        writers = writers_of(settings) if wildcards.model == settings.writer else [wildcards.model]
        return self._replies(wildcards.benchmark, writers, int(wildcards.round) - 1)

    def every_round(self, wildcards: Any) -> list[Path]:
        """The replies of all rounds; none where nothing is written by a model."""
        settings = self._written.get(wildcards.benchmark)
        return self._replies(wildcards.benchmark, writers_of(settings), settings.rounds) if settings else []

    def _replies(self, benchmark: str, writers: Sequence[str], rounds: int) -> list[Path]:
        numbers = range(1, rounds + 1)
        return [self._round("replies", benchmark, writer, number) for writer in writers for number in numbers]

    def verdicts(self, wildcards: Any) -> list[Path]:
        return fitting_files(self._made[wildcards.benchmark].review.verdicts)

    def subset_verdicts(self, wildcards: Any) -> list[Path]:
        search = self._searches[wildcards.benchmark]
        run = Run(wildcards.benchmark, search.protocol, search.sampling, wildcards.model)
        if run not in self._plan.runs():
            raise UserError(
                f"{self._plan.config.file}: benchmarks.{run.benchmark}.subset_search: there is no "
                f"run '{run.name}' here. Name it in `extra_runs:` and its model in `run:`, or correct `protocol:` and "
                "`sampling:`."
            )
        return [self._results.verdicts(run, "robust")]

    def tables(self, *names: str) -> Callable[[Any], list[Path]]:
        return lambda wildcards: [self._results.construction(wildcards.benchmark, f"{name}.parquet") for name in names]

    def released(self, wildcards: Any) -> list[Path]:
        """The table whose rows are released: what static questions are dropped from, or what people reviewed."""
        return self.tables("static" if wildcards.benchmark in self._filtered else "reviewed")(wildcards)

    def counted(self, wildcards: Any) -> list[Path]:
        names = ["pool", "texts", "candidates", "written", "samples", "reviewed", "votes"]
        return self.tables(*names, *(["static"] if wildcards.benchmark in self._filtered else []))(wildcards)

    def ratings(self, wildcards: Any) -> list[Path]:
        """What the judge says of the answers from one random frame."""
        benchmark = wildcards.benchmark
        runs = [Run.parse(f"{benchmark}{UNFILTERED}/{name}") for name in self._filtered[benchmark].runs()]
        return [self._results.verdicts(run, self._plan.judge_of(run)) for run in runs]

    def checks_by_hand(self, wildcards: Any) -> list[Path]:
        return self._checks[wildcards.benchmark]

    def drawn(self, wildcards: Any) -> list[Path]:
        others = self._sets.get(wildcards.benchmark)
        folder = self._results.construction(wildcards.benchmark, "sets")
        return [folder / f"{name}.csv" for name in sorted(others.scoring)] if others else []

    def set_file(self, wildcards: Any) -> list[str]:
        return [self._sets[wildcards.benchmark].files()[wildcards.set]]


def lean(step: str, key: StepKey) -> StepKey:
    """A key without what its step does not read, so that a change of the review makes no caption anew."""
    unread: dict[str, Any] = {}
    if isinstance(key.settings, Constructing):  # both are in the writers' keys, as their content
        unread = {"writer": UNREAD, "prompts": UNREAD}
    if isinstance(key.settings, TemporalBenchSettings):
        if step in ("requests", "samples", "statistics"):  # they tell several writers apart
            unread["writer"] = key.settings.writer
        else:
            unread["other_writers"] = []
    if step not in ("review", "static"):
        unread["review"] = type(key.settings.review)(verdicts=UNREAD)
    if isinstance(key.settings, MmbenchVideoSettings):
        unread |= {name: None for name, reader in (("static", "static"), ("other_sets", "release")) if step != reader}
    return key.model_copy(update={"settings": key.settings.model_copy(update=unread)})


def _embedder(plan: Plan, benchmark: str, settings: ConstructionSettings) -> str | None:
    """The digest of the checkpoint that compares captions, where one does."""
    if not isinstance(settings, VinogroundSettings) or not isinstance(settings.encoder, CheckpointEncoder):
        return None
    where = f"{plan.config.file}: benchmarks.{benchmark}.construction.encoder.folder"
    return local_weights(Path(settings.encoder.folder), where, "or write `encoder: {kind: words}`", plan.store)


def _of_round(states: States, job: Job) -> Asking:
    """A round of writing, and why it is made: nothing is said where its replies are there and stay."""
    model = job.scored.run.model
    if not job.responses.is_file():
        return Asking(job, model, (NEW,), is_remade=False)
    why = [words for change in states.changes_since(job.responses) for words in in_words(change)]
    before = {"candidates": job.responses.parents[2] / "texts.parquet", "requests": job.requests}
    remade = [name for name, path in before.items() if states.changes_since(path)]
    if remade:
        why.append(f"made again before it: {', '.join(remade)}")
    return Asking(job, model, tuple(dict.fromkeys(why)), is_remade=bool(remade))

"""Plan of a benchmark's construction for rules.smk, from raw annotations to a release.

The methods of `Package` with the parameter `wildcards` are input functions and params of the rules.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from reprise.benchmarks.annotations import group_by_key
from reprise.benchmarks.prompts import Prompt, load_prompts
from reprise.core.errors import UserError
from reprise.core.files import glob_files
from reprise.core.names import UNFILTERED, any_of_pattern
from reprise.core.paths import ManifestKind, Run, ScoredRun, settings_name
from reprise.core.settings import Settings
from reprise.fetch.keys import ReleaseKey
from reprise.fetch.settings import ReleaseFolder
from reprise.models.keys import ModelRunKey
from reprise.plan.answers import FailedAnswers, ModelJob, find_failed_answers
from reprise.plan.retries import compute_retry_param, find_manifest_retry_reason
from reprise.plan.run_keys import NO_FRAMES, RunKeys, digest_local_weights
from reprise.plan.runs import Plan
from reprise.plan.side_package import SidePackage
from reprise.plan.states import NOT_COMPUTED, PendingJob, RunStates, describe_changes

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
from construction.registry import MEASURED_BENCHMARKS
from construction.settings import (
    BaseConstruction,
    CheckpointEncoder,
    MmbenchVideoSettings,
    TemporalBenchSettings,
    VinogroundSettings,
    WrittenConstruction,
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
"""The version of each stage. Raise it if the results of the stage change on purpose, and note it in CHANGELOG.md."""
WRITER = "writer"
WRITING_PROTOCOL = "construction"  # the protocol name of a writing round


def constructions_of(plan: Plan) -> Mapping[str, ConstructionSettings]:
    """Return the settings of all constructions of the suite, by benchmark."""
    benchmarks = plan.config.suite.benchmarks.items()
    return {name: benchmark.construction for name, benchmark in benchmarks if benchmark.construction is not None}


def written_constructions(plan: Plan) -> Mapping[str, WrittenConstruction]:
    """Return the constructions whose texts a language model writes."""
    return {
        name: construction
        for name, construction in constructions_of(plan).items()
        if isinstance(construction, WrittenConstruction)
    }


def writer_run(benchmark: str, round_number: int | str, writer: str) -> Run:
    """Return the run that stands for a writing round; it has a run's name, but no clips or verdicts."""
    return Run(benchmark, WRITING_PROTOCOL, f"round{round_number}", writer)


def get_selected_writers(plan: Plan, benchmark: str, settings: WrittenConstruction) -> list[str]:
    """Return the writers of a benchmark's texts; raise an error if `run:` does not select all of them."""
    writers = writers_of(settings)
    for writer in writers:
        if writer not in plan.selected_models:
            key = "writer" if writer == settings.writer else "other_writers"
            raise UserError(
                f"{plan.config.suite_file}: benchmarks.{benchmark}.construction.{key}: '{writer}' does "
                "not run here. Add it to `run:`; a model behind an API also needs a budget."
            )
    return writers


def writing_prompts(settings: BaseConstruction) -> dict[str, Prompt]:
    """Return the writer's prompts, or no prompts if the construction has no writer."""
    return load_prompts(Path(settings.prompts)) if isinstance(settings, WrittenConstruction) else {}


def writer_settings(
    run_keys: RunKeys, benchmark: str, settings: WrittenConstruction, writer: str
) -> tuple[str, ModelRunKey]:
    """Return the name and the settings of a model that writes a benchmark's texts."""
    query = {"form": "writer", "request_type": "write", "max_tokens": settings.max_tokens, "sampling": NO_FRAMES}
    texts = {
        f"{name}.{part}": text
        for name, prompt in writing_prompts(settings).items()
        for part, text in (("system", prompt.system), ("user", prompt.user))
    }
    name = settings_name("construction", benchmark, WRITER, writer)
    return name, run_keys.model_key(f"{writer} as writer of {benchmark}", writer, texts, query)


UNUSED = "unused"  # placeholder of the settings that a step does not use


class Package(SidePackage):
    """The side package `construction`, as the plan of a suite uses it."""

    VERSIONS = VERSIONS

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._constructed, self._written = constructions_of(plan), written_constructions(plan)
        benchmarks, constructions = plan.config.suite.benchmarks.items(), self._constructed.items()
        self._subset_searches = {
            name: benchmark.subset_search for name, benchmark in benchmarks if benchmark.subset_search is not None
        }
        self._static_filters = static_filters(plan.config)
        self._manual_check_files = {
            name: glob_files(static_filter.verdicts or "") for name, static_filter in self._static_filters.items()
        }
        self._video_sets = {
            name: construction.other_sets
            for name, construction in constructions
            if isinstance(construction, MmbenchVideoSettings) and construction.other_sets
        }
        # Each of these attributes is a wildcard pattern. The patterns match all constructed benchmarks, those with a
        # static filter, those with measured clips, those with a subset search, and the names of the other video sets.
        self.constructed = any_of_pattern(self._constructed)
        self.with_static_filter = any_of_pattern(self._static_filters)
        self.measured = any_of_pattern(
            name for name, construction in constructions if construction.kind in MEASURED_BENCHMARKS
        )
        self.with_subset_search = any_of_pattern(self._subset_searches)
        self.sets = any_of_pattern({name for video_sets in self._video_sets.values() for name in video_sets.scoring})

    def stage_keys(self, run_keys: RunKeys) -> Iterator[tuple[str, Settings]]:
        for benchmark, construction in self._constructed.items():
            annotations, patterns = construction.annotations, tuple(construction.files)
            file_digests = (
                self._plan.compute_folder_digests(annotations.path, patterns)
                if isinstance(annotations, ReleaseFolder)
                else {}
            )
            source_key = ReleaseKey(benchmark=benchmark, release=annotations, files=patterns, folder_files=file_digests)
            yield (
                settings_name("construction", benchmark, "source"),
                run_keys.add_versions("release", source_key, world=annotations.kind),
            )
            for step, key in self._step_keys(benchmark, construction).items():
                versioned_key = run_keys.add_versions(f"construction_{step}", drop_unused_settings(step, key))
                yield settings_name("construction", benchmark, step), versioned_key
        for benchmark, video_sets in self._video_sets.items():
            digests = self._plan.compute_digests(video_sets.files().values())
            fields = video_sets.model_dump(exclude={"folder"})  # The paths of the digests contain the folder.
            draw = DrawKey(**fields, seed=self._constructed[benchmark].seed, files=digests)
            yield settings_name("construction", benchmark, "draw"), run_keys.add_versions("construction_draw", draw)
        for benchmark, settings in self._written.items():
            for writer in get_selected_writers(self._plan, benchmark, settings):
                yield writer_settings(run_keys, benchmark, settings, writer)
        for benchmark, search in self._subset_searches.items():
            file = settings_name("construction", benchmark, "subset")
            yield file, run_keys.add_versions("construction_subset", SubsetKey(settings=search))

    def _step_keys(self, benchmark: str, construction: ConstructionSettings) -> Mapping[str, StepKey]:
        """Return the settings of a construction's steps."""
        plan, prompts = self._plan, writing_prompts(construction)
        title, notice = plan.config.benchmarks[benchmark].title, plan.config.suite.notice
        steps: dict[str, StepKey] = {
            "candidates": StepKey(settings=construction),
            "samples": SamplesKey(
                settings=construction, prompts=prompts, embedder=_embedder_digest(plan, benchmark, construction)
            ),
            "review": ReviewKey(
                settings=construction, verdicts=plan.compute_digests(glob_files(construction.review.verdicts))
            ),
            "release": StepKey(settings=construction),
            "statistics": ConstructionStatisticsKey(settings=construction, title=title, notice=notice),
        }
        if construction.kind in MEASURED_BENCHMARKS:
            steps["clips"] = StepKey(settings=construction)
        if isinstance(construction, WrittenConstruction):
            steps["requests"] = WritingKey(settings=construction, prompts=prompts)
        if isinstance(construction, MmbenchVideoSettings):
            steps["guidelines"] = StepKey(settings=construction)
        if benchmark in self._static_filters:
            steps["static"] = ReviewKey(
                settings=construction, verdicts=plan.compute_digests(self._manual_check_files[benchmark])
            )
        return steps

    def clip_metadata(self, wildcards: Any) -> list[Path]:
        """Return the metadata of the candidate clips; nothing for benchmarks without measurements."""
        is_needed = self._constructed[wildcards.benchmark].kind in MEASURED_BENCHMARKS
        return [self._results.construction(wildcards.benchmark, "clip_metadata.parquet")] if is_needed else []

    def manifests(self, wildcards: Any) -> list[Path]:
        """Return the manifests of the candidate clips, one per shard."""
        folder = self._results.construction(wildcards.benchmark, "clips")
        return [folder / f"{shard}.parquet" for shard in range(self._plan.config.suite.shards)]

    def retry_sources(self, wildcards: Any) -> str:
        """Return a param that changes if failed downloads of a shard are worth another try."""
        return self._retry("sources", wildcards)

    def retry_clips(self, wildcards: Any) -> str:
        """Return a param that changes if failed clips of a shard are worth another try."""
        return self._retry("clips", wildcards)

    def _retry(self, stage: ManifestKind, wildcards: Any) -> str:
        """Return a param that changes if a shard's manifest lists failures that are worth another try."""
        path = self._results.construction(wildcards.benchmark, stage) / f"{wildcards.shard}.parquet"
        return compute_retry_param(path, find_manifest_retry_reason(self._plan, stage, wildcards.benchmark, path))

    def pages(self) -> list[Path]:
        """Return the page of statistics of each construction, its last output."""
        return [self._results.construction(name, "statistics.md") for name in sorted(self._constructed)]

    def model_jobs(self) -> Iterator[ModelJob]:
        """Yield the rounds in which language models write the texts of benchmarks."""
        run_keys = RunKeys(self._plan)
        for benchmark, settings in self._written.items():
            for writer in writers_of(settings):
                name, key = writer_settings(run_keys, benchmark, settings, writer)
                for number in range(1, settings.rounds + 1):
                    yield ModelJob(
                        ScoredRun(writer_run(benchmark, number, writer)),
                        name,
                        key.key,
                        responses_path=self._round_path("replies", benchmark, writer, number),
                        requests_path=self._round_path("requests", benchmark, writer, number),
                        max_tokens=settings.max_tokens,
                        title=f"round {number} of writing {benchmark} by {writer}",
                    )

    def _round_path(self, folder: str, benchmark: str, writer: str, number: int | str) -> Path:
        """Return the path of a round's table; `folder` is `requests` or `replies`."""
        return self._results.construction(benchmark, folder) / writer / f"{number}.parquet"

    def pending_jobs(self, states: RunStates, benchmarks: Collection[str]) -> Iterator[PendingJob]:
        """Yield the next round of each writer; later requests depend on its replies."""
        selected_jobs = (job for job in self.model_jobs() if job.scored_run.run.benchmark in benchmarks)
        jobs_by_writer = group_by_key(
            selected_jobs, lambda job: (job.scored_run.run.benchmark, job.scored_run.run.model)
        )
        for jobs in jobs_by_writer.values():
            for round_number, job in enumerate(jobs, start=1):
                pending = _round_state(states, job)
                if pending.reasons:
                    *reasons, last = pending.reasons
                    if later_rounds := len(jobs) - round_number:
                        last = f"{last}, and at most {later_rounds} rounds after it"
                    yield pending._replace(reasons=(*reasons, last))
                    break

    def summarize_outcome(self, targets: Sequence[str]) -> Iterator[str]:
        """Yield a line per benchmark that the targets construct: how many rows of its pool are kept."""
        for benchmark in self._constructed:
            pool = self._results.construction(benchmark, "pool.parquet")
            if not pool.is_file() or (
                targets and not any(Path(target).is_relative_to(pool.parent) for target in targets)
            ):
                continue
            filters = pl.read_parquet(pool, columns=["filter"])["filter"]
            drop_counts = Counter(filters)
            kept_count = drop_counts.pop("", 0)  # Kept rows have an empty filter.
            drop_list = ", ".join(f"{count} {name}" for name, count in drop_counts.most_common())
            dropped = f" ({drop_list})" if drop_list else ""
            yield (
                f"Construction of {benchmark}: {kept_count} of {len(filters)} rows kept before texts are "
                f"written{dropped}"
            )

    def retry_replies(self, wildcards: Any) -> str:
        """Return a parameter that changes if failed requests of a round are worth another try."""
        replies = self._round_path("replies", wildcards.benchmark, wildcards.model, wildcards.round)
        failed = self._failed_answers.get(ScoredRun(writer_run(wildcards.benchmark, wildcards.round, wildcards.model)))
        return compute_retry_param(replies, "failed" if failed is not None and failed.retry_count_by_reason else "")

    @cached_property
    def _failed_answers(self) -> dict[ScoredRun, FailedAnswers]:
        """Failed answers by the run or writing round that they belong to."""
        return {answers.job.scored_run: answers for answers in find_failed_answers(self._plan)}

    def earlier_replies(self, wildcards: Any) -> list[Path]:
        """Return the replies of earlier rounds that a writer's requests depend on.

        The main `writer:` depends on the replies of all writers, other writers on their own replies.
        """
        settings = self._written[wildcards.benchmark]
        writers = writers_of(settings) if wildcards.model == settings.writer else [wildcards.model]
        return self._replies(wildcards.benchmark, writers, int(wildcards.round) - 1)

    def all_replies(self, wildcards: Any) -> list[Path]:
        """Return the replies of all rounds; none if no model writes texts."""
        settings = self._written.get(wildcards.benchmark)
        return self._replies(wildcards.benchmark, writers_of(settings), settings.rounds) if settings else []

    def _replies(self, benchmark: str, writers: Sequence[str], rounds: int) -> list[Path]:
        """Return the replies of these writers in the first `rounds` rounds."""
        numbers = range(1, rounds + 1)
        return [self._round_path("replies", benchmark, writer, number) for writer in writers for number in numbers]

    def verdicts(self, wildcards: Any) -> list[Path]:
        """Return the files of annotators' verdicts that `review.verdicts:` names."""
        return glob_files(self._constructed[wildcards.benchmark].review.verdicts)

    def subset_verdicts(self, wildcards: Any) -> list[Path]:
        """Return the verdicts of the run on which the subset search is based; raise an error if it does not exist."""
        search = self._subset_searches[wildcards.benchmark]
        run = Run(wildcards.benchmark, search.protocol, search.sampling, wildcards.model)
        if run not in self._plan.runs():
            raise UserError(
                f"{self._plan.config.suite_file}: benchmarks.{run.benchmark}.subset_search: run "
                f"'{run.name}' does not exist here. Name it in `extra_runs:` and its model in `run:`, or correct "
                "`protocol:` and `sampling:`."
            )
        return [self._results.verdicts(run, "robust")]

    def tables(self, *names: str) -> Callable[[Any], list[Path]]:
        """Return an input function that returns these tables of a construction."""
        return lambda wildcards: [self._results.construction(wildcards.benchmark, f"{name}.parquet") for name in names]

    def release_tables(self, wildcards: Any) -> list[Path]:
        """Return the table to release: `static` with a filter of static questions, else `reviewed`."""
        return self.tables("static" if wildcards.benchmark in self._static_filters else "reviewed")(wildcards)

    def statistics_tables(self, wildcards: Any) -> list[Path]:
        """Return the tables of all steps, whose rows are counted."""
        names = ["pool", "texts", "candidates", "written", "samples", "reviewed", "votes"]
        return self.tables(*names, *(["static"] if wildcards.benchmark in self._static_filters else []))(wildcards)

    def ratings(self, wildcards: Any) -> list[Path]:
        """Return the judge's verdicts on the answers from one random frame."""
        benchmark = wildcards.benchmark
        runs = [Run.parse(f"{benchmark}{UNFILTERED}/{name}") for name in self._static_filters[benchmark].runs()]
        return [self._results.verdicts(run, self._plan.find_judge(run)) for run in runs]

    def manual_check_files(self, wildcards: Any) -> list[Path]:
        """Return the files of annotators' checks of static questions."""
        return self._manual_check_files[wildcards.benchmark]

    def sampled_sets(self, wildcards: Any) -> list[Path]:
        """Return the questions that are sampled from the other sets of videos."""
        video_sets = self._video_sets.get(wildcards.benchmark)
        folder = self._results.construction(wildcards.benchmark, "sets")
        return [folder / f"{name}.csv" for name in sorted(video_sets.scoring)] if video_sets else []

    def video_set_file(self, wildcards: Any) -> list[str]:
        """Return the file with all questions of another video set."""
        return [self._video_sets[wildcards.benchmark].files()[wildcards.set]]


def drop_unused_settings(step: str, key: StepKey) -> StepKey:
    """Replace the settings that a step does not use: a change of them must not rerun the step."""
    placeholders: dict[str, Any] = {}
    if isinstance(key.settings, WrittenConstruction):  # The writers' keys contain the model and the prompts.
        placeholders = {"writer": UNUSED, "prompts": UNUSED}
    if isinstance(key.settings, TemporalBenchSettings):
        if step in ("requests", "samples", "statistics"):  # The results of these steps name the writers.
            placeholders["writer"] = key.settings.writer
        else:
            placeholders["other_writers"] = []
    if step not in ("review", "static"):
        placeholders["review"] = type(key.settings.review)(verdicts=UNUSED)
    if isinstance(key.settings, MmbenchVideoSettings):
        placeholders |= {
            name: None for name, using_step in (("static", "static"), ("other_sets", "release")) if step != using_step
        }
    return key.model_copy(update={"settings": key.settings.model_copy(update=placeholders)})


def _embedder_digest(plan: Plan, benchmark: str, settings: ConstructionSettings) -> str | None:
    """Return the digest of the checkpoint that compares captions, or None if the encoder is no checkpoint."""
    if not isinstance(settings, VinogroundSettings) or not isinstance(settings.encoder, CheckpointEncoder):
        return None
    setting = f"{plan.config.suite_file}: benchmarks.{benchmark}.construction.encoder.folder"
    return digest_local_weights(Path(settings.encoder.folder), setting, "or write `encoder: {kind: words}`", plan.store)


def _round_state(states: RunStates, job: ModelJob) -> PendingJob:
    """Return a writing round with the reasons to run it, which are empty if its replies are up to date."""
    model = job.scored_run.run.model
    if not job.responses_path.is_file():
        return PendingJob(job, model, (NOT_COMPUTED,), has_stale_inputs=False)
    reasons = [reason for change in states.changes_since(job.responses_path) for reason in describe_changes(change)]
    inputs = {"candidates": job.responses_path.parents[2] / "texts.parquet", "requests": job.requests_path}
    changed = [name for name, path in inputs.items() if states.changes_since(path)]
    if changed:
        reasons.append(f"recomputed before this job: {', '.join(changed)}")
    return PendingJob(job, model, tuple(dict.fromkeys(reasons)), has_stale_inputs=bool(changed))

"""Determine whether the results of each run are done, stale, missing or failed, and which jobs are pending."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from reprise.core.errors import UserError
from reprise.core.lineage import Lineages, LineageStep
from reprise.core.log import find_last_error
from reprise.core.paths import READABLE_FORMATS, TABLES, Results, ScoredRun
from reprise.core.plain import truncate
from reprise.core.schemas import REQUESTS, RESPONSES, VERDICTS, read_table
from reprise.core.settings import Settings
from reprise.models.inference.partitions import PARTITION_NAME
from reprise.plan.answers import FailedAnswers, ModelJob, find_failed_answers, make_job
from reprise.plan.changes import CurrentSettings, SettingsChange
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan
from reprise.plan.targets import find_target_runs, list_outputs

MAX_TARGETS = 6


class AnswerCounts(NamedTuple):
    """Counts of a run's answers, as the extractor `robust` or a judge classifies them."""

    total: int = 0
    failed: int = 0
    unparsed: int = 0
    missing: int = 0  # The model is not queried, because the clip is missing.


def summarize_outcome(plan: Plan, targets: Sequence[str]) -> Iterator[str]:
    """Yield summary lines about the answers, the side packages and the files of a finished workflow."""
    completed = [
        scored
        for scored in find_target_runs(plan, targets)
        if plan.results.verdicts(scored.run, scored.judge or "robust").is_file()
    ]
    counts = [AnswerCounts(), *(count_answers(plan.results, scored) for scored in completed)]
    total, failed, unparsed, missing = (sum(column) for column in zip(*counts, strict=True))
    if total or missing:
        advice = " (details: python -m reprise runs)" if failed or missing else ""
        yield f"{total} answers: {failed} failed, {unparsed} unparsed; {missing} requests without a clip{advice}"
    for package in plan.packages.values():
        yield from package.summarize_outcome(targets)
    tables = plan.benchmarks_by_table()
    files = targets or ([] if tables else [target for target in list_outputs(plan) if target.endswith(".md")])
    existing = [file for file in files if Path(file).is_file()]
    if existing:
        suffix = f" and {len(existing) - MAX_TARGETS} more" if len(existing) > MAX_TARGETS else ""
        yield f"Results: {' '.join(existing[:MAX_TARGETS])}{suffix}"
    elif tables and not targets:
        table_numbers = ",".join(name.removeprefix("table") for name in tables)
        pattern = f"{{{table_numbers}}}" if "," in table_numbers else table_numbers
        table_files = f"{TABLES}/table{pattern}.{{{','.join(sorted(READABLE_FORMATS))}}}"
        yield f"Tables: {table_files}; each paper's own in {TABLES}/<benchmark>/"


def count_answers(results: Results, scored_run: ScoredRun) -> AnswerCounts:
    """Count the failed, unparsed and missing answers of one run."""
    flags = ("failed", "unparsed")
    verdicts = read_table(
        results.verdicts(scored_run.run, scored_run.judge or "robust"), VERDICTS, VERDICTS.keys() - set(flags)
    )
    failed, unparsed = (int(verdicts[name].sum()) for name in flags)
    responses_path, requests_path = (
        results.responses(scored_run.run),
        results.requests(scored_run.run.benchmark, scored_run.run.protocol),
    )
    if not (responses_path.is_file() and requests_path.is_file()):  # No job needs these once verdicts exist.
        return AnswerCounts(verdicts.height, failed, unparsed)
    total = read_table(responses_path, RESPONSES, RESPONSES.keys() - {"item_id"}).height
    return AnswerCounts(
        total,
        failed,
        unparsed,
        read_table(requests_path, REQUESTS, REQUESTS.keys() - {"item_id"}).height - total,
    )


StateName = Literal["done", "stale", "missing", "failed"]
ANSWERS, REPLIES = "answers", "replies of the judge"


class RunState(NamedTuple):
    """State of the results of one run, as one extractor or judge scores it."""

    scored_run: ScoredRun
    name: StateName
    counts: AnswerCounts
    missing: tuple[str, ...]  # names of the results that do not exist, in the order of the pipeline
    failures: tuple[tuple[Path, str], ...]  # logs of failed jobs, each with its last message
    changes: tuple[tuple[LineageStep, SettingsChange], ...]  # steps whose settings changed since they ran
    answers: FailedAnswers | None

    @property
    def retry_count(self) -> int:
        """Return the number of failed answers that the next run of the workflow requests again."""
        return self.answers.retry_counts.total() if self.answers else 0


class RunStates:
    """States of a suite's runs. Each file is read once."""

    def __init__(self, plan: Plan, settings: Mapping[str, Settings]) -> None:
        """Collect failed answers and logs; `settings` are the current settings of all jobs."""
        self._plan = plan
        self._current = CurrentSettings(settings)
        self._lineages = Lineages()
        self._failed_answers = {answers.job.scored_run: answers for answers in find_failed_answers(plan)}
        self._logs = {path: message for path in plan.results.logs() if (message := find_last_error(path))}

    def all_states(self) -> list[RunState]:
        """Return the states of all runs of the suite."""
        return [self.state_of(scored) for scored in self._plan.scored_runs()]

    def state_of(self, scored_run: ScoredRun) -> RunState:
        """Return the state of one run."""
        results = main_results(self._plan, scored_run)
        missing = tuple(name for name, path in results.items() if not path.is_file())
        existing = [path for path in results.values() if path.is_file()]
        steps = [step for path in existing[-1:] for step in self._lineages.trace(path)]
        changes = tuple((step, change) for step in steps for change in self._current.changes_since(step.provenance))
        failures = [
            (log, message) for log, message in self._logs.items() if missing and self._is_log_of(log, scored_run)
        ]
        answers = self._failed_answers.get(scored_run) or self._failed_answers.get(ScoredRun(scored_run.run))
        counts = AnswerCounts()
        if METRICS not in missing:
            try:
                counts = count_answers(self._plan.results, scored_run)
            except UserError as error:  # The table is damaged.
                failures.append((results[METRICS], str(error)))
        name: StateName = "stale" if changes or (answers and answers.retry_counts) else "done"
        if failures:
            name = "failed"
        elif METRICS in missing:
            name = "missing"
        return RunState(scored_run, name, counts, missing, tuple(failures), changes, answers)

    def changes_since(self, result: Path) -> list[SettingsChange]:
        """Return the settings that changed since a result was produced."""
        provenance = self._lineages.read_provenance(result)
        return self._current.changes_since(provenance) if provenance else []

    def _is_log_of(self, log: Path, scored: ScoredRun) -> bool:
        """Return whether a log belongs to a job of this run: each part of its name is a part of the run's."""
        run, (_, *parts) = scored.run, log.relative_to(self._plan.results.folder / "logs").with_suffix("").parts
        models = [self._plan.config.models[slug] for slug in (run.model, scored.judge) if slug]
        run_parts = {
            *run.name.split("/"),
            scored.judge,
            *(model.served_by.environment for model in models if model.served_by),
        }
        return bool(parts) and all(
            part in run_parts or part.isdecimal() or PARTITION_NAME.fullmatch(part) for part in parts
        )


METRICS = "metrics"


def main_results(plan: Plan, scored_run: ScoredRun) -> dict[str, Path]:
    """Return the main results of a run by name, in the order of the pipeline."""
    results, run, judge = plan.results, scored_run.run, scored_run.judge
    replies = {REPLIES: results.judge_responses(run, judge)} if judge else {}
    verdicts = {"verdicts": results.verdicts(run, judge or "robust"), METRICS: results.metrics(scored_run)}
    return {ANSWERS: results.responses(run), **replies, **verdicts}


NOT_COMPUTED = "not computed yet"
# Setting of a run -> its category in messages. Other settings have the category "settings".
SETTING_CATEGORIES = {
    "model": "weights", "checkpoint": "weights", "prompt": "prompt", "sampling": "frames", "code_versions": "version",
    "versions": "versions of libraries",
}  # fmt: skip
MAX_CHARS = 160


class PendingJob(NamedTuple):
    """Pending job that queries a model (an inference job), with the reasons why it runs."""

    job: ModelJob
    slug: str
    reasons: tuple[str, ...]
    has_stale_inputs: bool  # whether its inputs are produced again first, so that its requests may change


class PendingJobs(NamedTuple):
    """Pending inference jobs behind a set of results."""

    jobs: list[PendingJob]
    n_done: int
    n_recomputed: int  # results that are recomputed from existing answers


def find_pending_jobs(plan: Plan, states: RunStates, scored_runs: Iterable[ScoredRun]) -> PendingJobs:
    """Return the inference jobs that must run to produce these results."""
    pending: dict[ScoredRun, PendingJob] = {}
    done, recomputed, keys = 0, 0, RunKeys(plan)
    for scored in sorted(scored_runs):
        state = states.state_of(scored)
        is_done = state.name == "done"
        jobs = {} if is_done else {entry.job.scored_run: entry for entry in _pending_jobs(plan, state, keys)}
        pending |= jobs
        done += is_done
        recomputed += not is_done and not jobs
    return PendingJobs(list(pending.values()), done, recomputed)


def _pending_jobs(plan: Plan, state: RunState, keys: RunKeys) -> Iterator[PendingJob]:
    """Yield the pending inference job of a run, and that of its judge."""
    run, judge = state.scored_run.run, state.scored_run.judge
    jobs = [(ScoredRun(run), run.model, ANSWERS), (state.scored_run, judge, REPLIES)]
    for scored, slug, name in jobs if judge else jobs[:1]:
        if slug in plan.imports.models:
            continue
        job = make_job(plan, scored, keys)
        stages = [step.stage for step, _ in state.changes if step.path in _inputs_of(job.responses)]
        stale_stages = list(dict.fromkeys(stages))
        reasons = tuple(dict.fromkeys(_reasons(state, job, name, stale_stages)))
        if reasons:
            yield PendingJob(job, slug, reasons, has_stale_inputs=bool(stale_stages))


def _inputs_of(result: Path) -> set[Path]:
    """Return the files that a result was computed from, without the result itself."""
    return {step.path for step in Lineages().trace(result)} - {result}


def _reasons(state: RunState, job: ModelJob, name: str, stale_stages: Sequence[str]) -> Iterator[str]:
    """Yield the reasons why a job is pending."""
    if name in state.missing:
        errors = [message.splitlines()[0] for _, message in state.failures]
        yield f"its job failed: {truncate(errors[-1], MAX_CHARS)}" if errors else NOT_COMPUTED
    yield from (
        description
        for step, change in state.changes
        if step.path == job.responses
        for description in describe_changes(change)
    )
    if stale_stages:
        yield f"computed again before it: {', '.join(stale_stages)}"
    if state.answers and state.retry_count and state.answers.job.scored_run == job.scored_run:
        yield "failed requests are sent again"


def describe_changes(change: SettingsChange) -> Iterator[str]:
    """Yield one description for each category of settings that changed."""
    first_by_kind = {
        f"{SETTING_CATEGORIES.get(setting.name.partition('.')[0], 'settings')} changed": setting
        for setting in reversed(change.changes)
    }
    yield from (f"{kind} ({truncate(setting.text, MAX_CHARS)})" for kind, setting in first_by_kind.items())

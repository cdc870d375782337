"""Determine the state of each run's results (done, stale, missing or failed), and the pending inference jobs."""

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

MAX_LISTED_FILES = 6  # A summary line lists at most this many results.


class AnswerCounts(NamedTuple):
    """Counts of a run's answers, according to the extractor `robust` or a judge."""

    total: int = 0
    failed: int = 0
    unparsed: int = 0
    missing: int = 0  # requests that are not sent, because their clip is missing


def summarize_outcome(plan: Plan, targets: Sequence[str]) -> Iterator[str]:
    """Yield summary lines about the answers, the side packages and the files of a finished workflow."""
    completed_runs = [
        scored
        for scored in find_target_runs(plan, targets)
        if plan.results.verdicts(scored.run, scored.judge or "robust").is_file()
    ]
    # The empty counts make the sums 0 if no run is completed.
    counts_by_run = [AnswerCounts(), *(count_answers(plan.results, scored) for scored in completed_runs)]
    total, failed, unparsed, missing = map(sum, zip(*counts_by_run, strict=True))
    if total or missing:
        advice = " (details: reprise runs)" if failed or missing else ""
        yield f"{total} answers: {failed} failed, {unparsed} unparsed; {missing} requests without a clip{advice}"
    for package in plan.packages.values():
        yield from package.summarize_outcome(targets)
    table_names = plan.benchmarks_by_table()
    if targets:
        files = [*targets]
    else:  # If the suite has tables, one line about all tables replaces the list of files.
        files = [] if table_names else [file for file in list_outputs(plan) if file.endswith(".md")]
    existing_files = [file for file in files if Path(file).is_file()]
    if existing_files:
        omitted_count = len(existing_files) - MAX_LISTED_FILES
        suffix = f" and {omitted_count} more" if omitted_count > 0 else ""
        yield f"Results: {' '.join(existing_files[:MAX_LISTED_FILES])}{suffix}"
    elif table_names and not targets:
        table_numbers = ",".join(name.removeprefix("table") for name in table_names)
        pattern = f"{{{table_numbers}}}" if "," in table_numbers else table_numbers
        table_files = f"{TABLES}/table{pattern}.{{{','.join(sorted(READABLE_FORMATS))}}}"
        yield f"Tables: {table_files}; the tables of each paper in {TABLES}/<benchmark>/"


def count_answers(results: Results, scored_run: ScoredRun) -> AnswerCounts:
    """Count the failed, unparsed and missing answers of one run."""
    flags = ("failed", "unparsed")
    verdicts = read_table(
        results.verdicts(scored_run.run, scored_run.judge or "robust"), VERDICTS, VERDICTS.keys() - set(flags)
    )
    failed, unparsed = (int(verdicts[name].sum()) for name in flags)
    responses_path = results.responses(scored_run.run)
    requests_path = results.requests(scored_run.run.benchmark, scored_run.run.protocol)
    # The user may have deleted these files, because no job needs them once the verdicts exist.
    if not (responses_path.is_file() and requests_path.is_file()):
        return AnswerCounts(verdicts.height, failed, unparsed)
    total = read_table(responses_path, RESPONSES, RESPONSES.keys() - {"item_id"}).height
    request_count = read_table(requests_path, REQUESTS, REQUESTS.keys() - {"item_id"}).height
    return AnswerCounts(total, failed, unparsed, missing=request_count - total)


StateName = Literal["done", "stale", "missing", "failed"]
ANSWERS, REPLIES, METRICS = "answers", "replies of the judge", "metrics"  # names of main results in messages


class RunState(NamedTuple):
    """State of the results of one scored run."""

    scored_run: ScoredRun
    name: StateName
    """`stale` results exist, but settings changed or failed answers will be requested again"""
    counts: AnswerCounts
    missing_results: tuple[str, ...]  # names of missing results, in the order of the pipeline
    job_failures: tuple[tuple[Path, str], ...]  # log of each failed job, with its last message
    settings_changes: tuple[tuple[LineageStep, SettingsChange], ...]
    """steps whose settings changed since they ran, with the changes"""
    failed_answers: FailedAnswers | None  # of the judge, or else of the model; None if there are none

    @property
    def retry_count(self) -> int:
        """Return the number of failed answers that the next run of the workflow requests again."""
        return self.failed_answers.retry_count_by_reason.total() if self.failed_answers else 0


class RunStates:
    """Compute the states of a suite's runs. Each file is read once."""

    def __init__(self, plan: Plan, settings: Mapping[str, Settings]) -> None:
        """Collect failed answers and logs; `settings` are the current settings of all jobs."""
        self._plan = plan
        self._current_settings = CurrentSettings(settings)
        self._lineages = Lineages()
        self._failed_answers = {answers.job.scored_run: answers for answers in find_failed_answers(plan)}
        self._error_by_log = {path: message for path in plan.results.logs() if (message := find_last_error(path))}

    def list_states(self) -> list[RunState]:
        """Return the states of all runs of the suite."""
        return [self.compute_state(scored) for scored in self._plan.scored_runs()]

    def compute_state(self, scored_run: ScoredRun) -> RunState:
        """Return the state of one run."""
        path_by_name = list_main_results(self._plan, scored_run)
        missing_names = tuple(name for name, path in path_by_name.items() if not path.is_file())
        existing_paths = [path for path in path_by_name.values() if path.is_file()]
        steps = self._lineages.trace(existing_paths[-1]) if existing_paths else []
        changes = tuple(
            (step, change) for step in steps for change in self._current_settings.changes_since(step.provenance)
        )
        failures = [
            (log, message)
            for log, message in self._error_by_log.items()
            if missing_names and self._is_log_of(log, scored_run)
        ]
        answers = self._failed_answers.get(scored_run) or self._failed_answers.get(ScoredRun(scored_run.run))
        counts = AnswerCounts()
        if METRICS not in missing_names:
            try:
                counts = count_answers(self._plan.results, scored_run)
            except UserError as error:  # A table of the run is damaged.
                failures.append((path_by_name[METRICS], str(error)))
        name: StateName = "stale" if changes or (answers and answers.retry_count_by_reason) else "done"
        if failures:
            name = "failed"
        elif METRICS in missing_names:
            name = "missing"
        return RunState(scored_run, name, counts, missing_names, tuple(failures), changes, answers)

    def changes_since(self, result: Path) -> list[SettingsChange]:
        """Return the settings that changed since a result was produced."""
        provenance = self._lineages.read_provenance(result)
        return self._current_settings.changes_since(provenance) if provenance else []

    def _is_log_of(self, log: Path, scored: ScoredRun) -> bool:
        """Return whether a log belongs to a job of this run, because each part of its path names a part of the run."""
        run = scored.run
        _stage, *parts = log.relative_to(self._plan.results.folder / "logs").with_suffix("").parts
        models = [self._plan.config.models[slug] for slug in (run.model, scored.judge) if slug]
        run_parts = {
            *run.name.split("/"),
            scored.judge,
            *(model.served_by.environment for model in models if model.served_by),
        }
        return bool(parts) and all(
            part in run_parts or part.isdecimal() or PARTITION_NAME.fullmatch(part) for part in parts
        )


def list_main_results(plan: Plan, scored_run: ScoredRun) -> dict[str, Path]:
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
MAX_MESSAGE_CHARS = 160  # An error or a changed setting is cut to this length in a reason.


class PendingJob(NamedTuple):
    """Pending inference job, with the reasons why it must run."""

    job: ModelJob
    slug: str  # model or judge that the job queries
    reasons: tuple[str, ...]
    has_stale_inputs: bool  # whether its inputs are recomputed first, which may change its requests


class PendingJobs(NamedTuple):
    """Pending inference jobs of some scored runs, and the number of runs that need no inference."""

    jobs: list[PendingJob]
    done_count: int  # scored runs whose results are up to date
    recomputed_count: int  # scored runs whose results are recomputed from existing answers


def find_pending_jobs(plan: Plan, states: RunStates, scored_runs: Iterable[ScoredRun]) -> PendingJobs:
    """Return the inference jobs that must run to produce the results of these scored runs."""
    pending: dict[ScoredRun, PendingJob] = {}
    done_count, recomputed_count, run_keys = 0, 0, RunKeys(plan)
    for scored in sorted(scored_runs):
        state = states.compute_state(scored)
        is_done = state.name == "done"
        # Several scored runs may need the same job, so jobs are collected by the scored run that they answer.
        jobs_of_run = [] if is_done else list(_find_jobs_of_run(plan, state, run_keys))
        pending |= {pending_job.job.scored_run: pending_job for pending_job in jobs_of_run}
        done_count += is_done
        recomputed_count += not is_done and not jobs_of_run
    return PendingJobs(list(pending.values()), done_count, recomputed_count)


def _find_jobs_of_run(plan: Plan, state: RunState, run_keys: RunKeys) -> Iterator[PendingJob]:
    """Yield the pending inference job of a run, and that of its judge."""
    run, judge = state.scored_run.run, state.scored_run.judge
    # For each job: its run, the model that it queries, and the name of its result.
    queries = [(ScoredRun(run), run.model, ANSWERS)]
    if judge:
        queries.append((state.scored_run, judge, REPLIES))
    for scored, slug, result_name in queries:
        if slug in plan.imports.models:
            continue
        job = make_job(plan, scored, run_keys)
        stages = [
            step.stage for step, _ in state.settings_changes if step.path in _list_input_files(job.responses_path)
        ]
        stale_stages = list(dict.fromkeys(stages))
        reasons = tuple(dict.fromkeys(_find_reasons(state, job, result_name, stale_stages)))
        if reasons:
            yield PendingJob(job, slug, reasons, has_stale_inputs=bool(stale_stages))


def _list_input_files(result: Path) -> set[Path]:
    """Return all files that a result was computed from, without the result itself."""
    return {step.path for step in Lineages().trace(result)} - {result}


def _find_reasons(state: RunState, job: ModelJob, result_name: str, stale_stages: Sequence[str]) -> Iterator[str]:
    """Yield the reasons why a job is pending."""
    if result_name in state.missing_results:
        errors = [message.splitlines()[0] for _, message in state.job_failures]
        yield f"its job failed: {truncate(errors[-1], MAX_MESSAGE_CHARS)}" if errors else NOT_COMPUTED
    yield from (
        description
        for step, change in state.settings_changes
        if step.path == job.responses_path
        for description in describe_changes(change)
    )
    if stale_stages:
        yield f"recomputed before this job: {', '.join(stale_stages)}"
    if state.failed_answers and state.retry_count and state.failed_answers.job.scored_run == job.scored_run:
        yield "failed requests are sent again"


def describe_changes(change: SettingsChange) -> Iterator[str]:
    """Yield the first change of each category of settings."""
    # The changes are reversed, because a later entry of a dict replaces an earlier one.
    first_change_by_category = {
        f"{SETTING_CATEGORIES.get(setting.name.partition('.')[0], 'settings')} changed": setting
        for setting in reversed(change.changes)
    }
    for category, setting in first_change_by_category.items():
        yield f"{category} ({truncate(setting.text, MAX_MESSAGE_CHARS)})"

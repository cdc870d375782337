"""Find failed answers: their runs, their reasons, and which of them the next run requests again."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from reprise.core.paths import ScoredRun, judge_settings_name
from reprise.core.schemas import RESPONSES, read_table
from reprise.models.inference.reasons import FAILURE_REASONS
from reprise.models.inference.response_cache import Failures
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan


class ModelJob(NamedTuple):
    """Job that queries a model: for the answers of a run, or for a judge's ratings of them."""

    scored_run: ScoredRun
    settings_name: str
    """name of the job's settings"""
    cache_key: str
    """key of the answers in the response cache"""
    responses_path: Path
    requests_path: Path
    max_tokens: int
    """token limit of an answer"""
    title: str = ""
    """title of a side package's job; empty for the jobs of the suite's runs. A job with a title receives no clip."""

    @property
    def is_text_only(self) -> bool:
        """Return whether the requests contain text but no clip."""
        return bool(self.scored_run.judge or self.title)


class FailedAnswers(NamedTuple):
    """Failed answers of one job."""

    job: ModelJob
    answer_count: int
    """number of all answers of the job, failed or not"""
    failed_rows: pl.DataFrame
    """`request_id`, `error` and `message` of each failed answer"""
    failure_log: Failures
    """failures of the job's cache key, with their numbers of attempts"""

    @property
    def count_by_reason(self) -> Counter[str]:
        """Return the number of failed answers by reason."""
        return Counter(self.failed_rows["error"])

    @property
    def retry_count_by_reason(self) -> Counter[str]:
        """Return the number of answers, by reason, that a run of the workflow requests again.

        For a judge, this is an upper bound, because all runs that it rates share one cache key.
        """
        # For each reason, the smaller of the two counts.
        return self.count_by_reason & self.failure_log.count_retryable()


def find_failed_answers(plan: Plan) -> list[FailedAnswers]:
    """Return the failed answers of each job that has any.

    The check is fast if nothing failed, because a failure log exists only for cache keys with failures.
    """
    log_path_by_key = {path.stem: path for path in (plan.store.root / "failures").glob("*/*.jsonl")}
    if not log_path_by_key:
        return []
    failure_log_by_key: dict[str, Failures] = {}
    failed_answers = []
    for job in iter_jobs(plan):
        key = job.cache_key
        if not job.responses_path.is_file() or key not in log_path_by_key:
            continue
        if key not in failure_log_by_key:
            failure_log_by_key[key] = Failures(log_path_by_key[key], plan.config.suite.answer_attempts)
        responses = read_table(
            job.responses_path, RESPONSES, skipped_columns=RESPONSES.keys() - {"request_id", "error", "message"}
        )
        failed_rows = responses.filter(pl.col("error").is_in(list(FAILURE_REASONS)))
        if failed_rows.height:
            failed_answers.append(FailedAnswers(job, responses.height, failed_rows, failure_log_by_key[key]))
    return failed_answers


def iter_suite_jobs(plan: Plan) -> Iterator[ModelJob]:
    """Yield the jobs that query the models and the judges of the suite's runs, except imported ones."""
    imported_models, run_keys = plan.imports.models, RunKeys(plan)
    for run in plan.runs():
        if run.model not in imported_models:
            yield make_job(plan, ScoredRun(run), run_keys)
        judges = plan.benchmark_judges(run.benchmark) if plan.is_judged(run.benchmark, run.protocol) else []
        for judge in judges:
            if judge not in imported_models:
                yield make_job(plan, ScoredRun(run, judge), run_keys)


def iter_jobs(plan: Plan) -> Iterator[ModelJob]:
    """Yield all jobs that query a model, including those of side packages."""
    yield from iter_suite_jobs(plan)
    for package in plan.packages.values():
        yield from package.model_jobs()


def get_responses_path(plan: Plan, scored_run: ScoredRun) -> Path:
    """Return the path of a run's responses, or of its judge's responses if the run has a judge."""
    if scored_run.judge:
        return plan.results.judge_responses(scored_run.run, scored_run.judge)
    return plan.results.responses(scored_run.run)


def make_job(plan: Plan, scored_run: ScoredRun, run_keys: RunKeys) -> ModelJob:
    """Return the job that queries the model of a run, or its judge if the run has one."""
    results, (run, judge) = plan.results, (scored_run.run, scored_run.judge)
    protocol = plan.config.benchmarks[run.benchmark].protocols[run.protocol]
    if judge:
        settings_name = judge_settings_name(run.benchmark, run.protocol, judge)
        cache_key = run_keys.judge_key(run.benchmark, run.protocol, judge).key
        requests_path, max_tokens = results.judge_requests(run), protocol.judge_tokens
    else:
        settings_name, cache_key = run.name, run_keys.run_key(run).key
        requests_path, max_tokens = results.requests(run.benchmark, run.protocol), protocol.max_tokens
    responses_path = get_responses_path(plan, scored_run)
    return ModelJob(scored_run, settings_name, cache_key, responses_path, requests_path, max_tokens)


def summarize_failures(failed_answers: list[FailedAnswers]) -> str:
    """Return one line with the number of failed answers by reason, and how many the next run requests again."""
    count_by_reason = sum((answers.count_by_reason for answers in failed_answers), Counter[str]())
    count_texts = ", ".join(f"{count} {reason}" for reason, count in count_by_reason.most_common())
    retry_count = sum(answers.retry_count_by_reason.total() for answers in failed_answers)
    return (
        f"Failed answers: {count_by_reason.total()} ({count_texts}), in {len(failed_answers)} of the runs. "
        f"The next run of snakemake that needs them requests {retry_count} of them again. "
        "`reprise runs` lists the runs, `reprise why <run>` the reasons."
    )

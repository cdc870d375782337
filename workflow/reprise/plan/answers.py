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
    """Job that queries a model, for a run's answers or as a judge of them."""

    scored_run: ScoredRun
    name: str
    """name of its settings"""
    key: str
    """key of its answers in the response cache"""
    responses: Path
    requests: Path
    max_tokens: int
    """token limit of an answer"""
    title: str = ""
    """title of a side package's job, which belongs to no run of the suite and receives no clip"""

    @property
    def is_text_only(self) -> bool:
        """Return whether the requests have text alone."""
        return bool(self.scored_run.judge or self.title)


class FailedAnswers(NamedTuple):
    """Failed answers of one job."""

    job: ModelJob
    total: int
    rows: pl.DataFrame
    failures: Failures

    @property
    def reasons(self) -> Counter[str]:
        """Return the number of failed answers by reason."""
        return Counter(self.rows["error"])

    @property
    def retry_counts(self) -> Counter[str]:
        """Return the number of answers, by reason, that a run of the workflow requests again.

        For a judge, which shares a cache key among its runs, this is an upper bound.
        """
        return self.reasons & self.failures.count_retryable()


def find_failed_answers(plan: Plan) -> list[FailedAnswers]:
    """Return every job whose responses contain failures.

    The check is cheap without failures, because only cache keys with failures have a log of them.
    """
    logs = {path.stem: path for path in (plan.store.root / "failures").glob("*/*.jsonl")}
    failures_by_key: dict[str, Failures] = {}
    results = []
    for job in all_jobs(plan) if logs else ():
        key = job.key
        if not job.responses.is_file() or key not in logs:
            continue
        if key not in failures_by_key:
            failures_by_key[key] = Failures(logs[key], plan.config.suite.answer_attempts)
        responses = read_table(job.responses, RESPONSES, without=RESPONSES.keys() - {"request_id", "error", "message"})
        failed = responses.filter(pl.col("error").is_in(list(FAILURE_REASONS)))
        if failed.height:
            results.append(FailedAnswers(job, responses.height, failed, failures_by_key[key]))
    return results


def suite_jobs(plan: Plan) -> Iterator[ModelJob]:
    """Yield the jobs of the suite's runs and of their judges that query a model here."""
    imported, keys = plan.imports.models, RunKeys(plan)
    for run in plan.runs():
        if run.model not in imported:
            yield make_job(plan, ScoredRun(run), keys)
        judges = plan.benchmark_judges(run.benchmark) if plan.is_judged(run.benchmark, run.protocol) else []
        yield from (make_job(plan, ScoredRun(run, judge), keys) for judge in judges if judge not in imported)


def all_jobs(plan: Plan) -> Iterator[ModelJob]:
    """Yield all jobs that query a model, including those of side packages."""
    yield from suite_jobs(plan)
    for package in plan.packages.values():
        yield from package.jobs()


def responses_path(plan: Plan, scored_run: ScoredRun) -> Path:
    """Return the file with the answers of a run, or with a judge's replies about them."""
    return (
        plan.results.judge_responses(scored_run.run, scored_run.judge)
        if scored_run.judge
        else plan.results.responses(scored_run.run)
    )


def make_job(plan: Plan, scored_run: ScoredRun, keys: RunKeys) -> ModelJob:
    """Return the job that queries a model for a run, or a judge about it."""
    results, (run, judge) = plan.results, (scored_run.run, scored_run.judge)
    protocol = plan.config.benchmarks[run.benchmark].protocols[run.protocol]
    if judge:
        name = judge_settings_name(run.benchmark, run.protocol, judge)
        key = keys.judge_key(run.benchmark, run.protocol, judge)
        paths = responses_path(plan, scored_run), results.judge_requests(run)
        return ModelJob(scored_run, name, key.key, *paths, protocol.judge_tokens)
    paths = responses_path(plan, scored_run), results.requests(run.benchmark, run.protocol)
    return ModelJob(scored_run, run.name, keys.run_key(run).key, *paths, protocol.max_tokens)


def summarize_failures(jobs: list[FailedAnswers]) -> str:
    """Return one line about the number of failed answers, their reasons and what happens to them."""
    reasons = sum((job.reasons for job in jobs), Counter[str]())
    counts = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    n_retried = sum(job.retry_counts.total() for job in jobs)
    return (
        f"Failed answers: {reasons.total()} ({counts}), in {len(jobs)} of the runs. The next run of snakemake that "
        f"needs them requests {n_retried} of them again. `python -m reprise runs` lists the runs, `python -m reprise "
        "why <run>` the reasons."
    )

"""Find failed answers: their runs, their reasons, and which of them the next run requests again."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from reprise.core.paths import Scored, judge_settings_name
from reprise.core.schemas import RESPONSES, read_table
from reprise.models.asking.journal import Failures
from reprise.models.asking.reasons import REASONS
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan


class Job(NamedTuple):
    """Job that queries a model, for a run's answers or as a judge of them."""

    scored: Scored
    name: str
    """of its settings"""
    key: str
    """of its answers in the response cache"""
    responses: Path
    requests: Path
    max_tokens: int
    """of an answer"""
    title: str = ""
    """of a job of a side package, which answers no run of the suite and sees no clip"""

    @property
    def is_of_text(self) -> bool:
        """Return whether the requests have text alone."""
        return bool(self.scored.judge or self.title)


class FailedAnswers(NamedTuple):
    """Failed answers of one job."""

    job: Job
    asked: int
    failed: pl.DataFrame
    failures: Failures

    @property
    def reasons(self) -> Counter[str]:
        """Return the number of failed answers by reason."""
        return Counter(self.failed["error"])

    @property
    def due(self) -> Counter[str]:
        """Return the number of answers, by reason, that a run of the workflow requests again.

        For a judge, which shares a cache key among its runs, this is an upper bound.
        """
        return self.reasons & self.failures.due()


def failed_answers(plan: Plan) -> list[FailedAnswers]:
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
        failed = responses.filter(pl.col("error").is_in(list(REASONS)))
        if failed.height:
            results.append(FailedAnswers(job, responses.height, failed, failures_by_key[key]))
    return results


def asked_jobs(plan: Plan) -> Iterator[Job]:
    """Yield the jobs of the suite's runs and of their judges that query a model here."""
    imported, keys = plan.imports.models, RunKeys(plan)
    for run in plan.runs():
        if run.model not in imported:
            yield job_of(plan, Scored(run), keys)
        judges = plan.judges_of(run.benchmark) if plan.is_judged(run.benchmark, run.protocol) else []
        yield from (job_of(plan, Scored(run, judge), keys) for judge in judges if judge not in imported)


def all_jobs(plan: Plan) -> Iterator[Job]:
    """Yield all jobs that query a model, including those of side packages."""
    yield from asked_jobs(plan)
    for package in plan.packages.values():
        yield from package.jobs()


def responses_of(plan: Plan, scored: Scored) -> Path:
    """Return the file with the answers of a run, or with a judge's replies about them."""
    return (
        plan.results.judge_responses(scored.run, scored.judge) if scored.judge else plan.results.responses(scored.run)
    )


def job_of(plan: Plan, scored: Scored, keys: RunKeys) -> Job:
    """Return the job that queries a model for a run, or a judge about it."""
    results, (run, judge) = plan.results, (scored.run, scored.judge)
    protocol = plan.config.benchmarks[run.benchmark].protocols[run.protocol]
    if judge:
        name = judge_settings_name(run.benchmark, run.protocol, judge)
        key = keys.of_judge(run.benchmark, run.protocol, judge)
        paths = responses_of(plan, scored), results.judge_requests(run)
        return Job(scored, name, key.key, *paths, protocol.judge_tokens)
    paths = responses_of(plan, scored), results.requests(run.benchmark, run.protocol)
    return Job(scored, run.name, keys.of(run).key, *paths, protocol.max_tokens)


def summary(jobs: list[FailedAnswers]) -> str:
    """Return one line about the number of failed answers, their reasons and what happens to them."""
    reasons = sum((job.reasons for job in jobs), Counter[str]())
    counts = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    return (
        f"Failed answers: {reasons.total()} ({counts}), in {len(jobs)} of the runs. A run of snakemake that needs "
        f"them asks {sum(job.due.total() for job in jobs)} of them again; `python -m reprise runs` says which runs "
        "they are of, `python -m reprise why <run>` why they failed."
    )

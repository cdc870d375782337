"""Answers that failed: of which runs, why, and which of them the next run asks again."""

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
    """A job that asks a model: for a run's answers, or as a judge for replies to them."""

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
        return bool(self.scored.judge or self.title)


class FailedAnswers(NamedTuple):
    job: Job
    asked: int
    failed: pl.DataFrame
    failures: Failures

    @property
    def reasons(self) -> Counter[str]:
        return Counter(self.failed["error"])

    @property
    def due(self) -> Counter[str]:
        """How many by reason a run of the workflow asks again; of a judge's, at most those of all of its runs."""
        return self.reasons & self.failures.due()


def failed_answers(plan: Plan) -> list[FailedAnswers]:
    """Every job whose answers hold failures. Cheap where there are none: only keys with failures have a log of them."""
    logs = {path.stem: path for path in (plan.store.root / "failures").glob("*/*.jsonl")}
    known: dict[str, Failures] = {}
    found = []
    for job in all_jobs(plan) if logs else ():
        key = job.key
        if not job.responses.is_file() or key not in logs:
            continue
        if key not in known:
            known[key] = Failures(logs[key], plan.config.suite.answer_attempts)
        responses = read_table(job.responses, RESPONSES, without=RESPONSES.keys() - {"request_id", "error", "message"})
        failed = responses.filter(pl.col("error").is_in(list(REASONS)))
        if failed.height:
            found.append(FailedAnswers(job, responses.height, failed, known[key]))
    return found


def asked_jobs(plan: Plan) -> Iterator[Job]:
    """The jobs of the suite's runs and of their judges that ask a model here."""
    imported, keys = plan.imports.models, RunKeys(plan)
    for run in plan.runs():
        if run.model not in imported:
            yield job_of(plan, Scored(run), keys)
        judges = plan.judges_of(run.benchmark) if plan.is_judged(run.benchmark, run.protocol) else []
        yield from (job_of(plan, Scored(run, judge), keys) for judge in judges if judge not in imported)


def all_jobs(plan: Plan) -> Iterator[Job]:
    """Those, and the jobs of side packages that ask a model."""
    yield from asked_jobs(plan)
    for package in plan.packages.values():
        yield from package.jobs()


def responses_of(plan: Plan, scored: Scored) -> Path:
    """Return the file with the answers of a run, or with a judge's replies about them."""
    return (
        plan.results.judge_responses(scored.run, scored.judge) if scored.judge else plan.results.responses(scored.run)
    )


def job_of(plan: Plan, scored: Scored, keys: RunKeys) -> Job:
    results, (run, judge) = plan.results, (scored.run, scored.judge)
    protocol = plan.config.benchmarks[run.benchmark].protocols[run.protocol]
    if judge:
        name = judge_settings_name(run.benchmark, run.protocol, judge)
        key = keys.of_judge(run.benchmark, run.protocol, judge)
        paths = responses_of(plan, scored), results.judge_requests(run)
        return Job(scored, name, key.key, *paths, protocol.judge_tokens)
    paths = responses_of(plan, scored), results.requests(run.benchmark, run.protocol)
    return Job(scored, run.name, keys.of(run).key, *paths, protocol.max_tokens)


def summary(found: list[FailedAnswers]) -> str:
    """How many answers failed and what becomes of them, in one line."""
    reasons = sum((one.reasons for one in found), Counter[str]())
    listed = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    return (
        f"Failed answers: {reasons.total()} ({listed}), in {len(found)} of the runs. A run of snakemake that needs "
        f"them asks {sum(one.due.total() for one in found)} of them again; `python -m reprise runs` says which runs "
        "they are of, `python -m reprise why <run>` why they failed."
    )

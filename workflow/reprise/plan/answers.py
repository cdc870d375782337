"""Answers that failed: of which runs, why, and which of them the next run asks again."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl

from reprise.construction.settings import writers_of
from reprise.core.files import canonical_json, file_digest, read_json, write_if_changed, write_text
from reprise.core.paths import Scored
from reprise.core.schemas import RESPONSES, read_table
from reprise.fetch.records import wants_another_try
from reprise.models.asking.journal import Failures
from reprise.models.asking.reasons import REASONS
from reprise.plan.rules.construction import WRITER, writer_run, written
from reprise.plan.runs import Plan


class Job(NamedTuple):
    """A job that asks a model: for a run's answers, or as a judge for replies to them."""

    scored: Scored
    key: Path
    responses: Path


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
    for job in (*asked_jobs(plan), *writer_jobs(plan)) if logs else ():
        if not job.responses.is_file() or (key := read_json(job.key)["key"]) not in logs:
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
    imported = plan.imports.models
    for run in plan.runs():
        if run.model not in imported:
            yield job_of(plan, Scored(run))
        judges = plan.judges_of(run.benchmark) if plan.is_judged(run.benchmark, run.protocol) else []
        yield from (job_of(plan, Scored(run, judge)) for judge in judges if judge not in imported)


def writer_jobs(plan: Plan) -> Iterator[Job]:
    """The rounds in which a language model writes what benchmarks are made of."""
    for benchmark, settings in written(plan).items():
        for writer in writers_of(settings):
            key = plan.results.key("construction", benchmark, WRITER, writer)
            folder = plan.results.construction(benchmark, "replies") / writer
            for number in range(1, settings.rounds + 1):
                yield Job(Scored(writer_run(benchmark, number, writer)), key, folder / f"{number}.parquet")


def job_of(plan: Plan, scored: Scored) -> Job:
    results, (run, judge) = plan.results, (scored.run, scored.judge)
    if judge:
        return Job(scored, results.judge_key(run.benchmark, run.protocol, judge), results.judge_responses(run, judge))
    return Job(scored, results.run_key(run), results.responses(run))


def summary(found: list[FailedAnswers]) -> str:
    """How many answers failed and what becomes of them, in one line."""
    reasons = sum((one.reasons for one in found), Counter[str]())
    listed = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    return (
        f"Failed answers: {reasons.total()} ({listed}), in {len(found)} of the runs. A run of snakemake that needs "
        f"them asks {sum(one.due.total() for one in found)} of them again; `python -m reprise runs` says which runs "
        "they are of, `python -m reprise why <run>` why they failed."
    )


def write_retries(plan: Plan) -> None:
    """Trigger another try of the shards whose ledger holds transient failures: their retry file changes.

    It is an input of the shard, and says after which ledger it is tried; when the tries are used up it stays as it is.
    """
    for benchmark, entry in plan.config.suite.benchmarks.items():
        attempts = getattr(entry.route, "attempts", 1)
        for shard in range(plan.config.suite.shards):
            ledger, path = plan.results.ledger("sources", benchmark, shard), plan.results.retry_key(benchmark, shard)
            if not path.is_file():
                write_text(path, "{}\n")
            if attempts > 1 and wants_another_try([ledger], attempts):
                write_if_changed(path, canonical_json({"after": plan.store.digest(ledger)}) + "\n")


def write_answer_retries(plan: Plan, found: Iterable[FailedAnswers]) -> None:
    """Trigger another try of the questions that are worth it: an input of their job changes with every attempt."""
    for one in found:
        if one.due:
            again = canonical_json({"after": file_digest(one.failures.path)}) + "\n"
            write_if_changed(plan.results.answer_retry_key(one.job.scored), again)

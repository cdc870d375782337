"""Another try of sources and of questions that failed for a reason that may pass."""

from collections.abc import Iterable

from reprise.core.files import canonical_json, file_digest, write_if_changed, write_text
from reprise.fetch.records import wants_another_try
from reprise.plan.answers import FailedAnswers
from reprise.plan.runs import Plan


def write_retries(plan: Plan) -> None:
    """Trigger another try of the shards whose ledger holds transient failures: their retry file changes.

    It is an input of the shard, and says after which ledger it is tried; when the tries are used up it stays as it is.
    """
    for benchmark, entry in plan.config.suite.benchmarks.items():
        attempts = getattr(entry.route, "attempts", 1)
        for shard in range(plan.config.suite.shards):
            ledger = plan.results.ledger("sources", benchmark, shard)
            path = plan.results.retry_key(benchmark, shard)
            if not path.is_file():
                write_text(path, "{}\n")
            if attempts > 1 and wants_another_try([ledger], attempts):
                write_if_changed(path, canonical_json({"after": plan.store.digest(ledger)}) + "\n")


def write_answer_retries(plan: Plan, found: Iterable[FailedAnswers]) -> None:
    """Trigger another try of the questions that are worth it: an input of their job changes with every attempt."""
    for one in found:
        if one.due:
            path = plan.results.answer_retry_key(one.job.scored)
            write_if_changed(path, canonical_json({"after": file_digest(one.failures.path)}) + "\n")

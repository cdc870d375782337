"""What a dry run says: how many jobs of which kind would run, about what, and why, in a screenful."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from reprise.core.paths import RESULTS, Results

from snakemake_logger_plugin_reprise.jobs import NOT_WORK, subject_of

MOST_NAMES, MOST_MODELS, MOST_CAUSES, MOST_SUBJECTS = 4, 8, 5, 1
FULL = "--logger-reprise-full"
NEW, FOLLOWS, KEY = "not made yet", "follows", "changed settings or code"
REASONS = {  # as Snakemake begins them, the strongest first
    "Forced execution": "asked for by --force, --forcerun or --forceall",
    "Incomplete output files": "cut short by a kill",
    "Missing output files": NEW,
    "Updated input files": "changed input",
    "Params have changed": "changed parameters",
    "Set of input files has changed": "other input files than the last time",
    "Code has changed": "changed rule",
    "Software environment": "changed software environment",
    "Input files updated by another job": FOLLOWS,
}
UPDATED = re.compile(r"Updated input files: ([^;]+)")
ADDRESS = re.compile(r"[^\w.\-/]+")


class PlannedJob(NamedTuple):
    """A job that would run."""

    rule: str
    wildcards: Mapping[str, str]
    why: str
    changed: tuple[str, ...]
    outputs: tuple[str, ...]


class Planned:
    """The jobs of a dry run."""

    def __init__(self) -> None:
        self._counts: Mapping[str, int] = {}
        self._jobs: list[PlannedJob] = []

    def count(self, stats: Mapping[str, int]) -> None:
        self._counts = {rule: count for rule, count in stats.items() if rule not in NOT_WORK}

    def add(self, rule: str, wildcards: Mapping[str, str], reason: str, outputs: Sequence[str]) -> None:
        if rule not in NOT_WORK:
            updated = UPDATED.search(reason)
            files = tuple(name.strip() for name in updated[1].split(",")) if updated else ()
            self._jobs.append(PlannedJob(rule, dict(wildcards), _why(reason, files), files, tuple(outputs)))

    def text(self, width: int) -> str:
        """All of it; empty where nothing would run."""
        total = sum(self._counts.values())
        if not total:
            return ""
        reasons = {job.why for job in self._jobs}
        why = f" ({reasons.pop()})" if len(reasons) == 1 else ""
        lines = [
            f"{total} jobs would run{why}:",
            *self._table(is_explained=bool(why)),
            *self._models(),
            *self._causes(),
        ]
        cut = [line if len(line) <= width else f"{line[: width - 3]}..." for line in lines]
        return "\n".join([*cut, f"Nothing was run (--dry-run). Every job with its files and reason: add {FULL}."])

    def _table(self, *, is_explained: bool) -> Iterator[str]:
        """A line a rule, in the order in which the last jobs of the rules would run."""
        by_rule: dict[str, list[PlannedJob]] = defaultdict(list)
        for job in self._jobs:
            by_rule[job.rule].append(job)
        last = {job.rule: place for place, job in enumerate(self._jobs)}
        longest = max(map(len, self._counts))
        for rule in sorted(self._counts, key=lambda rule: last.get(rule, len(self._jobs))):
            count, jobs = self._counts[rule], by_rule[rule]
            why = ", ".join(f"{words} {n}" if n < count else words for words, n in Counter(j.why for j in jobs).items())
            parts = ["" if is_explained else why, _subjects(jobs)]
            yield f"{count:>6}  {rule:<{longest}}  {'; '.join(filter(None, parts))}".rstrip()

    def _models(self) -> Iterator[str]:
        """Who would be asked, and about what."""
        asked: dict[str, Counter[str]] = defaultdict(Counter)
        for job in self._jobs:
            if job.rule in ("infer", "infer_piece", "judge"):
                asked[job.wildcards.get("judge", job.wildcards["model"])][job.wildcards["benchmark"]] += 1
        if asked:
            yield "Models that would be asked (jobs):"
        ranked = sorted(asked.items(), key=lambda entry: -entry[1].total())
        for model, counts in ranked[:MOST_MODELS]:
            yield f"{counts.total():>6}  {model}: {', '.join(f'{name} {n}' for name, n in sorted(counts.items()))}"
        if len(ranked) > MOST_MODELS:
            yield f"        and {len(ranked) - MOST_MODELS} more"

    def _causes(self) -> Iterator[str]:
        """What changed, from what to what, and the jobs that it concerns."""
        causes: dict[str, list[PlannedJob]] = defaultdict(list)
        for job in self._jobs:
            for words in _changes(job):
                causes[words].append(job)
        if causes:
            yield "What changed:"
        for words, jobs in list(causes.items())[:MOST_CAUSES]:
            named = [f"{job.rule} {subject_of(job.wildcards)}" for job in jobs[:MOST_SUBJECTS]]
            more = [f"and {len(jobs) - MOST_SUBJECTS} more"] if len(jobs) > MOST_SUBJECTS else []
            yield f"  {words}"
            yield f"    so: {', '.join([*named, *more])}"
        if len(causes) > MOST_CAUSES:
            yield f"  and {len(causes) - MOST_CAUSES} more"


def _why(reason: str, changed: Sequence[str]) -> str:
    if changed and all("/keys/" in name for name in changed) and "Missing output" not in reason:
        return KEY
    return next((words for begins, words in REASONS.items() if begins in reason), reason)


def _subjects(jobs: Sequence[PlannedJob]) -> str:
    """What jobs of a rule are about: their benchmarks, or the tables where they have none."""
    kind = next((kind for kind in ("benchmark", "table", "model") if jobs and kind in jobs[0].wildcards), None)
    names = list(dict.fromkeys(job.wildcards[kind] for job in jobs)) if kind else []
    more = [f"{len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else []
    return ", ".join([*names[:MOST_NAMES], *more])


def _changes(job: PlannedJob) -> Iterator[str]:
    """What is not as it was when the job's output was made."""
    if job.why == NEW:
        return
    keys = [name for name in job.changed if "/keys/" in name]
    yield from (f"{name} is newer" for name in job.changed if name not in keys)
    if keys:
        from reprise.plan.changes import KeyChanges

        results = Results(Path(job.outputs[0]).relative_to(RESULTS).parts[0])
        known = [change for output in job.outputs for change in KeyChanges(results).since(Path(output))]
        named = {words: None for change in known if str(change.path) in keys for words in change.words}
        yield from named or (f"{name} changed" for name in keys)

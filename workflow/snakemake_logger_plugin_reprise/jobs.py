"""The jobs of a run of the workflow: how many there are, are done, run now, and failed."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from reprise.core.job_logs import ERROR, last_progress, last_words, tail_of

NOT_WORK = {"all", "total"}


@dataclass(frozen=True)
class Job:
    """A job as it started."""

    rule: str
    subject: str
    logs: tuple[Path, ...]
    started: float

    @property
    def name(self) -> str:
        return f"{self.rule} {self.subject}".strip()

    def state(self) -> str:
        """What it does now, as far as it says so."""
        for log in self.logs:
            if far := last_progress(log):
                left = in_words(far.seconds_left)
                return f"{far.done} of {far.total} questions, {far.rate:.1f} a second, about {left} left"
        return in_words(time.monotonic() - self.started)


def job_of(rule: str, wildcards: Mapping[str, str], logs: Iterable[str]) -> Job:
    return Job(rule, subject_of(wildcards), tuple(map(Path, logs)), time.monotonic())


def subject_of(wildcards: Mapping[str, str]) -> str:
    """What a job of a rule is about, such as the name of a run."""
    return "/".join(wildcards.values())


@dataclass
class Jobs:
    """All jobs of a run."""

    total: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    running: dict[int, Job] = field(default_factory=dict)
    failed: dict[int, tuple[Job, str]] = field(default_factory=dict)

    def start(self, stats: Mapping[str, int]) -> None:
        """How many there are by rule, in the order of the work."""
        self.total = Counter({rule: count for rule, count in stats.items() if rule not in NOT_WORK})

    def finish(self, jobid: int) -> None:
        job = self.running.pop(jobid, None)
        if job is not None and job.rule not in NOT_WORK:
            self.done[job.rule] += 1

    def fail(self, jobid: int, reason: str) -> Job | None:
        job = self.running.pop(jobid, None)
        if job is not None:
            self.failed[jobid] = (job, reason)
        return job

    def count(self) -> str:
        """How far, over all kinds of jobs."""
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"{self.done.total()} of {self.total.total()} jobs{failed}"

    def by_rule(self) -> list[str]:
        """How far, by kind of job: those that have begun and are not all done."""
        begun = self.done.keys() | {job.rule for job in self.running.values()}
        return [
            f"{rule} {self.done[rule]}/{n}" for rule, n in self.total.items() if rule in begun and self.done[rule] < n
        ]


def last_error(logs: Iterable[Path]) -> str:
    """The line of the logs that says why a job failed: the first of its last error, or its last line."""
    for log in logs:
        lines = [line.strip() for line in (last_words(log) or tail_of(log)).splitlines() if line.strip()]
        if lines:
            return lines[0].removeprefix(ERROR) if lines[0].startswith(ERROR) else lines[-1]
    return ""


def in_words(seconds: float) -> str:
    """Such as `58 s`, `4 min 12 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"

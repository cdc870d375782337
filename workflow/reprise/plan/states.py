"""Determine whether the results of each run are done, stale, missing or failed, and which jobs are pending."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from reprise.core.errors import UserError
from reprise.core.lineage import Lineages, Step
from reprise.core.log import last_words
from reprise.core.paths import READ_AS, TABLES, Results, Scored
from reprise.core.plain import cut
from reprise.core.schemas import REQUESTS, RESPONSES, VERDICTS, read_table
from reprise.core.settings import Settings
from reprise.models.asking.pieces import NAME
from reprise.plan.answers import FailedAnswers, Job, failed_answers, job_of
from reprise.plan.changes import CurrentSettings, SettingsChange
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan
from reprise.plan.targets import asked_by, readable

MOST_TARGETS = 6


class Counts(NamedTuple):
    """Counts of a run's answers, as the extractor `robust` or a judge classifies them."""

    asked: int = 0
    failed: int = 0
    unread: int = 0
    missing: int = 0  # The model is not queried, because the clip is missing.


def outcome(plan: Plan, targets: Sequence[str]) -> Iterator[str]:
    """Yield summary lines about the answers, the side packages and the files of a finished workflow."""
    completed = [
        scored
        for scored in asked_by(plan, targets)
        if plan.results.verdicts(scored.run, scored.judge or "robust").is_file()
    ]
    counts = [Counts(), *(count(plan.results, scored) for scored in completed)]
    total, failed, unparsed, missing = (sum(column) for column in zip(*counts, strict=True))
    if total or missing:
        advice = " (which, and why: python -m reprise runs)" if failed or missing else ""
        yield f"{total} answers: {failed} failed, {unparsed} unread; {missing} questions missing{advice}"
    for package in plan.packages.values():
        yield from package.outcome(targets)
    tables = plan.benchmarks_by_table()
    files = targets or ([] if tables else [target for target in readable(plan) if target.endswith(".md")])
    existing = [file for file in files if Path(file).is_file()]
    if existing:
        suffix = f" and {len(existing) - MOST_TARGETS} more" if len(existing) > MOST_TARGETS else ""
        yield f"Results: {' '.join(existing[:MOST_TARGETS])}{suffix}"
    elif tables and not targets:
        table_numbers = ",".join(name.removeprefix("table") for name in tables)
        pattern = f"{{{table_numbers}}}" if "," in table_numbers else table_numbers
        table_files = f"{TABLES}/table{pattern}.{{{','.join(sorted(READ_AS))}}}"
        yield f"Tables: {table_files}; each paper's own in {TABLES}/<benchmark>/"


def count(results: Results, scored: Scored) -> Counts:
    """Count the failed, unparsed and missing answers of one run."""
    flags = ("failed", "unparsed")
    verdicts = read_table(
        results.verdicts(scored.run, scored.judge or "robust"), VERDICTS, VERDICTS.keys() - set(flags)
    )
    failed, unparsed = (int(verdicts[name].sum()) for name in flags)
    responses_path, requests_path = (
        results.responses(scored.run),
        results.requests(scored.run.benchmark, scored.run.protocol),
    )
    if not (responses_path.is_file() and requests_path.is_file()):  # No job needs these once verdicts exist.
        return Counts(verdicts.height, failed, unparsed)
    total = read_table(responses_path, RESPONSES, RESPONSES.keys() - {"item_id"}).height
    return Counts(
        total,
        failed,
        unparsed,
        read_table(requests_path, REQUESTS, REQUESTS.keys() - {"item_id"}).height - total,
    )


Name = Literal["done", "stale", "missing", "failed"]
ANSWERS, REPLIES = "answers", "replies of the judge"


class State(NamedTuple):
    """State of the results of one run, as one extractor or judge scores it."""

    scored: Scored
    name: Name
    counts: Counts
    missing: tuple[str, ...]  # names of the results that do not exist, in the order of the pipeline
    failures: tuple[tuple[Path, str], ...]  # logs of failed jobs, each with its last message
    changed: tuple[tuple[Step, SettingsChange], ...]  # steps whose settings changed since they ran
    answers: FailedAnswers | None

    @property
    def due(self) -> int:
        """Return the number of failed answers that the next run of the workflow requests again."""
        return self.answers.due.total() if self.answers else 0


class States:
    """States of a suite's runs. Each file is read once."""

    def __init__(self, plan: Plan, settings: Mapping[str, Settings]) -> None:
        """Collect failed answers and logs; `settings` are the current settings of all jobs."""
        self._plan = plan
        self._current = CurrentSettings(settings)
        self._lineages = Lineages()
        self._failed_answers = {answers.job.scored: answers for answers in failed_answers(plan)}
        self._logs = {path: message for path in plan.results.logs() if (message := last_words(path))}

    def all(self) -> list[State]:
        """Return the states of all runs of the suite."""
        return [self.of(scored) for scored in self._plan.numbers()]

    def of(self, scored: Scored) -> State:
        """Return the state of one run."""
        results = results_of(self._plan, scored)
        missing = tuple(name for name, path in results.items() if not path.is_file())
        existing = [path for path in results.values() if path.is_file()]
        steps = [step for path in existing[-1:] for step in self._lineages.of(path)]
        changes = tuple((step, change) for step in steps for change in self._current.changes_since(step.made))
        failures = [(log, message) for log, message in self._logs.items() if missing and self._is_log_of(log, scored)]
        answers = self._failed_answers.get(scored) or self._failed_answers.get(Scored(scored.run))
        counts = Counts()
        if METRICS not in missing:
            try:
                counts = count(self._plan.results, scored)
            except UserError as error:  # The table is damaged.
                failures.append((results[METRICS], str(error)))
        name: Name = "stale" if changes or (answers and answers.due) else "done"
        if failures:
            name = "failed"
        elif METRICS in missing:
            name = "missing"
        return State(scored, name, counts, missing, tuple(failures), changes, answers)

    def changes_since(self, result: Path) -> list[SettingsChange]:
        """Return the settings that changed since a result was produced."""
        provenance = self._lineages.recorded(result)
        return self._current.changes_since(provenance) if provenance else []

    def _is_log_of(self, log: Path, scored: Scored) -> bool:
        """Return whether a log belongs to a job of this run: each part of its name is a part of the run's."""
        run, (_, *parts) = scored.run, log.relative_to(self._plan.results.folder / "logs").with_suffix("").parts
        models = [self._plan.config.models[slug] for slug in (run.model, scored.judge) if slug]
        run_parts = {
            *run.name.split("/"),
            scored.judge,
            *(model.served_by.environment for model in models if model.served_by),
        }
        return bool(parts) and all(part in run_parts or part.isdecimal() or NAME.fullmatch(part) for part in parts)


METRICS = "metrics"


def results_of(plan: Plan, scored: Scored) -> dict[str, Path]:
    """Return the main results of a run by name, in the order of the pipeline."""
    results, run, judge = plan.results, scored.run, scored.judge
    replies = {REPLIES: results.judge_responses(run, judge)} if judge else {}
    verdicts = {"verdicts": results.verdicts(run, judge or "robust"), METRICS: results.metrics(scored)}
    return {ANSWERS: results.responses(run), **replies, **verdicts}


NEW = "not made yet"
# Setting of a run -> its category in messages. The others are "settings".
KINDS = {
    "model": "weights", "checkpoint": "weights", "prompt": "prompt", "sampling": "frames", "code_versions": "version",
    "versions": "versions of libraries",
}  # fmt: skip
LONGEST = 160


class Asking(NamedTuple):
    """Pending job that queries a model (an inference job), with the reasons why it runs."""

    job: Job
    slug: str
    why: tuple[str, ...]
    is_remade: bool  # whether its inputs are produced again first, so that its requests may change


class Askings(NamedTuple):
    """Pending inference jobs behind a set of results."""

    asked: list[Asking]
    done: int
    counted: int  # results that are recomputed from existing answers


def askings(plan: Plan, states: States, numbers: Iterable[Scored]) -> Askings:
    """Return the inference jobs that must run to produce these results."""
    pending: dict[Scored, Asking] = {}
    done, recomputed, keys = 0, 0, RunKeys(plan)
    for scored in sorted(numbers):
        state = states.of(scored)
        state_askings = (
            {} if state.name == "done" else {asking.job.scored: asking for asking in _askings_of(plan, state, keys)}
        )
        pending |= state_askings
        done += state.name == "done"
        recomputed += state.name != "done" and not state_askings
    return Askings(list(pending.values()), done, recomputed)


def _askings_of(plan: Plan, state: State, keys: RunKeys) -> Iterator[Asking]:
    """Yield the pending inference job of a run, and that of its judge."""
    run, judge = state.scored.run, state.scored.judge
    jobs = [(Scored(run), run.model, ANSWERS), (state.scored, judge, REPLIES)]
    for scored, slug, name in jobs if judge else jobs[:1]:
        if slug in plan.imports.models:
            continue
        job = job_of(plan, scored, keys)
        stages = [step.stage for step, _ in state.changed if step.path in _inputs_of(job.responses)]
        remade_stages = list(dict.fromkeys(stage for stage in stages))
        reasons = tuple(dict.fromkeys(_reasons(state, job, name, remade_stages)))
        if reasons:
            yield Asking(job, slug, reasons, is_remade=bool(remade_stages))


def _inputs_of(result: Path) -> set[Path]:
    """Return the files that a result was computed from, without the result itself."""
    return {step.path for step in Lineages().of(result)} - {result}


def _reasons(state: State, job: Job, name: str, remade_stages: Sequence[str]) -> Iterator[str]:
    """Yield the reasons why a job is pending."""
    if name in state.missing:
        errors = [message.splitlines()[0] for _, message in state.failures]
        yield f"its job failed: {cut(errors[-1], LONGEST)}" if errors else NEW
    yield from (
        description for step, change in state.changed if step.path == job.responses for description in in_words(change)
    )
    if remade_stages:
        yield f"made again before it: {', '.join(remade_stages)}"
    if state.answers and state.due and state.answers.job.scored == job.scored:
        yield "what failed is tried again"


def in_words(change: SettingsChange) -> Iterator[str]:
    """Yield one description for each category of settings that changed."""
    first_by_kind = {
        f"{KINDS.get(setting.name.partition('.')[0], 'settings')} changed": setting
        for setting in reversed(change.changes)
    }
    yield from (f"{kind} ({cut(setting.words, LONGEST)})" for kind, setting in first_by_kind.items())

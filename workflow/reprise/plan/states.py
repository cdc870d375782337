"""Where every run stands: done, stale, missing or failed, by the settings that its results were made with."""

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
    """What became of a run's questions, as the robust reader or a judge takes its answers."""

    asked: int = 0
    failed: int = 0
    unread: int = 0
    missing: int = 0  # not asked, because their clip is missing


def outcome(plan: Plan, targets: Sequence[str]) -> Iterator[str]:
    done = [one for one in asked_by(plan, targets) if plan.results.verdicts(one.run, one.judge or "robust").is_file()]
    counts = [Counts(), *(count(plan.results, one) for one in done)]
    asked, failed, unread, missing = (sum(column) for column in zip(*counts, strict=True))
    if asked or missing:
        advice = " (which, and why: python -m reprise runs)" if failed or missing else ""
        yield f"{asked} answers: {failed} failed, {unread} unread; {missing} questions missing{advice}"
    for package in plan.packages.values():
        yield from package.outcome(targets)
    tables = plan.benchmarks_by_table()
    wanted = targets or ([] if tables else [target for target in readable(plan) if target.endswith(".md")])
    made = [target for target in wanted if Path(target).is_file()]
    if made:
        more = f" and {len(made) - MOST_TARGETS} more" if len(made) > MOST_TARGETS else ""
        yield f"Results: {' '.join(made[:MOST_TARGETS])}{more}"
    elif tables and not targets:
        numbers = ",".join(name.removeprefix("table") for name in tables)
        listed = f"{{{numbers}}}" if "," in numbers else numbers
        files = f"{TABLES}/table{listed}.{{{','.join(sorted(READ_AS))}}}"
        yield f"Tables: {files}; each paper's own in {TABLES}/<benchmark>/"


def count(results: Results, one: Scored) -> Counts:
    counted = ("failed", "unparsed")
    read = read_table(results.verdicts(one.run, one.judge or "robust"), VERDICTS, VERDICTS.keys() - set(counted))
    failed, unread = (int(read[name].sum()) for name in counted)
    answers, questions = results.responses(one.run), results.requests(one.run.benchmark, one.run.protocol)
    if not (answers.is_file() and questions.is_file()):  # nothing needs them any more
        return Counts(read.height, failed, unread)
    asked = read_table(answers, RESPONSES, RESPONSES.keys() - {"item_id"}).height
    return Counts(asked, failed, unread, read_table(questions, REQUESTS, REQUESTS.keys() - {"item_id"}).height - asked)


Name = Literal["done", "stale", "missing", "failed"]
ANSWERS, REPLIES = "answers", "replies of the judge"


class State(NamedTuple):
    scored: Scored
    name: Name
    counts: Counts
    missing: tuple[str, ...]  # the results that are not there, in the order in which they are made
    failures: tuple[tuple[Path, str], ...]  # logs of jobs that failed, and their last words
    changed: tuple[tuple[Step, SettingsChange], ...]  # what was made with settings that are others now
    answers: FailedAnswers | None

    @property
    def due(self) -> int:
        return self.answers.due.total() if self.answers else 0


class States:
    """The states of a suite's runs; every file is read once."""

    def __init__(self, plan: Plan, settings: Mapping[str, Settings]) -> None:
        """`settings` are those of the suite's jobs now."""
        self._plan = plan
        self._current = CurrentSettings(settings)
        self._lineages = Lineages()
        self._failed = {failed.job.scored: failed for failed in failed_answers(plan)}
        self._logs = {path: words for path in plan.results.logs() if (words := last_words(path))}

    def all(self) -> list[State]:
        return [self.of(scored) for scored in self._plan.numbers()]

    def of(self, scored: Scored) -> State:
        results = results_of(self._plan, scored)
        missing = tuple(name for name, path in results.items() if not path.is_file())
        made = [path for path in results.values() if path.is_file()]
        steps = [step for path in made[-1:] for step in self._lineages.of(path)]
        changed = tuple((step, change) for step in steps for change in self._current.changes_since(step.made))
        failures = [(log, words) for log, words in self._logs.items() if missing and self._concerns(log, scored)]
        answers = self._failed.get(scored) or self._failed.get(Scored(scored.run))
        counts = Counts()
        if METRICS not in missing:
            try:
                counts = count(self._plan.results, scored)
            except UserError as error:  # a damaged table
                failures.append((results[METRICS], str(error)))
        name: Name = "stale" if changed or (answers and answers.due) else "done"
        if failures:
            name = "failed"
        elif METRICS in missing:
            name = "missing"
        return State(scored, name, counts, missing, tuple(failures), changed, answers)

    def changes_since(self, result: Path) -> list[SettingsChange]:
        """Return which settings changed since this result was made."""
        made = self._lineages.recorded(result)
        return self._current.changes_since(made) if made else []

    def _concerns(self, log: Path, scored: Scored) -> bool:
        """Return whether a log is of a job behind these numbers: all parts of its name are theirs."""
        run, (_, *parts) = scored.run, log.relative_to(self._plan.results.folder / "logs").with_suffix("").parts
        models = [self._plan.config.models[slug] for slug in (run.model, scored.judge) if slug]
        named = {*run.name.split("/"), scored.judge, *(one.served_by.environment for one in models if one.served_by)}
        return bool(parts) and all(part in named or part.isdecimal() or NAME.fullmatch(part) for part in parts)


METRICS = "metrics"


def results_of(plan: Plan, scored: Scored) -> dict[str, Path]:
    """Return the results of a run that people ask about, in the order in which they are made."""
    results, run, judge = plan.results, scored.run, scored.judge
    replies = {REPLIES: results.judge_responses(run, judge)} if judge else {}
    verdicts = {"verdicts": results.verdicts(run, judge or "robust"), METRICS: results.metrics(scored)}
    return {ANSWERS: results.responses(run), **replies, **verdicts}


NEW = "not made yet"
# What a setting of a run is about; everything else is a setting.
KINDS = {
    "model": "weights", "checkpoint": "weights", "prompt": "prompt", "sampling": "frames", "code_versions": "version",
    "versions": "versions of libraries",
}  # fmt: skip
LONGEST = 160


class Asking(NamedTuple):
    job: Job
    slug: str
    why: tuple[str, ...]
    is_remade: bool  # whether what it asks about is made again before, so that it may be something else


class Askings(NamedTuple):
    """What making some numbers asks."""

    asked: list[Asking]
    done: int
    counted: int  # numbers that are made again from answers that are there


def askings(plan: Plan, states: States, numbers: Iterable[Scored]) -> Askings:
    found: dict[Scored, Asking] = {}
    done, counted, keys = 0, 0, RunKeys(plan)
    for one in sorted(numbers):
        state = states.of(one)
        mine = {} if state.name == "done" else {asking.job.scored: asking for asking in _of_state(plan, state, keys)}
        found |= mine
        done += state.name == "done"
        counted += state.name != "done" and not mine
    return Askings(list(found.values()), done, counted)


def _of_state(plan: Plan, state: State, keys: RunKeys) -> Iterator[Asking]:
    """The run's own job, and that of its judge."""
    run, judge = state.scored.run, state.scored.judge
    jobs = [(Scored(run), run.model, ANSWERS), (state.scored, judge, REPLIES)]
    for scored, slug, name in jobs if judge else jobs[:1]:
        if slug in plan.imports.models:
            continue
        job = job_of(plan, scored, keys)
        before = [step.stage for step, _ in state.changed if step.path in _behind(job.responses)]
        remade = list(dict.fromkeys(stage for stage in before))
        why = tuple(dict.fromkeys(_reasons(state, job, name, remade)))
        if why:
            yield Asking(job, slug, why, is_remade=bool(remade))


def _behind(result: Path) -> set[Path]:
    """Return the files that a result was made from, without itself."""
    return {step.path for step in Lineages().of(result)} - {result}


def _reasons(state: State, job: Job, name: str, remade: Sequence[str]) -> Iterator[str]:
    if name in state.missing:
        failed = [words.splitlines()[0] for _, words in state.failures]
        yield f"its job failed: {cut(failed[-1], LONGEST)}" if failed else NEW
    yield from (words for step, change in state.changed if step.path == job.responses for words in in_words(change))
    if remade:
        yield f"made again before it: {', '.join(remade)}"
    if state.answers and state.due and state.answers.job.scored == job.scored:
        yield "what failed is tried again"


def in_words(change: SettingsChange) -> Iterator[str]:
    first = {f"{KINDS.get(one.name.partition('.')[0], 'settings')} changed": one for one in reversed(change.changes)}
    yield from (f"{kind} ({cut(one.words, LONGEST)})" for kind, one in first.items())

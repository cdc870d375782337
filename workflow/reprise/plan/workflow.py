"""What the Snakemake rules call: wildcards go in, paths and resources come out. Nothing else here knows Snakemake."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from snakemake.exceptions import WorkflowError

from reprise.benchmarks.registry import load_analyses, load_statistics
from reprise.config.load import load
from reprise.config.model import Model
from reprise.config.site import Site
from reprise.config.tables import TableSpec
from reprise.core.clones import LOCKS, is_running, register
from reprise.core.errors import UserError, faults_in_words
from reprise.core.files import canonical_json, is_other, write_if_changed
from reprise.core.locks import put_locks
from reprise.core.log import log
from reprise.core.names import FIGURE, one_of
from reprise.core.paths import (
    STAMP,
    Ledger,
    Run,
    Scored,
    collected_table_file,
    overview_file,
    reproduction_file,
    table_file,
)
from reprise.fetch.settings import Remote
from reprise.models.asking.pieces import NAME
from reprise.plan.agreement import compared
from reprise.plan.answers import failed_answers, summary
from reprise.plan.captioned import Captioned
from reprise.plan.construction import Constructed, writer_of
from reprise.plan.figured import Figured
from reprise.plan.keys import changed_keys, write_keys
from reprise.plan.outcome import outcome
from reprise.plan.reported import report_inputs
from reprise.plan.retries import write_answer_retries, write_retries
from reprise.plan.runs import Plan
from reprise.plan.site import check_models, site_of, threads_of
from reprise.plan.split import Split
from reprise.plan.surveyed import Surveyed
from reprise.plan.targets import check_profile, check_targets, targets_of, warn_of_ended, warn_of_unpinned
from reprise.plan.upkeep import note_outdated
from reprise.tables.published import published_file

P = ParamSpec("P")
T = TypeVar("T")
Wildcards = Any
"""Snakemake's, with an attribute a wildcard"""
STAGE_MINUTES = 240
"""of a job on videos that asks no model"""
READ_AS = ("tex", "md", "html")


def as_workflow_error(function: Callable[P, T]) -> Callable[P, T]:
    """Have a user's mistake end the workflow with its message and no traceback."""

    @wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return function(*arguments, **named)
        except UserError as error:
            raise WorkflowError(str(error)) from None

    return call


def load_workflow(overrides: dict[str, Any], arguments: Sequence[str] = ()) -> "Workflow":
    """Read the configuration in the working directory and bring key files and the suite's stamp up to date.

    Problems with Snakemake's arguments, and weights or data that are not pinned, are reported before jobs are planned.
    """
    with faults_in_words():
        plan = Plan(load(Path(), overrides))
        if "--target-jobs" in arguments:  # given where Snakemake itself calls, for a job of this workflow
            return Workflow(plan)
        check_profile(arguments)
        targets = targets_of(arguments)
        check_targets(plan, targets)
        site = site_of(arguments)
        if site is not None:
            check_models(plan, site, targets)
        warn_of_unpinned(plan, targets)
        warn_of_ended(plan, targets)
        plan.imports.warn_of_unused(plan.models)
        if is_running(Path()) and "--unlock" not in arguments:
            _refuse_changes(plan)
        else:
            _bring_up_to_date(plan)
        return Workflow(plan, targets, site)


def _bring_up_to_date(plan: Plan) -> None:
    """Write what jobs are planned by, and show what is out of date."""
    put_locks(plan.store.root, plan.config.main.locks)
    register(plan.store, Path())
    plan.store.sweep()
    write_keys(plan)
    note_outdated(plan)
    write_retries(plan)
    failed = failed_answers(plan)
    write_answer_retries(plan, failed)
    if failed:
        log.warning(summary(failed))
    write_if_changed(STAMP, _stamp(plan))


def _refuse_changes(plan: Plan) -> None:
    """Leave everything as the Snakemake that works in this folder planned by it."""
    others = [path for path in [STAMP] if is_other(path, _stamp(plan))] or changed_keys(plan)
    if others:
        raise UserError(
            f"another snakemake works in this folder (see {LOCKS}), and this call is of another suite or of a changed "
            f"configuration: it would change {others[0]}. Wait for its end; if it was killed, run `snakemake --unlock` "
            "first."
        )


def _stamp(plan: Plan) -> str:
    return canonical_json({"suite": plan.config.name}) + "\n"


class Workflow:
    """A suite's plan as input functions."""

    def __init__(self, plan: Plan, targets: Sequence[str] = (), site: Site | None = None) -> None:
        self.suite = plan.config.name
        self.store = plan.config.main.store
        self.scratch = plan.config.main.scratch or ""
        self.answer_attempts = plan.config.suite.answer_attempts
        self.budget = f"{plan.budget.usd!r} {plan.budget.tokens}"
        """dollars and tokens, for the jobs that ask"""
        self._plan = plan
        self._targets = targets
        self._site = site
        self._results = plan.results
        self.figured = Figured(plan, self)
        self.captioned = Captioned(plan)
        self.split = Split(plan)
        self.made = Constructed(plan)
        self.surveyed = Surveyed(plan)
        self._shards = range(plan.config.suite.shards)

    # Wildcards

    def constraints(self) -> Mapping[str, str]:
        """The values that each wildcard may have."""
        config = self._plan.config
        return {
            "benchmark": one_of(config.benchmarks),
            "protocol": one_of({name for spec in config.benchmarks.values() for name in spec.protocols}),
            "sampling": one_of(config.main.samplings),
            "model": one_of(config.models),
            "judge": one_of(self._judges()),
            "environment": one_of(one.served_by.environment for one in config.models.values() if one.served_by),
            "shard": r"\d+",
            "piece": NAME.pattern,
            "round": r"\d+",
            "group": self.surveyed.groups(),
            "table": r"table\d+",
            "figure": FIGURE.strip("^$"),
            "kind": one_of(READ_AS),
            "clip": r"[^/\s]+",
        }

    def imported_models(self) -> str:
        """The models whose answers were made elsewhere."""
        return one_of(self._plan.imports.models)

    def asked_judges(self) -> str:
        """The judges that are asked."""
        return one_of(self._judges() - self._plan.imports.models)

    def imported_judges(self) -> str:
        """The judges whose ratings were made elsewhere."""
        return one_of(self._judges() & self._plan.imports.models)

    def _judges(self) -> set[str]:
        return {judge for name in self._plan.config.benchmarks for judge in self._plan.judges_of(name)}

    # Data

    def ledgers(self, stage: Ledger) -> Callable[[Wildcards], list[Path]]:
        """Every shard of a stage, for the benchmark of the rule."""
        return lambda wildcards: [self._results.ledger(stage, wildcards.benchmark, shard) for shard in self._shards]

    def every_ledger(self, wildcards: Wildcards) -> list[Path]:
        """The ledgers of all videos that this site works on."""
        stages: tuple[Ledger, ...] = ("sources", "clips")
        benchmarks = self._plan.data_benchmarks()
        ledger = self._results.ledger
        return [ledger(stage, name, shard) for stage in stages for name in benchmarks for shard in self._shards]

    def downloads(self, wildcards: Wildcards) -> int:
        """1 where a benchmark's videos come over a network, else 0."""
        return int(isinstance(self._plan.config.suite.benchmarks[wildcards.benchmark].route, Remote))

    def statistics_facts(self, wildcards: Wildcards) -> list[Path]:
        """Facts of the videos, where numbers of the data need them; a site that runs nothing on videos fetches none."""
        benchmark = wildcards.benchmark
        is_needed = benchmark in self._plan.data_benchmarks() and load_statistics(benchmark).of_videos is not None
        return [self._results.facts(benchmark)] if is_needed else []

    def analysed_facts(self, wildcards: Wildcards) -> list[Path]:
        """Facts of the videos, where analyses need them; imported answers alone have nothing fetched for them."""
        analyses = load_analyses(wildcards.benchmark)
        is_needed = analyses is not None and analyses.needs_facts
        is_there = wildcards.benchmark in self._plan.data_benchmarks()
        return [self._results.facts(wildcards.benchmark)] if is_needed and is_there else []

    # Answers

    def model(self, wildcards: Wildcards) -> Model:
        """The model that a job asks: a run's, the judge of its answers, or the writer of a benchmark."""
        return self._plan.config.models[self._slug(wildcards)]

    def _slug(self, wildcards: Wildcards) -> str:
        if hasattr(wildcards, "round"):
            return writer_of(self._plan, wildcards.benchmark)
        return str(getattr(wildcards, "judge", wildcards.model))

    def threads(self, wildcards: Wildcards) -> int:
        """Of its job; a profile's `set-threads` says otherwise."""
        return threads_of(self.model(wildcards))

    def gpus(self, wildcards: Wildcards) -> int:
        return self.model(wildcards).gpus

    def memory_mb(self, wildcards: Wildcards, attempt: int) -> int:
        """More with each attempt, as far as the site has nodes with it: the one before may have run out of it."""
        model = self.model(wildcards)
        wanted = model.memory_mb * attempt
        most = self._site.most_memory_mb(model.gpus) if self._site else None
        return wanted if most is None else min(wanted, max(most, model.memory_mb))

    def minutes(self, wildcards: Wildcards, attempt: int) -> int:
        """The same of its time; one that is cut off goes on where it was."""
        model = self.model(wildcards)
        return self._within_site(round(model.hours * 60) * attempt, model.gpus)

    def stage_minutes(self, wildcards: Wildcards, attempt: int) -> int:
        """The time of a job on videos that asks no model."""
        return self._within_site(STAGE_MINUTES * attempt, gpus=0)

    def _within_site(self, minutes: int, gpus: int) -> int:
        longest = self._site.longest_minutes(gpus) if self._site else None
        return minutes if longest is None else min(minutes, longest)

    def weights(self, wildcards: Wildcards) -> list[Path]:
        """The note of a fetched snapshot; nothing for a local checkpoint or a model without weights."""
        return [self._results.weights(self._slug(wildcards))] if self.model(wildcards).repo else []

    def environment(self, wildcards: Wildcards) -> list[Path]:
        """The note of the environment of the server that a job starts; nothing where it starts none."""
        served = self.model(wildcards).served_by
        return [self._results.environment(served.environment)] if served else []

    def answer_retry(self, wildcards: Wildcards) -> list[Path]:
        """What changes when questions that failed are to be asked again; nothing where none has failed yet."""
        run = self.made.run(wildcards) if hasattr(wildcards, "round") else _run(wildcards)
        path = self._results.answer_retry_key(Scored(run, getattr(wildcards, "judge", "")))
        return [path] if path.is_file() else []

    def report_failures(self) -> None:
        """Say at the end of a run how many answers failed."""
        found = summary(failed_answers(self._plan))
        if found:
            log.warning(found)

    def report_success(self) -> None:
        """The same, and what was made."""
        self.report_failures()
        for line in outcome(self._plan, self._targets):
            log.info(line)

    def answer_files(self, wildcards: Wildcards) -> list[Path]:
        """The files that hold an imported run's answers."""
        return self._plan.imports.answer_files(_run(wildcards))

    def rating_files(self, wildcards: Wildcards) -> list[Path]:
        """The file that holds an imported judge's ratings of a run."""
        return self._plan.imports.rating_files(_run(wildcards), wildcards.judge)

    # Tables

    def every_table(self) -> list[Path]:
        """What people read: every table number that a paper of the suite has, the overview, and the verdicts."""
        tables = [collected_table_file(table, kind) for table in self._plan.benchmarks_by_table() for kind in READ_AS]
        overview = [overview_file(kind) for kind in READ_AS if self._plan.overview]
        verdicts = [reproduction_file("md")] if self._plan.config.suite.show_published else []
        return [*tables, *overview, *verdicts]

    def every_csv(self) -> list[Path]:
        """The numbers of every table of every paper of the suite."""
        return [table_file(benchmark, table, "csv") for benchmark, table, _ in self._plan.tables()]

    def every_fragment(self) -> list[Path]:
        """Every table of every paper of the suite, and the overview, as LaTeX."""
        tables = [table_file(benchmark, table, "tex") for benchmark, table, _ in self._plan.tables()]
        return [*tables, *([overview_file("tex")] if self._plan.overview else [])]

    @as_workflow_error
    def parts_of_table(self, wildcards: Wildcards) -> list[Path]:
        """Table N of every paper that has one."""
        table, kind = wildcards.table, wildcards.kind
        return [table_file(benchmark, table, kind) for benchmark in self._plan.benchmarks_with(table)]

    @as_workflow_error
    def table_metrics(self, wildcards: Wildcards) -> list[Path]:
        """The metrics of the runs behind a table that this site can make."""
        return [self._results.metrics(one) for one in self._scored(wildcards)]

    @as_workflow_error
    def table_problems(self, wildcards: Wildcards) -> list[Path]:
        """What is wrong with the imported files behind a table."""
        return self.import_problems(self._scored(wildcards))

    def import_problems(self, scored: Sequence[Scored]) -> list[Path]:
        """What is wrong with the imported files behind these numbers."""
        imported = self._plan.imports.models
        answers = [Scored(one.run) for one in scored if one.run.model in imported]
        ratings = [one for one in scored if one.judge in imported]
        return [self._results.import_problems(one) for one in (*answers, *ratings)]

    def published_numbers(self, wildcards: Wildcards) -> list[Path]:
        """The paper's own numbers, where the suite shows them."""
        return [published_file(wildcards.benchmark)] if self._plan.config.suite.show_published else []

    @as_workflow_error
    def table_statistics(self, wildcards: Wildcards) -> list[Path]:
        """Numbers of the data, for a table that shows them where the data can be had."""
        benchmark = wildcards.benchmark
        return [self._results.statistics(benchmark)] if self.needs_data(benchmark, wildcards.table) else []

    def needs_data(self, benchmark: str, table: str) -> bool:
        """Whether a table shows numbers of the data, or a chance that is counted from them, and the data can be had."""
        return self.shows_data(benchmark, self._plan.table(benchmark, table))

    def shows_data(self, benchmark: str, spec: TableSpec) -> bool:
        """The same for a specification."""
        return self._plan.shows_data(benchmark, spec)

    def has_data(self, benchmark: str) -> bool:
        """Whether a benchmark's release can be had."""
        return self._plan.has_data(benchmark)

    # The report

    def report_inputs(self, wildcards: Wildcards) -> list[Path]:
        """Everything that the report is made from."""
        return report_inputs(self._plan)

    # The overview

    @as_workflow_error
    def overview_metrics(self, wildcards: Wildcards) -> list[Path]:
        """The metrics of the runs behind the overview that this site can make."""
        return [self._results.metrics(one) for one in self._plan.overview_scored()]

    @as_workflow_error
    def overview_problems(self, wildcards: Wildcards) -> list[Path]:
        """What is wrong with the imported files behind the overview."""
        return self.import_problems(self._plan.overview_scored())

    @as_workflow_error
    def overview_timings(self, wildcards: Wildcards) -> list[Path]:
        """How long the answers behind the overview took."""
        return [self._results.timings(run) for run in self._plan.timed(self._plan.overview_scored())]

    def overview_published(self, wildcards: Wildcards) -> list[Path]:
        """The papers' own numbers, where the suite shows them."""
        shown = self._plan.overview if self._plan.config.suite.show_published else ()
        return [published_file(benchmark) for benchmark in shown]

    # Judges

    @as_workflow_error
    def compared_items(self, wildcards: Wildcards) -> list[Path]:
        """The items behind the answers whose judges are compared."""
        return sorted({self._results.items(one.run.benchmark) for one in compared(self._plan)})

    @as_workflow_error
    def compared_verdicts(self, wildcards: Wildcards) -> list[Path]:
        """What each of the judges says that are compared."""
        return [self._results.verdicts(one.run, one.judge) for one in compared(self._plan)]

    def _scored(self, wildcards: Wildcards) -> list[Scored]:
        return self._plan.table_scored(wildcards.benchmark, wildcards.table)


def _run(wildcards: Wildcards) -> Run:
    return Run(wildcards.benchmark, wildcards.protocol, wildcards.sampling, wildcards.model)

"""What the Snakemake rules call: a suite that is ready to be run. Wildcards go in, paths and resources come out."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprise.config.load import load
from reprise.core.clones import LOCKS, is_running, register
from reprise.core.errors import UserError, faults_in_words
from reprise.core.files import canonical_json, is_other, read_json, text_digest, write_if_changed, write_text
from reprise.core.locks import put_locks
from reprise.core.log import log
from reprise.core.names import FIGURE, one_of
from reprise.core.paths import READ_AS, RESULTS, STAMP, WORKFLOW
from reprise.core.settings import Key, Settings
from reprise.core.store import append_line
from reprise.models.asking.pieces import NAME
from reprise.models.keys import RunKey
from reprise.plan.answers import failed_answers, summary, write_answer_retries, write_retries
from reprise.plan.builds import check_gpus
from reprise.plan.changes import key_texts, leaves, remember
from reprise.plan.rules import note_parameters
from reprise.plan.rules.annotations import Annotations
from reprise.plan.rules.construction import Construction
from reprise.plan.rules.inference import Inference
from reprise.plan.rules.media import Media
from reprise.plan.rules.people import People
from reprise.plan.rules.report import Report
from reprise.plan.rules.scores import Scores
from reprise.plan.rules.tables import Figures, Tables
from reprise.plan.rules.time import Time
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan
from reprise.plan.site import Site, check_models, site_of
from reprise.plan.states import outcome
from reprise.plan.targets import check_profile, check_targets, targets_of, warn_of_models
from reprise.plan.upkeep import note_outdated


class Rules:
    """An object for each file of rules: the keys of its stages, and what the rules ask."""

    def __init__(self, plan: Plan, site: Site | None = None) -> None:
        self.annotations = Annotations(plan)
        self.media = Media(plan)
        self.inference = Inference(plan, site)
        self.construction = Construction(plan)
        self.people = People(plan)
        self.scores = Scores(plan)
        self.tables = Tables(plan)
        self.figures = Figures(plan)
        self.time = Time(plan)
        self.report = Report(plan)


STAGES = Path(__file__).parents[1] / "stages"  # their modules


def write_keys(plan: Plan) -> None:
    keys = collect_keys(plan)
    changed = {path: text for path, text in key_texts(keys).items() if is_other(path, text)}
    # What a key stands for, for people who trace old answers.
    of_runs = [key for path in changed if isinstance(key := keys[path], RunKey)]
    if of_runs:
        known = (canonical_json([key.key, key.answers.model_dump(mode="json")]) for key in of_runs)
        append_line(plan.store.root / "keys.jsonl", *known)
    for path, text in changed.items():
        remember(plan.results, path)
        write_text(path, text)


def collect_keys(plan: Plan) -> dict[Path, Settings]:
    runs = RunKeys(plan)
    coded = [path.stem for path in STAGES.glob("*.py") if "key: Coded," in path.read_text(encoding="utf-8")]
    bare = {plan.results.key(stage): runs.versioned(stage, Key()) for stage in coded}
    return bare | {path: key for rules in vars(Rules(plan)).values() for path, key in rules.keys(runs)}


def load_suite(
    told: dict[str, Any], arguments: Sequence[str] = (), *, within: str | None = None, rules_in: str = ""
) -> "Suite":
    """Read the configuration and bring key files and the suite's stamp in the working directory up to date.

    Problems with Snakemake's arguments, and weights or data that are not pinned, are reported before jobs are planned.
    `within` is the workflow's name where another one has it as a module, and may have targets of its own; `rules_in`
    is the folder of the rules that call.
    """
    with faults_in_words():
        _check_places(Path(rules_in).resolve())
        plan = Plan(load(Path(), told, "--config" if within is None else f"`config:` of module '{within}'"))
        if within is not None:
            taken = [name for name in _MODULES if name != within]
            if taken:
                raise UserError(
                    f"modules '{taken[0]}' and '{within}' are both Reprise, and what people read in {RESULTS}/ belongs "
                    "to one suite. Keep one of them here; run the other from its own Snakefile in another working "
                    "directory (snakemake -d)."
                )
            _MODULES.append(within)
        if "--target-jobs" in arguments:  # given where Snakemake itself calls, for a job of this workflow
            return Suite(plan)
        check_profile(arguments)
        targets = targets_of(arguments)
        if within is None:
            check_targets(plan, targets)
        if site := site_of(arguments):
            check_models(plan, site, targets)
        check_gpus(plan, targets, arguments)
        warn_of_models(plan, targets)
        plan.imports.warn_of_unused(plan.models)
        if is_running(Path()) and "--unlock" not in arguments:
            # Everything stays as the Snakemake that works in this folder planned by it.
            texts = {STAMP: _stamp(plan), **key_texts(collect_keys(plan))}
            others = [path for path, text in texts.items() if is_other(path, text)]
            if others:
                raise UserError(
                    f"another snakemake works in this folder (see {LOCKS}), and this call is of another suite or of a "
                    f"changed configuration: it would change {others[0]}. Wait for its end; if it was killed, run "
                    "`snakemake --unlock` first."
                )
        else:
            _bring_up_to_date(plan)
        return Suite(plan, targets, site)


def _check_places(rules: Path) -> None:
    """Stop where rules of one clone would run the library of another, and where nothing can be written."""
    if not os.access(Path(), os.W_OK):
        raise UserError(
            f"{Path().absolute()}: this working directory cannot be written, and results go there. Nothing was "
            "changed. Let this user write there, or name another folder: snakemake -d <folder>."
        )
    if rules.name == "rules" and rules.is_dir() and rules.parents[1] != WORKFLOW:
        raise UserError(
            f"the Snakefile is that of {rules.parents[1]}, and this Snakemake ({sys.executable}) has the library of "
            f"{WORKFLOW}. Run the snakemake of the Snakefile's own environment, or name {WORKFLOW / 'Snakefile'}."
        )


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


def _stamp(plan: Plan) -> str:
    return canonical_json({"suite": plan.config.name}) + "\n"


LONGEST = 60
_MODULES: list[str] = []  # this workflow, by its names as a module of the Snakefile that this process reads


class Suite(Rules):
    def __init__(self, plan: Plan, targets: Sequence[str] = (), site: Site | None = None) -> None:
        super().__init__(plan, site)
        self._plan, self._targets = plan, targets
        self._known: dict[str, str] = {}
        main, self.name = plan.config.main, plan.config.name
        # What all jobs are told alike; it shapes no result.
        self.for_jobs = {
            "store": [main.store],
            "scratch": [main.scratch] if main.scratch else [],
            "attempts": [plan.config.suite.answer_attempts],
            "budget": [plan.budget.usd, plan.budget.tokens],
        }

    def wildcards(self) -> Mapping[str, str]:
        config = self._plan.config
        return {
            "benchmark": one_of(config.benchmarks),
            "protocol": one_of({name for spec in config.benchmarks.values() for name in spec.protocols}),
            "sampling": config.main.pattern,
            "model": one_of(config.models),
            "judge": one_of(self._plan.judges()),
            "environment": one_of(one.served_by.environment for one in config.models.values() if one.served_by),
            "shard": r"\d+",
            "piece": NAME.pattern,
            "round": r"\d+",
            "group": self.people.groups,
            "table": r"table\d+",
            "figure": FIGURE.strip("^$"),
            "kind": one_of(READ_AS),
            "clip": r"[^/\s]+",
        }

    def settings(self, key: str) -> Callable[[Any], str]:
        """What a job's key file says but for the digest of its code, so that Snakemake's own words name a setting."""

        def said(wildcards: Any) -> str:
            name = key.format_map(dict(wildcards.items()))
            if name not in self._known:
                found = leaves(read_json(self._plan.results.key(*name.split("/"))))
                shown = [(one, value) for one, value in found if one != "key"]
                self._known[name] = ", ".join(
                    f"{one.removeprefix('answers.')}: {_short(value)}" for one, value in shown
                )
            return self._known[name]

        note_parameters(said)
        return said

    def say_failures(self) -> None:
        if failed := failed_answers(self._plan):
            log.warning(summary(failed))

    def say_outcome(self) -> None:
        self.say_failures()
        for line in outcome(self._plan, self._targets):
            log.info(line)


def _short(value: Any) -> str:
    """A value on one line; of a long one, such as a prompt, its beginning and its digest."""
    text = value if isinstance(value, str) else canonical_json(value)
    more = f"... ({text_digest(text)[:12]})" if len(text) > LONGEST else ""
    return f"{' '.join(text[:LONGEST].split())}{more}"

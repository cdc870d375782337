"""Connect the Snakemake rules to a suite: wildcards go in, paths and resources come out."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from reprise.config.load import load
from reprise.core.errors import UserError, raise_machine_errors
from reprise.core.files import canonical_json
from reprise.core.log import log
from reprise.core.names import FIGURE, any_of_pattern
from reprise.core.paths import RESULTS, WORKFLOW, settings_name
from reprise.core.settings import Key, Settings
from reprise.core.settings_text import settings_text
from reprise.models.inference.partitions import PARTITION_NAME
from reprise.models.keys import RunKey
from reprise.plan.answers import find_failed_answers, summarize_failures
from reprise.plan.builds import check_gpus
from reprise.plan.rules.annotations import AnnotationRules
from reprise.plan.rules.inference import InferenceRules
from reprise.plan.rules.media import MediaRules
from reprise.plan.rules.report import ReportRules
from reprise.plan.rules.scores import ScoreRules
from reprise.plan.rules.tables import FigureRules, TableRules
from reprise.plan.rules.temporal import TemporalRules
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan
from reprise.plan.site import SlurmSite, check_models, load_site
from reprise.plan.states import summarize_outcome
from reprise.plan.targets import check_profile, check_targets, parse_targets, warn_about_models
from reprise.plan.unrecorded import check_results

STAGES_WITHOUT_SETTINGS = (
    "collected_table", "health", "join_partitions", "judgements", "preview", "serve_environment", "weights",
)  # fmt: skip
"""Stages without settings of their own. Their version is a param next to the settings of runs or frames."""


class Rules:
    """Objects for the files of rules. Each has the settings of its stages and the input functions of its rules."""

    def __init__(self, plan: Plan, site: SlurmSite | None = None) -> None:
        self.annotations = AnnotationRules(plan)
        self.media = MediaRules(plan)
        self.inference = InferenceRules(plan, site)
        self.scores = ScoreRules(plan)
        self.tables = TableRules(plan)
        self.figures = FigureRules(plan)
        self.temporal = TemporalRules(plan)
        self.report = ReportRules(plan)
        self.packages = plan.packages

    def settings_by_name(self, plan: Plan) -> Iterator[tuple[str, Settings]]:
        """Yield the settings of every job of the suite by name."""
        runs = RunKeys(plan)
        for stage in STAGES_WITHOUT_SETTINGS:
            yield stage, runs.add_versions(stage, Key())
        first_rules = (self.annotations, self.media, self.inference, self.scores)
        rule_settings = (
            rules.keys(runs) for rules in (*first_rules, self.tables, self.figures, self.temporal, self.report)
        )
        package_settings = (package.keys(runs) for package in self.packages.values())
        for name, settings in chain(*rule_settings, *package_settings):
            yield name, settings
            if isinstance(settings, RunKey):  # Later stages get only these settings of a run.
                yield settings_name("runs", name), RunKey.model_validate(settings.model_dump())


def all_settings(plan: Plan) -> dict[str, Settings]:
    """Return the settings of every job of a suite by name, such as `frames/velociti/fps1`."""
    return dict(Rules(plan).settings_by_name(plan))


def load_job_settings(config: Mapping[str, Any], name: str) -> Settings:
    """Return the settings of one job, which reads them from the configuration itself."""
    plan = Plan(load(Path(), dict(config)))
    return next(settings for job_name, settings in Rules(plan).settings_by_name(plan) if job_name == name)


def load_suite(
    overrides: dict[str, Any], arguments: Sequence[str] = (), *, module_name: str | None = None, rules_folder: str = ""
) -> "SuiteRules":
    """Read the configuration and report all problems before jobs are planned.

    Args:
        overrides: Main settings of the call or of the module.
        arguments: Command line of Snakemake.
        module_name: Name of the workflow as a module of another one, which may have its own targets.
        rules_folder: Folder of the rules that call this function.

    Raises:
        UserError: The configuration, the targets or existing results have problems.
    """
    with raise_machine_errors():
        _check_folders(Path(rules_folder).resolve())
        source = "--config" if module_name is None else f"`config:` of module '{module_name}'"
        plan = Plan(load(Path(), overrides, source), is_read_only=True)
        if module_name is not None:
            names = [name for name in _MODULES if name != module_name]
            if names:
                raise UserError(
                    f"modules '{names[0]}' and '{module_name}' are both Reprise, but tables, figures and the report in "
                    f"{RESULTS}/ belong to one suite. Keep one of them here, and run the other from its own Snakefile "
                    "in another working directory (snakemake -d)."
                )
            _MODULES.append(module_name)
        if "--target-jobs" in arguments:  # Snakemake calls itself for a job of this workflow.
            return SuiteRules(plan, overrides)
        check_profile(arguments)
        targets = parse_targets(arguments)
        if module_name is None:
            check_targets(plan, targets)
        if site := load_site(arguments):
            check_models(plan, site, targets)
        check_gpus(plan, targets, arguments)
        warn_about_models(plan, targets)
        plan.imports.warn_about_unused_files(plan.models)
        if "--unlock" not in arguments:
            check_results(plan, all_settings(plan), arguments)
        if failed := find_failed_answers(plan):
            log.warning(summarize_failures(failed))
        return SuiteRules(plan, overrides, targets, site)


def _check_folders(rules: Path) -> None:
    """Raise a UserError if the rules belong to another clone than the library, or nothing can be written here."""
    if not os.access(Path(), os.W_OK):
        raise UserError(
            f"{Path().absolute()}: no permission to write to this working directory, which holds the results. Nothing "
            "was changed. Give this user write permission, or name another folder: snakemake -d <folder>."
        )
    if rules.name == "rules" and rules.is_dir() and rules.parents[1] != WORKFLOW:
        raise UserError(
            f"the Snakefile belongs to {rules.parents[1]}, but this Snakemake ({sys.executable}) uses the library of "
            f"{WORKFLOW}. Run the snakemake of the Snakefile's own environment, or use {WORKFLOW / 'Snakefile'}."
        )


_MODULES: list[str] = []  # names of this workflow as a module of the current Snakefile


class SuiteRules(Rules):
    """Suite with everything that the Snakemake rules call."""

    def __init__(
        self, plan: Plan, overrides: Mapping[str, Any], targets: Sequence[str] = (), site: SlurmSite | None = None
    ) -> None:
        super().__init__(plan, site)
        self._plan, self._overrides, self._targets = plan, overrides, targets
        self._settings: dict[str, Settings] | None = None
        self._texts: dict[str, str] = {}
        self.name = plan.config.name

    def pages(self) -> list[Path]:
        """Return the pages that all side packages produce for readers."""
        return [page for package in self.packages.values() for page in package.pages()]

    def stage_command(self, module: str = "reprise.stages") -> str:
        """Return the beginning of every rule's command: this Python and the options that all jobs share.

        No option affects a result; as params they would rerun all jobs. Braces are doubled because Snakemake fills in
        placeholders of the command.
        """
        main = self._plan.config.main
        words: list[object] = [sys.executable, "-m", module, "--config", canonical_json(self._overrides)]
        words += ["--store", main.store]
        words += ["--scratch", main.scratch] if main.scratch else []
        words += ["--attempts", self._plan.config.suite.answer_attempts]
        words += ["--budget", self._plan.budget.usd, self._plan.budget.tokens]
        return f"{shlex.join(map(str, words))} ".replace("{", "{{").replace("}", "}}")

    def wildcards(self) -> Mapping[str, str]:
        """Return the pattern of each wildcard."""
        config = self._plan.config
        return {
            "benchmark": any_of_pattern(config.benchmarks),
            "protocol": any_of_pattern({name for spec in config.benchmarks.values() for name in spec.protocols}),
            "sampling": config.main.pattern,
            "model": any_of_pattern(config.models),
            "judge": any_of_pattern(self._plan.judges()),
            "environment": any_of_pattern(
                model.served_by.environment for model in config.models.values() if model.served_by
            ),
            "shard": r"\d+",
            "partition": PARTITION_NAME.pattern,
            "table": r"table\d+",
            "figure": FIGURE.strip("^$"),
            "clip": r"[^/\s]+",
        }

    def settings(self, name: str) -> Callable[[Any], str]:
        """Return the param of a rule: the settings that affect its output, as one line of JSON."""

        def text(wildcards: Any) -> str:
            return self.settings_text(name.format_map(dict(wildcards.items())))

        return text

    def settings_text(self, name: str) -> str:
        """Return the settings of a job as one line of JSON."""
        if name not in self._texts:
            if self._settings is None:
                self._settings = all_settings(self._plan)
            self._texts[name] = settings_text(name, self._settings[name].model_dump(mode="json"))
        return self._texts[name]

    def log_failures(self) -> None:
        """Log a warning about failed answers."""
        if failed := find_failed_answers(self._plan):
            log.warning(summarize_failures(failed))

    def log_outcome(self) -> None:
        """Log a summary of the finished workflow."""
        self.log_failures()
        for line in summarize_outcome(self._plan, self._targets):
            log.info(line)

"""Connect the Snakemake rules to a suite: provide settings, input paths and resources for the wildcards of a job."""

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from reprise.config.load import load
from reprise.core.errors import UserError, convert_machine_errors
from reprise.core.files import canonical_json, require_write_permission
from reprise.core.log import log
from reprise.core.names import FIGURE, any_of_pattern
from reprise.core.paths import RESULTS, WORKFLOW, settings_name
from reprise.core.settings import Key, Settings
from reprise.core.settings_text import format_settings_line
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
from reprise.plan.site import SlurmSite, check_model_resources, load_site
from reprise.plan.states import summarize_outcome
from reprise.plan.targets import check_profile, check_targets, parse_targets, warn_about_models
from reprise.plan.unrecorded import check_results

STAGES_WITHOUT_SETTINGS = (
    "collected_table", "health", "join_partitions", "judgements", "preview", "serve_environment", "weights",
)  # fmt: skip
"""Stages without settings of their own. A param of their rules has their version."""


class Rules:
    """Hold one object for each file of rules; each has the keys of its stages and the input functions of its rules."""

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
        run_keys = RunKeys(plan)
        for stage in STAGES_WITHOUT_SETTINGS:
            yield stage, run_keys.add_versions(stage, Key())
        rules_of_runs = (self.annotations, self.media, self.inference, self.scores)
        rules_of_pages = (self.tables, self.figures, self.temporal, self.report)
        all_rules = (*rules_of_runs, *rules_of_pages, *self.packages.values())
        for name, settings in chain.from_iterable(rules.stage_keys(run_keys) for rules in all_rules):
            yield name, settings
            # Stages after inference depend only on the fields of RunKey, so they get an entry without other fields.
            if isinstance(settings, RunKey):
                yield settings_name("runs", name), RunKey.model_validate(settings.model_dump())


def all_settings(plan: Plan) -> dict[str, Settings]:
    """Return the settings of every job of a suite by name, such as `frames/velociti/fps1`."""
    return dict(Rules(plan).settings_by_name(plan))


def load_job_settings(config: Mapping[str, Any], name: str) -> Settings:
    """Return the full settings of a job whose command line has digests instead of long values."""
    plan = Plan(load(Path(), dict(config)))
    return next(settings for job_name, settings in Rules(plan).settings_by_name(plan) if job_name == name)


def load_suite(
    overrides: dict[str, Any], arguments: Sequence[str] = (), *, module_name: str | None = None, rules_folder: str = ""
) -> "SuiteRules":
    """Load the configuration, and check it, the command line and existing results before jobs are planned.

    Args:
        overrides: Main settings from `--config`, or from `config:` of the module.
        arguments: Command line of Snakemake.
        module_name: Name of this workflow as a module of another workflow, which may have its own targets.
        rules_folder: Folder of the rule files that call this function.

    Raises:
        UserError: The configuration, the targets or existing results have problems.
    """
    with convert_machine_errors():
        _check_folders(Path(rules_folder).resolve())
        source = "--config" if module_name is None else f"`config:` of module '{module_name}'"
        plan = Plan(load(Path(), overrides, source), is_read_only=True)
        if module_name is not None:
            other_names = [name for name in _MODULES if name != module_name]
            if other_names:
                raise UserError(
                    f"modules '{other_names[0]}' and '{module_name}' are both Reprise, but tables, figures and the "
                    f"report in {RESULTS}/ belong to one suite. Keep one of them here, and run the other from its own "
                    "Snakefile in another working directory (snakemake -d)."
                )
            _MODULES.append(module_name)
        if "--target-jobs" in arguments:  # This Snakemake is a job of another Snakemake, which made all checks.
            return SuiteRules(plan, overrides)
        check_profile(arguments)
        targets = parse_targets(arguments)
        if module_name is None:
            check_targets(plan, targets)
        if site := load_site(arguments):
            check_model_resources(plan, site, targets)
        check_gpus(plan, targets, arguments)
        warn_about_models(plan, targets)
        plan.imports.warn_about_unused_files(plan.selected_models)
        if "--unlock" not in arguments:
            check_results(plan, all_settings(plan), arguments)
        if failed := find_failed_answers(plan):
            log.warning(summarize_failures(failed))
        return SuiteRules(plan, overrides, targets, site)


def _check_folders(rules_folder: Path) -> None:
    """Raise a UserError if rules and library belong to different clones, or the working directory is read-only."""
    require_write_permission(Path())
    if rules_folder.name == "rules" and rules_folder.is_dir() and rules_folder.parents[1] != WORKFLOW:
        raise UserError(
            f"the Snakefile belongs to {rules_folder.parents[1]}, but this Snakemake ({sys.executable}) uses the "
            f"library of {WORKFLOW}. Run the snakemake of the Snakefile's own environment, or use "
            f"{WORKFLOW / 'Snakefile'}."
        )


_MODULES: list[str] = []
"""names under which the current Snakefile imports this workflow as a module"""


class SuiteRules(Rules):
    """Provide the Snakemake rules with the settings, paths and commands of a suite."""

    def __init__(
        self, plan: Plan, overrides: Mapping[str, Any], targets: Sequence[str] = (), site: SlurmSite | None = None
    ) -> None:
        super().__init__(plan, site)
        self._plan, self._overrides, self._targets = plan, overrides, targets
        self._settings_by_name: dict[str, Settings] | None = None
        self._text_by_name: dict[str, str] = {}
        self.name = plan.config.name

    def pages(self) -> list[Path]:
        """Return the pages of statistics of the side packages, which `snakemake all` makes."""
        return [page for package in self.packages.values() for page in package.pages()]

    def stage_command(self, module: str = "reprise.stages") -> str:
        """Return the beginning of every rule's command: the Python executable and the options that all jobs share.

        They are not params, because a change of them would rerun all jobs; settings that affect results are in the
        `params.settings` of each rule. Braces are doubled, because Snakemake replaces placeholders in braces.
        """
        main = self._plan.config.main
        command_words: list[object] = [sys.executable, "-m", module, "--config", canonical_json(self._overrides)]
        command_words += ["--store", main.store]
        command_words += ["--scratch", main.scratch] if main.scratch else []
        command_words += ["--attempts", self._plan.config.suite.answer_attempts]
        command_words += ["--budget", self._plan.budget.usd, self._plan.budget.tokens]
        return f"{shlex.join(map(str, command_words))} ".replace("{", "{{").replace("}", "}}")

    def wildcard_patterns(self) -> Mapping[str, str]:
        """Return the regular expression of each wildcard."""
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
        """Return the function behind a rule's param: the settings that affect the outputs, as one line of JSON.

        `name` may contain wildcards in braces.
        """

        def format_settings(wildcards: Any) -> str:
            return self.settings_text(name.format_map(dict(wildcards.items())))

        return format_settings

    def settings_text(self, name: str) -> str:
        """Return the settings of a job as one line of JSON."""
        if name not in self._text_by_name:
            if self._settings_by_name is None:
                self._settings_by_name = all_settings(self._plan)
            self._text_by_name[name] = format_settings_line(name, self._settings_by_name[name].model_dump(mode="json"))
        return self._text_by_name[name]

    def log_failures(self) -> None:
        """Log a warning about failed answers."""
        if failed := find_failed_answers(self._plan):
            log.warning(summarize_failures(failed))

    def log_outcome(self) -> None:
        """Log a summary of the finished workflow."""
        self.log_failures()
        for line in summarize_outcome(self._plan, self._targets):
            log.info(line)

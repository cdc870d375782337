"""Commands `eval` and `temporal`: write the configuration of a model from a repository or a folder, and run it."""

import sys
from pathlib import Path

from reprise.commands.check import is_checkable_model, is_checkable_run, require_answering_server
from reprise.commands.evaluation_options import EvaluationOptions
from reprise.commands.evaluation_results import show_results
from reprise.commands.model_file import choose_slug, prepare_model
from reprise.commands.module_process import interrupt_on_sigterm, run_module
from reprise.commands.needs import describe_terms
from reprise.commands.output import write_lines
from reprise.commands.pin import pin_files
from reprise.commands.plan import summarize_costs
from reprise.commands.shared import confirm, list_inference_inputs, list_suite_options, load_plan
from reprise.commands.suite_entries import (
    add_to_suite,
    find_sampling,
    list_overview_runs,
    list_profile_runs,
    select_benchmarks,
)
from reprise.config.configuration import limited_suite_name
from reprise.config.edit import copy_to_working_folder, put_item, restore_unless_kept
from reprise.core.errors import UserError
from reprise.core.files import require_free_space, require_writable, require_write_permission
from reprise.core.log import PREVIEW_VARIABLE
from reprise.core.paths import ALL, WORKFLOW
from reprise.plan.runs import Plan
from reprise.plan.targets import has_unpinned_data

INTERRUPTED = "Interrupted. Finished requests are cached; the same command continues."


def evaluate_model(options: EvaluationOptions) -> None:
    """Configure a model, print the runs, jobs and cost of its evaluation, and execute them after a confirmation.

    If the command ends before the first request of the evaluation, the configuration files are restored.
    """
    try:
        with interrupt_on_sigterm():
            _evaluate_model(options)
    except KeyboardInterrupt:
        print(f"\n{INTERRUPTED}", file=sys.stderr)
        raise


def _evaluate_model(options: EvaluationOptions) -> None:
    """Execute the steps of `evaluate_model`."""
    command, suite = options.command, options.suite
    plan = load_plan(suite)
    require_write_permission(Path())
    if options.json_file is not None:
        require_writable(options.json_file, "--json")
    for folder in (Path(), plan.store.root):
        require_free_space(folder)
    if options.limit is not None:
        suite = limited_suite_name(plan.config.full_suite_name, options.limit)
        plan = load_plan(suite)
    if plan.config.suite.baseline is not None:
        raise UserError(
            f"{command}: suite '{plan.config.name}' evaluates a baseline instead of models. Choose another one with "
            "--config suite=<name>."
        )
    benchmarks = select_benchmarks(plan, options)
    write_lines(describe_terms(plan, benchmarks))
    selection = ",".join(benchmarks) if options.benchmarks is not None else None
    samplings = {name: find_sampling(plan, name, options.frames) for name in benchmarks} if options.frames else {}
    slug = choose_slug(options, plan.config.models)
    if slug in plan.config.invalid_models:
        plan.config.require_model(slug, command)
    model_file, suite_file = Path(f"config/models/{slug}.yaml"), Path(plan.config.suite_file)

    def run_snakemake(*arguments: str, is_preview: bool = False) -> None:
        """Run Snakemake for the suite with the GPUs of the model; `plan` is the latest one when it is called."""
        gpus = plan.config.models[slug].gpus
        resources = ["--resources", f"gpu={gpus}"] if gpus else []
        # By default, Snakemake looks for a Snakefile at these two paths.
        is_discoverable = Path("Snakefile").is_file() or Path("workflow/Snakefile").is_file()
        snakefile = [] if is_discoverable else ["--snakefile", str(WORKFLOW / "Snakefile")]
        settings = [f"{name}={value}" for name, value in (("suite", suite), ("benchmarks", selection)) if value]
        config = ["--config", *settings] if settings else []
        words = [*snakefile, *arguments, "--cores", options.cores, *resources, *config]
        run_module(command, "snakemake", *words, environment={PREVIEW_VARIABLE: "1"} if is_preview else None)

    with restore_unless_kept([model_file, suite_file]) as keep_files:
        copy_to_working_folder(plan.config.suite_file)
        prepare_model(options, slug, plan.config.models)
        add_to_suite(plan, slug, suite_file, benchmarks if selection else None, samplings, suite)
        if command == "temporal" and ALL not in plan.config.suite.temporal:
            put_item(suite_file, "temporal", slug, lambda item: item == slug)
        plan = load_plan(suite, selection)
        if any(has_unpinned_data(plan, name) for name in benchmarks):
            pin_files(Path(), [plan.config.full_suite_name], benchmarks=benchmarks)
            plan = load_plan(suite, selection)
        model = plan.config.models[slug]
        runs = list_overview_runs(plan, slug, benchmarks, command)
        pending = [run for run in runs if is_checkable_run(plan, run) and not plan.results.responses(run).is_file()]
        is_checked = bool(pending) and is_checkable_model(model) and not options.no_check
        if is_checked and not options.dry_run:
            require_answering_server(slug, model)
        if not options.dry_run:
            _require_other_servers(plan, slug, suite_file)
        write_lines([f"Configuration: {model_file}, and its entries in {suite_file}. Runs:"])
        run_names = [run.name for run in dict.fromkeys([*runs, *list_profile_runs(plan, slug, command)])]
        write_lines(f"  {name}" for name in run_names)
        run_snakemake("--dry-run", *options.list_targets(plan, slug), is_preview=True)
        needs_profile = command == "temporal"
        scored_runs = plan.temporal_scored_runs([slug]) if needs_profile else plan.overview_scored_runs()
        write_lines(summarize_costs(plan, scored_runs, suite))
        if options.dry_run:
            write_lines(["Nothing was run, and the configuration files are unchanged (--dry-run)."])
            return
        if not options.yes and not sys.stdin.isatty():
            raise UserError(f"{command}: add --yes to run this; without a terminal it cannot be confirmed.")
        if not options.yes and not confirm("Run this?"):
            return
        if is_checked:
            # The check reads existing data and weights.
            data_files = dict.fromkeys(path for run in pending for path in list_inference_inputs(plan, run))
            weights = [plan.results.weights(slug)] if model.repo else []
            run_snakemake(*map(str, [*data_files, *weights]))
            benchmark_options = ["--benchmarks", selection] if selection else []
            run_module(command, "reprise", "check", slug, *list_suite_options(suite), *benchmark_options)
        keep_files()
    run_snakemake(*options.list_targets(plan, slug))
    show_results(options, plan, slug, runs, suite, selection)


def _require_other_servers(plan: Plan, slug: str, suite_file: Path) -> None:
    """Raise a UserError if the server of another model, which the overview would query too, does not answer."""
    pending_models = {
        scored.run.model for scored in plan.overview_scored_runs() if not plan.results.responses(scored.run).is_file()
    }
    for name in sorted(pending_models - {slug}):
        model = plan.config.models[name]
        if not is_checkable_model(model):
            continue
        try:
            require_answering_server(name, model)
        except UserError as error:
            raise UserError(
                f"{error} The overview would query this model too. To leave it out, remove '{name}' from `run:` in "
                f"{suite_file}."
            ) from None

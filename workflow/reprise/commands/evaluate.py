"""Commands `eval` and `temporal`: write the configuration of a model from a repository or a folder, and run it."""

import json
import math
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Literal, NamedTuple

from typer import Exit

from reprise.benchmarks.headline import find_chance
from reprise.commands.check import RefusedModelError, is_checkable_model, is_checkable_run, require_answering_server
from reprise.commands.needs import describe_terms
from reprise.commands.output import write_heading, write_lines, write_table
from reprise.commands.pin import pin_files, resolve_commit
from reprise.commands.served import describe_served_model, is_server_url, normalise_url
from reprise.commands.shared import confirm, is_checkpoint_of, list_inference_inputs, list_suite_options, load_plan
from reprise.commands.show import make_overview_builder, show_tables
from reprise.commands.weights_folder import check_weights, is_path, no_folder_error, suggest_neighbour
from reprise.config.configuration import limited_suite_name
from reprise.config.edit import copy_to_working_folder, put_item, restore_unless_kept
from reprise.config.model import Model
from reprise.config.suite import OverviewLine
from reprise.config.suite_checks import TERMS
from reprise.core.errors import UserError, reject_unknown, suggest_name
from reprise.core.files import require_free_space, require_write_permission, write_text
from reprise.core.log import PREVIEW_VARIABLE, log
from reprise.core.names import SLUG, SLUG_DESCRIPTION, UNPINNED
from reprise.core.paths import ALL, OVERVIEW, WORKFLOW, Run, locate, overview_file, settings_name, temporal_file
from reprise.core.version import VERSION
from reprise.core.yaml_files import dump_yaml
from reprise.models.local.gpus import check_build, get_driver_error, list_visible_gpus, read_installed_build
from reprise.models.local.weights import DAMAGED, WEIGHT_PATTERN
from reprise.models.remote.serving.environment import read_torch_build
from reprise.plan.builds import check_model_gpus
from reprise.plan.repositories import (
    detect_frame_mode,
    fetch_sizes,
    find_folder_differences,
    find_model_differences,
    sum_weights_bytes,
)
from reprise.plan.runs import Plan, run_from_row
from reprise.plan.site import find_executor
from reprise.plan.suite import all_settings
from reprise.plan.targets import has_unpinned_data
from reprise.tables.keys import OverviewKey
from reprise.temporal.findings import summarize_profile
from reprise.temporal.page import list_sentences
from reprise.temporal.profile import TemporalProfile, read_profile
from reprise.temporal.tables import build_tables

FILE_HEADER = "# yaml-language-server: $schema=../schemas/model.schema.json\n# Written by `reprise eval`.\n"

# Weights are loaded into main memory before they are copied to a GPU. A new model gets a `memory_mb` of 1.5 times their
# size, rounded up to full steps.
MB, MEMORY_STEP_MB, MEMORY_MIN_MB, MEMORY_FACTOR = 10**6, 1000, 2000, 1.5


Engine = Literal["transformers", "vllm"]
# Environment and concurrent requests of a model that vLLM serves, as in the files of `config/models/`.
ENVIRONMENT, CONCURRENCY = "serve", 32
# Program that runs a module like `python -m`, but prints no traceback after Ctrl-C.
RUN_QUIETLY = (
    "import runpy, sys; hook = sys.excepthook; "
    "sys.excepthook = lambda kind, *error: kind is KeyboardInterrupt or hook(kind, *error); "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)
INTERRUPTED = "Interrupted. Finished requests are cached; the same command continues."
# Seconds that a subprocess gets to end by itself after Ctrl-C. A second signal could leave Snakemake's lock.
INTERRUPT_TIMEOUT_S = 40.0


class EvaluationOptions(NamedTuple):
    """Arguments of the commands `eval` and `temporal`."""

    model: str
    benchmarks: str | None = None
    frames: str | None = None
    name: str | None = None
    gpus: int | None = None
    limit: int | None = None
    cores: str = "all"
    dry_run: bool = False
    yes: bool = False
    json_file: Path | None = None
    suite: str | None = None
    engine: Engine | None = None
    no_check: bool = False
    # `eval` makes the model's row of the overview; `temporal` makes its temporal profile.
    command: Literal["eval", "temporal"] = "eval"
    served_model: str | None = None

    def list_targets(self, plan: Plan, slug: str) -> list[str]:
        """Return the files that snakemake makes for a model: its overview, or its profile with the runs' metrics.

        A profile needs no metrics, but without them the runs would be listed as incomplete and could not be published.
        """
        if self.command == "eval":
            return [str(overview_file("md"))]
        metrics = [plan.results.metrics(scored) for scored in plan.temporal_scored_runs([slug])]
        return [str(path) for path in (temporal_file(slug, "md"), *metrics)]


def evaluate_model(options: EvaluationOptions) -> None:
    """Configure a model, print the runs and jobs of its evaluation, and execute them after a confirmation.

    If the command ends before the first request of the evaluation, the configuration files are restored.
    """
    try:
        _evaluate_model(options)
    except KeyboardInterrupt:
        print(f"\n{INTERRUPTED}", file=sys.stderr)
        raise


def _evaluate_model(options: EvaluationOptions) -> None:
    """Execute the steps of `evaluate_model`."""
    command, suite = options.command, options.suite
    plan = load_plan(suite)
    require_write_permission(Path())
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
    benchmarks = _select_benchmarks(plan, options)
    write_lines(describe_terms(plan, benchmarks))
    selection = ",".join(benchmarks) if options.benchmarks is not None else None
    samplings = {name: _find_sampling(plan, name, options.frames) for name in benchmarks} if options.frames else {}
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
        _run_module(command, "snakemake", *words, environment={PREVIEW_VARIABLE: "1"} if is_preview else None)

    with restore_unless_kept([model_file, suite_file]) as keep_files:
        copy_to_working_folder(plan.config.suite_file)
        prepare_model(options, slug, plan.config.models)
        _add_to_suite(plan, slug, suite_file, benchmarks if selection else None, samplings, suite)
        if command == "temporal" and ALL not in plan.config.suite.temporal:
            put_item(suite_file, "temporal", slug, lambda item: item == slug)
        plan = load_plan(suite, selection)
        if any(has_unpinned_data(plan, name) for name in benchmarks):
            pin_files(Path(), [plan.config.full_suite_name], benchmarks=benchmarks)
            plan = load_plan(suite, selection)
        model = plan.config.models[slug]
        runs = _list_runs(plan, slug, benchmarks, command)
        pending = [run for run in runs if is_checkable_run(plan, run) and not plan.results.responses(run).is_file()]
        is_checked = bool(pending) and is_checkable_model(model) and not options.no_check
        if is_checked and not options.dry_run:
            require_answering_server(slug, model)
        if not options.dry_run:
            _require_other_servers(plan, slug, suite_file)
        write_lines([f"Configuration: {model_file}, and its entries in {suite_file}. Runs:"])
        run_names = [run.name for run in dict.fromkeys([*runs, *_list_profile_runs(plan, slug, command)])]
        write_lines(f"  {name}" for name in run_names)
        run_snakemake("--dry-run", *options.list_targets(plan, slug), is_preview=True)
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
            _run_module(command, "reprise", "check", slug, *list_suite_options(suite), *benchmark_options)
        keep_files()
    run_snakemake(*options.list_targets(plan, slug))
    _show_results(options, plan, slug, runs, suite, selection)


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


def _run_module(command: str, name: str, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
    """Run a module in a subprocess, whose end releases its memory and GPUs.

    Raises:
        Exit: The module fails.
    """
    sys.stdout.flush()
    words = [sys.executable, "-c", RUN_QUIETLY, name, *arguments]
    process = subprocess.Popen(words, env=os.environ | (environment or {}))
    try:
        code = process.wait()
    except KeyboardInterrupt:
        # Ctrl-C reaches the subprocess too. It ends by itself, so that Snakemake releases its lock.
        with suppress(subprocess.TimeoutExpired):
            process.wait(INTERRUPT_TIMEOUT_S)
        if process.poll() is None:  # Only this process received the signal.
            process.send_signal(signal.SIGINT)
            process.wait()
        raise
    if code:  # The module has printed its error.
        is_refused = code == RefusedModelError.exit_code and name == "reprise"
        log.warning(
            f"reprise {command} --no-check runs it without the check."
            if is_refused
            else f"reprise {command}: after a correction, the same command continues."
        )
        raise Exit(1)


def _show_results(
    options: EvaluationOptions, plan: Plan, slug: str, runs: Sequence[Run], suite: str | None, selection: str | None
) -> None:
    """Show the model's temporal profile or the overview, and write the numbers of `--json`."""
    if options.command == "temporal":
        _show_profile(read_profile(temporal_file(slug, "json")))
        write_lines([f"Temporal profile: {temporal_file(slug, 'html')}"])
        return
    show_tables(OVERVIEW, suite, selection)
    if options.json_file is not None:
        key = all_settings(plan)[settings_name("tables", OVERVIEW)]
        assert isinstance(key, OverviewKey)
        builder, run_names = make_overview_builder(plan, key), {run.name for run in runs}
        builder.build()
        rows = [row for row in builder.tidy_rows if row.get("run") in run_names]
        numbers = [row | {"chance": _find_chance(plan, row)} for row in rows]
        json_content = {"reprise": VERSION, "numbers": numbers}
        write_text(options.json_file, json.dumps(json_content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    for run in runs:
        overview = plan.config.tables[run.benchmark].overview
        if overview is not None and overview.table is not None:
            call = ["reprise", "show", f"{run.benchmark}/{overview.table}", *list_suite_options(suite)]
            write_lines([f"With all rows of the paper: {' '.join(call)}"])


def _show_profile(profile: TemporalProfile) -> None:
    """Print the sentences and the tables of a temporal profile."""
    write_heading(f"Temporal profile of {profile.title}")
    write_lines(["", summarize_profile(profile), *(f"- {sentence}" for sentence in list_sentences(profile)), ""])
    for table in build_tables(profile):
        write_table(table)


def _find_chance(plan: Plan, row: Mapping[str, Any]) -> float | None:
    """Return the chance level of a number, or None if it depends on the data or is unknown."""
    run = Run.parse(row["run"])
    form = plan.config.benchmarks[run.benchmark].protocols[run.protocol].form
    return find_chance(run.benchmark, form, row["metric"], row["group"])


# --- benchmarks and samplings ----------------------------------------------------------------------------------------


def _select_benchmarks(plan: Plan, options: EvaluationOptions) -> list[str]:
    """Return the benchmarks of `--benchmarks`, by default all benchmarks of the overview."""
    supported = [name for name, tables in plan.config.tables.items() if tables.overview is not None]
    names = supported if options.benchmarks is None else options.benchmarks.split(",")
    reject_unknown("benchmark", names, supported, "--benchmarks")
    if not supported:
        raise UserError(
            f"{options.command}: no tables of suite '{plan.config.name}' have an `overview:`, which defines the runs."
        )
    return [name for name in supported if name in names]


def _find_sampling(plan: Plan, benchmark: str, frames: str) -> str:
    """Return the sampling of `--frames`: its name, or a number of frames for the rule of the benchmark's other models.

    If this rule does not select a fixed number of frames, rule `linspace` takes its place.
    """
    samplings, overview = plan.config.main.samplings, plan.config.tables[benchmark].overview
    if frames in samplings:
        return frames
    if not frames.isdecimal():
        raise UserError(f"--frames: {' '.join(plan.config.main.sampling_problems(frames))}")
    if int(frames) == 0:
        raise UserError(
            "--frames: 0 frames show no video. `--frames none` evaluates text-only answers, and `reprise temporal` "
            "compares them with the answers about the video."
        )
    assert overview is not None
    default_rule = samplings[overview.sampling]
    base_rule = default_rule if "frames" in default_rule else {"rule": "linspace"}
    rule: dict[str, Any] = base_rule | {"frames": int(frames)}
    for name, sampling in samplings.items():
        if sampling == rule:
            return name
    raise UserError(
        f"--frames: no sampling selects {frames} frames by rule {rule['rule']}, which {benchmark} uses. Add one to "
        f"`samplings:` in config/config.yaml: {rule['rule']}{frames}: {{rule: {rule['rule']}, frames: {frames}}}"
    )


def _add_to_suite(
    plan: Plan, slug: str, file: Path, benchmarks: Sequence[str] | None, samplings: dict[str, str], suite: str | None
) -> None:
    """Add the model to `run:` and `overview:` of the suite; an existing line is extended."""

    def is_of_model(line: Any) -> bool:
        return (OverviewLine.model_validate(line).model if isinstance(line, dict) else str(line)) == slug

    lines = {line.model: line for line in plan.config.suite.overview_lines()}
    new_line = OverviewLine(model=slug, benchmarks=list(benchmarks) if benchmarks else None, samplings=samplings)
    line = lines[slug].extend(benchmarks, samplings) if slug in lines else new_line
    put_item(file, OVERVIEW, line.to_entry(), is_of_model, is_first=True)
    if slug not in load_plan(suite).selected_models:
        put_item(file, "run", slug, lambda item: item == slug)


def _list_runs(plan: Plan, slug: str, benchmarks: Sequence[str], command: str) -> list[Run]:
    """Return the model's run of each benchmark in the overview.

    Raises:
        UserError: A run cannot run, for example because its judge is not selected.
    """
    runs = []
    for benchmark in benchmarks:
        row = next(row for row in plan.overview_specs[benchmark].rows() if row.model == slug)
        run = run_from_row(benchmark, row)
        assert run is not None
        if plan.find_scored_run(benchmark, row) is None:
            raise UserError(
                f"{command}: {run.name} cannot run: {plan.explain_skipped_run(run)} List a judge in `judges:` and in "
                "`run:`, or leave the benchmark out with --benchmarks."
            )
        runs.append(run)
    return runs


def _list_profile_runs(plan: Plan, slug: str, command: str) -> list[Run]:
    """Return the runs of the model's temporal profile; none for `eval`."""
    if command != "temporal":
        return []
    if slug not in plan.temporal_profiles:
        raise UserError(f"temporal: '{slug}' receives no frames in {', '.join(plan.config.benchmarks)}.")
    return [scored.run for scored in plan.temporal_scored_runs([slug])]


# --- the model's file ------------------------------------------------------------------------------------------------


def choose_slug(options: EvaluationOptions, models: Mapping[str, Model]) -> str:
    """Return the slug of a model: that of an existing file with the same weights, or a new one."""
    source = options.model
    matches = [
        slug
        for slug, model in models.items()
        if source == slug
        or (source == model.repo and options.engine in (None, _get_engine(model)))
        or (is_server_url(source) and _is_at_server(options, model))
    ]
    if matches and options.name is None and not locate(source).is_dir():
        return matches[0]
    if is_server_url(source) and options.name is None:
        source = describe_served_model(source, options.served_model)["label"]
    slug = options.name or re.sub(r"[^a-z0-9._-]+", "-", Path(source).name.lower()).strip("-._")
    if options.name is None and options.engine == "vllm":  # A file for the same weights with transformers may exist.
        slug += "-vllm"
    if not re.fullmatch(SLUG, slug) or slug in TERMS:
        reason = (
            "has a meaning in `run:` of suites"
            if slug in TERMS
            else f"is not a valid name. Allowed: {SLUG_DESCRIPTION}"
        )
        raise UserError(f"{options.command}: '{slug}' {reason}. Choose another one with --name.")
    return slug


def prepare_model(options: EvaluationOptions, slug: str, models: Mapping[str, Model]) -> None:
    """Write or check the model's file, pin its revision, and check its checkpoint without loading weights."""
    source, file, existing_model = options.model, Path(f"config/models/{slug}.yaml"), models.get(slug)
    if existing_model is not None:
        _check_existing_model(options, slug, file, existing_model)
        return
    if is_server_url(source):
        write_text(file, FILE_HEADER + dump_yaml(describe_served_model(source, options.served_model)))
        return
    is_served, gpu_count = options.engine == "vllm", _choose_gpu_count(options, file)
    settings, sizes = _describe_model(options, file, gpu_count, models)
    model = Model.model_validate(settings)
    frame_modes: list[str] = []  # How a served model takes frames: one entry, once its folder is checked.

    def check_folder(model: Model, folder: Path) -> list[str]:
        differences = find_folder_differences(model, folder)
        if is_served and not differences:
            frame_modes.append(detect_frame_mode(model, folder))
        return differences

    problems = list(
        find_model_differences(file, model, str(model.revision), sizes, check_folder)
        if model.repo
        else check_folder(model, locate(source))
    )
    if problems:
        is_damaged = any(DAMAGED in problem for problem in problems)
        advice = (
            ""
            if is_damaged
            else " For a model with its own code see docs/howto/import-answers.md; for one that only vLLM supports, "
            "docs/howto/servers.md."
        )
        raise UserError(f"{options.command}: {source} cannot be loaded: {' '.join(problems)}{advice}")
    if is_served:
        adapter_settings = {"frames": frame_modes[0], "concurrency": CONCURRENCY}
        settings |= {"adapter": "openai", "served_by": options.engine, "settings": adapter_settings}
    write_text(file, FILE_HEADER + dump_yaml(settings))


def _choose_gpu_count(options: EvaluationOptions, file: Path) -> int:
    """Return the number of GPUs of a new model: that of `--gpus`, or one if this machine has GPUs.

    Raises:
        UserError: The model needs a GPU and gets none, or this machine runs its jobs and cannot use the GPUs.
    """
    gpu_count = options.gpus if options.gpus is not None else int(bool(list_visible_gpus()))
    driver_error = get_driver_error() if options.gpus is None and not gpu_count else ""
    is_served = options.engine == "vllm"
    if is_served and not gpu_count:
        note = f" ({driver_error})" if driver_error else ""
        raise UserError(
            f"{options.command}: --engine vllm needs a GPU, and this machine has none{note}. For another machine, give "
            "their number with --gpus; for a test on CPUs see docs/howto/servers.md."
        )
    if driver_error:
        log.warning(f"{file}: gpus: 0, since nvidia-smi lists no GPU: {driver_error}")
    if find_executor([]) is None:  # Jobs run on this machine.
        try:
            check_build(read_torch_build(ENVIRONMENT) if is_served else read_installed_build(), gpu_count)
        except UserError as error:
            raise UserError(f"{options.command}: --gpus {gpu_count}: {error}") from None
    return gpu_count


def _check_existing_model(options: EvaluationOptions, slug: str, file: Path, model: Model) -> None:
    """Check that the file of a model agrees with the options of the command, and pin its revision."""
    source = options.model
    is_same = _is_at_server(options, model) if is_server_url(source) else is_checkpoint_of(source, model)
    if source not in (slug, model.repo) and not is_same:
        location = model.checkpoint or model.repo or model.settings.get("url") or "no weights"
        raise UserError(f"{file}: belongs to another model ({location}). Choose another name with --name.")
    if model.checkpoint and not model.files:
        check_weights(options.command, model.checkpoint)
    if options.engine not in (None, _get_engine(model)):
        raise UserError(
            f"{file}: its engine is not {options.engine}. Leave --engine out, or name the model's repository or "
            f"folder ({model.repo or model.checkpoint or 'it has no weights'}), which gets a new file."
        )
    if find_executor([]) is None:  # Jobs run on this machine.
        check_model_gpus(slug, model)
    if options.gpus not in (None, model.gpus):
        raise UserError(f"{file}: gpus: is {model.gpus}. Change it in the file, or leave --gpus out.")
    if model.revision == UNPINNED:
        pin_files(Path(), [slug])


def _is_at_server(options: EvaluationOptions, model: Model) -> bool:
    """Return whether a model's file describes the model at the server that the command names."""
    url, name = str(model.settings.get("url", "")), model.settings.get("model")
    return url.rstrip("/") == normalise_url(options.model) and options.served_model in (None, name)


def _get_engine(model: Model) -> str:
    """Return the engine of a model as in `--engine`: that of its server, or its adapter."""
    return model.served_by.engine if model.served_by else model.adapter


def _suggest_model(source: str, models: Mapping[str, Model]) -> str:
    """Return ` Did you mean 'x'?` with the closest model, repository or neighbouring folder; empty if none is close."""
    path = Path(source)
    if len(path.parts) > 1 and locate(path.parent).is_dir():
        return suggest_neighbour(path)
    repositories = {model.repo for model in models.values() if model.repo}
    return suggest_name(source, [*models, *sorted(repositories)]) or suggest_neighbour(path)


def _describe_model(
    options: EvaluationOptions, file: Path, gpu_count: int, models: Mapping[str, Model]
) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the settings for the model's file, and name -> size in bytes of the files in its folder or repository."""
    folder, source = locate(options.model), options.model
    location: dict[str, str | int]
    if folder.is_file():
        raise UserError(f"{options.command}: '{source}' is a file. Name the folder of the checkpoint: {folder.parent}")
    if folder.is_dir():
        sizes = {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}
        location = {"checkpoint": str(Path(source))}
        check_weights(options.command, source)
    elif is_path(source):
        raise no_folder_error(options.command, source)
    elif re.fullmatch(r"[\w.-]+/[\w.-]+", source):
        try:
            revision = resolve_commit(source, "model", file)
        except UserError as error:
            raise UserError(f"{error}{_suggest_model(source, models)}") from error
        sizes = dict(fetch_sizes("model", source, revision))
        location = {"repo": source, "revision": revision, "weights_bytes": sum_weights_bytes(sizes)}
    else:
        hint = _suggest_model(source, models)
        raise UserError(
            f"{options.command}: '{source}' is neither a folder nor a repository of the hub (<owner>/<name>) nor a "
            f"server's address (http://...).{hint} Name a model that has a file in config/models/ by that file."
        )
    min_memory_mb = MEMORY_FACTOR * sum(size for name, size in sizes.items() if fnmatch(name, WEIGHT_PATTERN)) / MB
    memory_mb = max(MEMORY_MIN_MB, MEMORY_STEP_MB * math.ceil(min_memory_mb / MEMORY_STEP_MB))
    resources = (
        {"gpus": gpu_count, "memory_mb": memory_mb, "dtype": "checkpoint"} if gpu_count else {"memory_mb": memory_mb}
    )
    return {"label": folder.name, "adapter": "transformers", **location, **resources}, sizes

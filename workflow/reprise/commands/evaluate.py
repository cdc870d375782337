"""Command `eval`: evaluate a model from a repository or a weights folder, by writing the usual configuration files."""

import json
import math
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Literal, NamedTuple

import typer

from reprise.commands.check import is_checked, sees_frames
from reprise.commands.pin import pin_files, resolve_commit
from reprise.commands.shared import data_of, plan_of
from reprise.commands.show import overview_of, show_tables
from reprise.config.configuration import part_name
from reprise.config.edit import own_copy, put_item
from reprise.config.model import Model
from reprise.config.suite import OverviewLine
from reprise.core.errors import UserError, refuse_unknown
from reprise.core.files import write_text
from reprise.core.log import log
from reprise.core.names import SLUG, SLUG_IN_WORDS, UNPINNED
from reprise.core.paths import ALL, OVERVIEW, WORKFLOW, Run, overview_file, settings_name, time_file
from reprise.core.version import VERSION
from reprise.core.yaml_files import dump_yaml
from reprise.models.local.gpus import check_build, driver_failure, installed_build, visible_gpus
from reprise.models.local.weights import WEIGHTS
from reprise.models.remote.serving.environment import build_of
from reprise.plan.builds import check_model_gpus
from reprise.plan.repositories import folder_differences, frames_of, model_differences, sizes_of, weights_bytes
from reprise.plan.runs import Plan, run_of
from reprise.plan.site import executor_of
from reprise.plan.suite import all_settings
from reprise.plan.targets import has_unpinned_data
from reprise.tables.keys import OverviewKey

HEAD = "# yaml-language-server: $schema=../schemas/model.schema.json\n# Written by `reprise eval`.\n"

# Weights pass through main memory on their way to a GPU, so it is 1.5 times their size, rounded up to full steps.
MB, MEMORY_STEP_MB, MEMORY_MIN_MB, MEMORY_FACTOR = 10**6, 1000, 2000, 1.5


Engine = Literal["transformers", "vllm"]
# The environment of a model that vLLM serves, and its number of concurrent requests, as in the shipped files.
ENVIRONMENT, CONCURRENCY = "serve", 32


class Order(NamedTuple):
    """The arguments of the commands `eval` and `time`."""

    model: str
    benchmarks: str | None = None
    frames: str | None = None
    name: str | None = None
    gpus: int | None = None
    limit: int | None = None
    cores: str = "all"
    dry_run: bool = False
    yes: bool = False
    numbers: Path | None = None
    suite: str | None = None
    engine: Engine | None = None
    # `eval` makes the model's row of the overview, `time` its temporal profile (`card of time`).
    command: Literal["eval", "time"] = "eval"

    def target(self, slug: str) -> str:
        return str(time_file(slug, "md") if self.command == "time" else overview_file("md"))


def evaluate_model(order: Order) -> None:
    """Print the plan of a model's evaluation and run it; without a confirmation, restore the configuration files."""
    command, suite = order.command, order.suite
    plan = plan_of(suite)
    if order.limit is not None:
        suite = part_name(plan.config.whole, order.limit)
        plan = plan_of(suite)
    if plan.config.suite.stand_in is not None:
        raise UserError(
            f"{command}: suite '{plan.config.name}' asks a stand-in and no model. Name another one by --suite."
        )
    benchmarks = _benchmarks(plan, order)
    samplings = {name: _sampling(plan, name, order.frames) for name in benchmarks} if order.frames else {}
    slug = slug_for(order, plan.config.models)
    files = Path(f"config/models/{slug}.yaml"), Path(plan.config.file)
    original_texts = {file: file.read_text(encoding="utf-8") if file.is_file() else None for file in files}
    is_confirmed = False

    def snakemake(*arguments: str) -> None:
        gpus = plan.config.models[slug].gpus
        resources = ["--resources", f"gpu={gpus}"] if gpus else []
        # Snakemake itself looks for a Snakefile in these two places.
        is_discoverable = Path("Snakefile").is_file() or Path("workflow/Snakefile").is_file()
        snakefile = [] if is_discoverable else ["--snakefile", str(WORKFLOW / "Snakefile")]
        suite_option = ["--config", f"suite={suite}"] if suite else []
        _run_module(command, "snakemake", *snakefile, *arguments, "--cores", order.cores, *resources, *suite_option)

    try:
        own_copy(plan.config.file)
        prepare_model(order, slug, plan.config.models)
        _put_lines(plan, slug, files[1], benchmarks if order.benchmarks else None, samplings, suite)
        if command == "time" and ALL not in plan.config.suite.time:
            put_item(files[1], "time", slug, lambda entry: entry == slug)
        plan = plan_of(suite)
        if any(has_unpinned_data(plan, name) for name in benchmarks):
            pin_files(Path(), [plan.config.whole])
            plan = plan_of(suite)
        runs = _runs(plan, slug, benchmarks, command)
        profile_runs = [scored.run for scored in plan.time_scored([slug])] if command == "time" else []
        print(f"{files[0]}, and what names it in {files[1]}; runs:")
        print("\n".join(f"  {run.name}" for run in dict.fromkeys([*runs, *profile_runs])))
        snakemake("--dry-run", order.target(slug))
        if order.dry_run:
            print("The files of the configuration are as before (--dry-run).")
            return
        if not order.yes and not sys.stdin.isatty():
            raise UserError(f"{command}: add --yes to run this; nobody can be asked here.")
        is_confirmed = order.yes or typer.confirm("Run this?")
    finally:
        if not is_confirmed:
            for file, text in original_texts.items():
                if text is None:
                    file.unlink(missing_ok=True)
                elif file.read_text(encoding="utf-8") != text:
                    write_text(file, text)
    if is_confirmed:
        _execute(order, plan, slug, runs, suite, snakemake)


def _run_module(command: str, name: str, *arguments: str) -> None:
    """Run a module in a subprocess, which releases its memory and GPUs at its end; raise a UserError if it fails."""
    sys.stdout.flush()
    if subprocess.run([sys.executable, "-m", name, *arguments], check=False).returncode:
        raise UserError(
            f"{command}: {name} ended with an error, see above. The same command goes on when it is corrected."
        )


def _execute(
    order: Order, plan: Plan, slug: str, runs: Sequence[Run], suite: str | None, snakemake: Callable[..., None]
) -> None:
    model = plan.config.models[slug]
    pending = [run for run in runs if is_checked(plan, run) and not plan.results.responses(run).is_file()]
    checked = pending if sees_frames(model) else []
    if checked:  # query a few requests before the full run
        data_files = dict.fromkeys(path for run in checked for path in data_of(plan, run))
        weights = [plan.results.weights(slug)] if model.repo else []
        snakemake(*map(str, [*data_files, *weights]))
        _run_module(order.command, "reprise", "check", slug, *(["--suite", suite] if suite else []))
    snakemake(order.target(slug))
    if order.command == "time":
        print(Path(order.target(slug)).read_text(encoding="utf-8"))
        print(f"The card: {time_file(slug, 'html')}")
        return
    show_tables(OVERVIEW, suite)
    if order.numbers is not None:
        key = all_settings(plan)[settings_name("tables", OVERVIEW)]
        assert isinstance(key, OverviewKey)
        builder, names = overview_of(plan, key), {run.name for run in runs}
        builder.table()
        content = {"reprise": VERSION, "numbers": [row for row in builder.tidy if row.get("run") in names]}
        write_text(order.numbers, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    for run in runs:
        overview = plan.config.tables[run.benchmark].overview
        if overview is not None and overview.table is not None:
            suite_option = f" --suite {suite}" if suite else ""
            print(f"Beside all rows of the paper: reprise show {run.benchmark}/{overview.table}{suite_option}")


# --- benchmarks and samplings ----------------------------------------------------------------------------------------


def _benchmarks(plan: Plan, order: Order) -> list[str]:
    supported = [name for name, tables in plan.config.tables.items() if tables.overview is not None]
    names = order.benchmarks.split(",") if order.benchmarks else supported
    refuse_unknown("benchmark", names, supported, "--benchmarks")
    if not supported:
        raise UserError(
            f"{order.command}: no tables of suite '{plan.config.name}' have an `overview:`, which says what is asked."
        )
    return [name for name in supported if name in names]


def _sampling(plan: Plan, benchmark: str, frames: str) -> str:
    """Return the sampling with this number of frames and the rule of the benchmark's other models."""
    samplings, overview = plan.config.main.samplings, plan.config.tables[benchmark].overview
    if frames in samplings:
        return frames
    if not frames.isdecimal():
        raise UserError(f"--frames: {' '.join(plan.config.main.sampling_problems(frames))}")
    assert overview is not None
    default = samplings[overview.sampling]
    rule: dict[str, Any] = (default if "frames" in default else {"rule": "linspace"}) | {"frames": int(frames)}
    for name, sampling in samplings.items():
        if sampling == (rule if int(frames) else {"rule": "none"}):
            return name
    raise UserError(
        f"--frames: no sampling shows {frames} frames by rule {rule['rule']}, which {benchmark} has. Add one to "
        f"`samplings:` in config/config.yaml: {rule['rule']}{frames}: {{rule: {rule['rule']}, frames: {frames}}}"
    )


def _put_lines(
    plan: Plan, slug: str, file: Path, benchmarks: Sequence[str] | None, samplings: dict[str, str], suite: str | None
) -> None:
    """Add the model to the suite's runs and overview; an existing line is extended."""

    def is_of_model(line: Any) -> bool:
        return (OverviewLine.model_validate(line).model if isinstance(line, dict) else str(line)) == slug

    lines = {line.model: line for line in plan.config.suite.overview_lines()}
    new_line = OverviewLine(model=slug, benchmarks=list(benchmarks) if benchmarks else None, samplings=samplings)
    line = lines[slug].with_more(benchmarks, samplings) if slug in lines else new_line
    put_item(file, OVERVIEW, line.as_written(), is_of_model)
    if slug not in plan_of(suite).models:
        put_item(file, "run", slug, lambda entry: entry == slug)


def _runs(plan: Plan, slug: str, benchmarks: Sequence[str], command: str) -> list[Run]:
    runs = []
    for benchmark in benchmarks:
        row = next(row for row in plan.overview[benchmark].rows() if row.model == slug)
        run = run_of(benchmark, row)
        assert run is not None
        if plan.scored(benchmark, row) is None:
            raise UserError(
                f"{command}: {run.name} cannot be made: {plan.why_idle(run)} A judge stands in `judges:` and in "
                "`run:`; `--benchmarks` leaves a benchmark out."
            )
        runs.append(run)
    return runs


# --- the model's file ------------------------------------------------------------------------------------------------


def slug_for(order: Order, models: Mapping[str, Model]) -> str:
    """Return the name of the file of a model: an existing file with the same weights, or a new one."""
    source = order.model
    matches = [
        slug
        for slug, model in models.items()
        if source == slug or (source == model.repo and order.engine in (None, _engine_of(model)))
    ]
    if matches and order.name is None and not Path(source).is_dir():
        return matches[0]
    slug = order.name or re.sub(r"[^a-z0-9._-]+", "-", Path(source).name.lower()).strip("-._")
    if order.name is None and order.engine == "vllm":  # A file for the same weights with transformers may exist.
        slug += "-vllm"
    if not re.fullmatch(SLUG, slug):
        raise UserError(
            f"{order.command}: '{slug}' cannot be a name. Allowed: {SLUG_IN_WORDS}. Say another one by --name."
        )
    return slug


def prepare_model(order: Order, slug: str, models: Mapping[str, Model]) -> None:
    """Write or check the model's file, with a pinned revision and a checked checkpoint; no weights are loaded."""
    source, file, existing = order.model, Path(f"config/models/{slug}.yaml"), models.get(slug)
    is_run_here = executor_of([]) is None
    if existing is not None:
        if source not in (slug, existing.repo) and Path(source) != Path(existing.checkpoint or ""):
            raise UserError(
                f"{file}: is there, and is of another model ({existing.checkpoint or existing.repo or 'no weights'}). "
                "Say another name by --name."
            )
        if order.engine not in (None, _engine_of(existing)):
            raise UserError(
                f"{file}: is not asked by {order.engine}. Leave --engine out, or name the model's repository or folder "
                f"({existing.repo or existing.checkpoint or 'it has no weights'}), which gets a file of its own."
            )
        if is_run_here:
            check_model_gpus(slug, existing)
        if order.gpus not in (None, existing.gpus):
            raise UserError(f"{file}: gpus: is {existing.gpus}. Change it there, or leave --gpus out.")
        if existing.revision == UNPINNED:
            pin_files(Path(), [slug])
        return
    count = order.gpus if order.gpus is not None else int(bool(visible_gpus()))
    failure = driver_failure() if order.gpus is None and not count else ""
    is_served = order.engine == "vllm"
    if is_served and not count:
        note = f" ({failure})" if failure else ""
        raise UserError(
            f"{order.command}: --engine vllm needs a GPU, and this machine has none{note}. For a machine that has, say "
            "how many by --gpus; for a try on processors see docs/howto/servers.md."
        )
    if failure:
        log.warning(f"{file}: gpus: 0, since nvidia-smi lists no GPU: {failure}")
    if is_run_here:
        try:
            check_build(build_of(ENVIRONMENT) if is_served else installed_build(), count)
        except UserError as error:
            raise UserError(f"{order.command}: --gpus {count}: {error}") from None
    content, sizes = _description(order, file, count)
    model = Model.model_validate(content)
    frames: list[str] = []

    def check_folder(model: Model, folder: Path) -> list[str]:
        differences = folder_differences(model, folder)
        if is_served and not differences:
            frames.append(frames_of(model, folder))
        return differences

    problems = list(
        model_differences(file, model, str(model.revision), sizes, check_folder)
        if model.repo
        else check_folder(model, Path(source))
    )
    if problems:
        raise UserError(
            f"{order.command}: {source} cannot be asked by the adapter transformers:\n  "
            + "\n  ".join(problems)
            + "\nA model that lives in a repository of its own is asked there, and its answers are imported "
            "(docs/howto/import-answers.md); one that vLLM serves and transformers does not have gets its file by hand "
            "(docs/howto/servers.md)."
        )
    if is_served:
        settings = {"frames": frames[0], "concurrency": CONCURRENCY}
        content |= {"adapter": "openai", "served_by": order.engine, "settings": settings}
    write_text(file, HEAD + dump_yaml(content))


def _engine_of(model: Model) -> str:
    return model.served_by.engine if model.served_by else model.adapter


def _description(order: Order, file: Path, count: int) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the content of the model's file and the sizes of its weights files."""
    folder, source = Path(order.model), order.model
    location: dict[str, str | int]
    if folder.is_dir():
        sizes = {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}
        location = {"checkpoint": str(folder)}
        if not any(fnmatch(name, WEIGHTS) for name in sizes):
            names = ", ".join(sorted(sizes)) or "nothing"
            raise UserError(f"{order.command}: '{source}' holds no weights ({WEIGHTS}). Found: {names}.")
    elif re.fullmatch(r"[\w.-]+/[\w.-]+", source):
        revision = resolve_commit(source, "model", file)
        sizes = dict(sizes_of("model", source, revision))
        location = {"repo": source, "revision": revision, "weights_bytes": weights_bytes(sizes)}
    else:
        raise UserError(
            f"{order.command}: '{source}' is no folder, and no repository of the hub, which is named <owner>/<name>. "
            "A model with a file in config/models/ is named by that file."
        )
    memory_need = MEMORY_FACTOR * sum(size for name, size in sizes.items() if fnmatch(name, WEIGHTS)) / MB
    memory = max(MEMORY_MIN_MB, MEMORY_STEP_MB * math.ceil(memory_need / MEMORY_STEP_MB))
    resources = {"gpus": count, "memory_mb": memory, "dtype": "checkpoint"} if count else {"memory_mb": memory}
    return {"label": folder.name, "adapter": "transformers", **location, **resources}, sizes

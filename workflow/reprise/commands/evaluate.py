"""`eval`: from a repository or a folder of weights to a row of the overview; what it writes is what a person would."""

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

# Main memory beside the weights, which pass through it: half as much again, in steps of this.
MB, MEMORY_STEP_MB, MEMORY_LEAST_MB, MEMORY_TIMES = 10**6, 1000, 2000, 1.5


Engine = Literal["transformers", "vllm"]
# Of a model that vLLM serves: requests on their way at a time, as in the files that are shipped.
ENVIRONMENT, CONCURRENCY = "serve", 32


class Order(NamedTuple):
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
    command: Literal["eval", "time"] = "eval"  # which make the model's row of the overview, and its card of time

    def target(self, slug: str) -> str:
        return str(time_file(slug, "md") if self.command == "time" else overview_file("md"))


def evaluate_model(order: Order) -> None:
    """Evaluate a model; the plan is shown before anything runs, and where it ends there the files are as before."""
    command, suite = order.command, order.suite
    plan = plan_of(suite)
    if order.limit is not None:
        suite = part_name(plan.config.whole, order.limit)
        plan = plan_of(suite)
    if plan.config.suite.stand_in is not None:
        raise UserError(
            f"{command}: suite '{plan.config.name}' asks a stand-in and no model. Name another one by --suite."
        )
    asked = _asked_benchmarks(plan, order)
    samplings = {name: _sampling(plan, name, order.frames) for name in asked} if order.frames else {}
    slug = slug_for(order, plan.config.models)
    files = Path(f"config/models/{slug}.yaml"), Path(plan.config.file)
    before = {file: file.read_text(encoding="utf-8") if file.is_file() else None for file in files}
    is_wanted = False

    def snakemake(*arguments: str) -> None:
        gpus = plan.config.models[slug].gpus
        resources = ["--resources", f"gpu={gpus}"] if gpus else []
        is_found = Path("Snakefile").is_file() or Path("workflow/Snakefile").is_file()  # by Snakemake itself
        snakefile = [] if is_found else ["--snakefile", str(WORKFLOW / "Snakefile")]
        of_suite = ["--config", f"suite={suite}"] if suite else []
        _run_module(command, "snakemake", *snakefile, *arguments, "--cores", order.cores, *resources, *of_suite)

    try:
        own_copy(plan.config.file)
        prepare_model(order, slug, plan.config.models)
        _put_lines(plan, slug, files[1], asked if order.benchmarks else None, samplings, suite)
        if command == "time" and ALL not in plan.config.suite.time:
            put_item(files[1], "time", slug, lambda one: one == slug)
        plan = plan_of(suite)
        if any(has_unpinned_data(plan, name) for name in asked):
            pin_files(Path(), [plan.config.whole])
            plan = plan_of(suite)
        runs = _runs(plan, slug, asked, command)
        of_card = [one.run for one in plan.time_scored([slug])] if command == "time" else []
        print(f"{files[0]}, and what names it in {files[1]}; runs:")
        print("\n".join(f"  {run.name}" for run in dict.fromkeys([*runs, *of_card])))
        snakemake("--dry-run", order.target(slug))
        if order.dry_run:
            print("The files of the configuration are as before (--dry-run).")
            return
        if not order.yes and not sys.stdin.isatty():
            raise UserError(f"{command}: add --yes to run this; nobody can be asked here.")
        is_wanted = order.yes or typer.confirm("Run this?")
    finally:
        if not is_wanted:
            for file, text in before.items():
                if text is None:
                    file.unlink(missing_ok=True)
                elif file.read_text(encoding="utf-8") != text:
                    write_text(file, text)
    if is_wanted:
        _make(order, plan, slug, runs, suite, snakemake)


def _run_module(command: str, name: str, *arguments: str) -> None:
    """Run a program in a process of its own, which gives back its memory and its GPUs; a UserError if it fails."""
    sys.stdout.flush()
    if subprocess.run([sys.executable, "-m", name, *arguments], check=False).returncode:
        raise UserError(
            f"{command}: {name} ended with an error, see above. The same command goes on when it is corrected."
        )


def _make(
    order: Order, plan: Plan, slug: str, runs: Sequence[Run], suite: str | None, snakemake: Callable[..., None]
) -> None:
    model = plan.config.models[slug]
    due = [run for run in runs if is_checked(plan, run) and not plan.results.responses(run).is_file()]
    checked = due if sees_frames(model) else []
    if checked:  # a few questions before all are asked
        needed = dict.fromkeys(path for run in checked for path in data_of(plan, run))
        weights = [plan.results.weights(slug)] if model.repo else []
        snakemake(*map(str, [*needed, *weights]))
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
        found = {"reprise": VERSION, "numbers": [row for row in builder.tidy if row.get("run") in names]}
        write_text(order.numbers, json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    for run in runs:
        main = plan.config.tables[run.benchmark].overview
        if main is not None and main.table is not None:
            named = f" --suite {suite}" if suite else ""
            print(f"Beside all rows of the paper: reprise show {run.benchmark}/{main.table}{named}")


# --- what is asked ---------------------------------------------------------------------------------------------------


def _asked_benchmarks(plan: Plan, order: Order) -> list[str]:
    able = [name for name, tables in plan.config.tables.items() if tables.overview is not None]
    names = order.benchmarks.split(",") if order.benchmarks else able
    refuse_unknown("benchmark", names, able, "--benchmarks")
    if not able:
        raise UserError(
            f"{order.command}: no tables of suite '{plan.config.name}' have an `overview:`, which says what is asked."
        )
    return [name for name in able if name in names]


def _sampling(plan: Plan, benchmark: str, frames: str) -> str:
    """The sampling that shows so many frames, by the rule by which the benchmark's other models are shown theirs."""
    samplings, main = plan.config.main.samplings, plan.config.tables[benchmark].overview
    if frames in samplings:
        return frames
    if not frames.isdecimal():
        raise UserError(f"--frames: {' '.join(plan.config.main.sampling_problems(frames))}")
    assert main is not None
    usual = samplings[main.sampling]
    rule: dict[str, Any] = (usual if "frames" in usual else {"rule": "linspace"}) | {"frames": int(frames)}
    for name, one in samplings.items():
        if one == (rule if int(frames) else {"rule": "none"}):
            return name
    raise UserError(
        f"--frames: no sampling shows {frames} frames by rule {rule['rule']}, which {benchmark} has. Add one to "
        f"`samplings:` in config/config.yaml: {rule['rule']}{frames}: {{rule: {rule['rule']}, frames: {frames}}}"
    )


def _put_lines(
    plan: Plan, slug: str, file: Path, asked: Sequence[str] | None, samplings: dict[str, str], suite: str | None
) -> None:
    """Have the suite run the model and show it; what its line says already stays."""

    def is_its(line: Any) -> bool:
        return (OverviewLine.model_validate(line).model if isinstance(line, dict) else str(line)) == slug

    lines = {line.model: line for line in plan.config.suite.overview_lines()}
    new = OverviewLine(model=slug, benchmarks=list(asked) if asked else None, samplings=samplings)
    line = lines[slug].with_more(asked, samplings) if slug in lines else new
    put_item(file, OVERVIEW, line.as_written(), is_its)
    if slug not in plan_of(suite).models:
        put_item(file, "run", slug, lambda one: one == slug)


def _runs(plan: Plan, slug: str, asked: Sequence[str], command: str) -> list[Run]:
    found = []
    for benchmark in asked:
        row = next(row for row in plan.overview[benchmark].rows() if row.model == slug)
        run = run_of(benchmark, row)
        assert run is not None
        if plan.scored(benchmark, row) is None:
            raise UserError(
                f"{command}: {run.name} cannot be made: {plan.why_idle(run)} A judge stands in `judges:` and in "
                "`run:`; `--benchmarks` leaves a benchmark out."
            )
        found.append(run)
    return found


# --- the model's file ------------------------------------------------------------------------------------------------


def slug_for(order: Order, models: Mapping[str, Model]) -> str:
    """The name of a model's file: of one that is there and means the same weights, or of a new one."""
    source = order.model
    known = [
        slug
        for slug, model in models.items()
        if source == slug or (source == model.repo and order.engine in (None, _engine_of(model)))
    ]
    if known and order.name is None and not Path(source).is_dir():
        return known[0]
    slug = order.name or re.sub(r"[^a-z0-9._-]+", "-", Path(source).name.lower()).strip("-._")
    if order.name is None and order.engine == "vllm":  # beside the same weights, asked by transformers
        slug += "-vllm"
    if not re.fullmatch(SLUG, slug):
        raise UserError(
            f"{order.command}: '{slug}' cannot be a name. Allowed: {SLUG_IN_WORDS}. Say another one by --name."
        )
    return slug


def prepare_model(order: Order, slug: str, models: Mapping[str, Model]) -> None:
    """Have the model's file there, its revision pinned, and its checkpoint looked at; its weights are not loaded."""
    source, file, known = order.model, Path(f"config/models/{slug}.yaml"), models.get(slug)
    is_run_here = executor_of([]) is None
    if known is not None:
        if source not in (slug, known.repo) and Path(source) != Path(known.checkpoint or ""):
            raise UserError(
                f"{file}: is there, and is of another model ({known.checkpoint or known.repo or 'no weights'}). "
                "Say another name by --name."
            )
        if order.engine not in (None, _engine_of(known)):
            raise UserError(
                f"{file}: is not asked by {order.engine}. Leave --engine out, or name the model's repository or folder "
                f"({known.repo or known.checkpoint or 'it has no weights'}), which gets a file of its own."
            )
        if is_run_here:
            check_model_gpus(slug, known)
        if order.gpus not in (None, known.gpus):
            raise UserError(f"{file}: gpus: is {known.gpus}. Change it there, or leave --gpus out.")
        if known.revision == UNPINNED:
            pin_files(Path(), [slug])
        return
    count = order.gpus if order.gpus is not None else int(bool(visible_gpus()))
    failure = driver_failure() if order.gpus is None and not count else ""
    is_served = order.engine == "vllm"
    if is_served and not count:
        why = f" ({failure})" if failure else ""
        raise UserError(
            f"{order.command}: --engine vllm needs a GPU, and this machine has none{why}. For a machine that has, say "
            "how many by --gpus; for a try on processors see docs/howto/servers.md."
        )
    if failure:
        log.warning(f"{file}: gpus: 0, since nvidia-smi lists no GPU: {failure}")
    if is_run_here:
        try:
            check_build(build_of(ENVIRONMENT) if is_served else installed_build(), count)
        except UserError as error:
            raise UserError(f"{order.command}: --gpus {count}: {error}") from None
    content, sizes = _described(order, file, count)
    model = Model.model_validate(content)
    frames: list[str] = []

    def look(model: Model, folder: Path) -> list[str]:
        differences = folder_differences(model, folder)
        if is_served and not differences:
            frames.append(frames_of(model, folder))
        return differences

    found = list(
        model_differences(file, model, str(model.revision), sizes, look) if model.repo else look(model, Path(source))
    )
    if found:
        raise UserError(
            f"{order.command}: {source} cannot be asked by the adapter transformers:\n  "
            + "\n  ".join(found)
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


def _described(order: Order, file: Path, count: int) -> tuple[dict[str, Any], dict[str, int]]:
    """What the file says, where the weights are and what the model needs; and the sizes of the weights' files."""
    folder, source = Path(order.model), order.model
    where: dict[str, str | int]
    if folder.is_dir():
        sizes = {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}
        where = {"checkpoint": str(folder)}
        if not any(fnmatch(name, WEIGHTS) for name in sizes):
            names = ", ".join(sorted(sizes)) or "nothing"
            raise UserError(f"{order.command}: '{source}' holds no weights ({WEIGHTS}). Found: {names}.")
    elif re.fullmatch(r"[\w.-]+/[\w.-]+", source):
        revision = resolve_commit(source, "model", file)
        sizes = dict(sizes_of("model", source, revision))
        where = {"repo": source, "revision": revision, "weights_bytes": weights_bytes(sizes)}
    else:
        raise UserError(
            f"{order.command}: '{source}' is no folder, and no repository of the hub, which is named <owner>/<name>. "
            "A model with a file in config/models/ is named by that file."
        )
    needed = MEMORY_TIMES * sum(size for name, size in sizes.items() if fnmatch(name, WEIGHTS)) / MB
    memory = max(MEMORY_LEAST_MB, MEMORY_STEP_MB * math.ceil(needed / MEMORY_STEP_MB))
    on_gpu = {"gpus": count, "memory_mb": memory, "dtype": "checkpoint"} if count else {"memory_mb": memory}
    return {"label": folder.name, "adapter": "transformers", **where, **on_gpu}, sizes

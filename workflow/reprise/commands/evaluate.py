"""`eval`: from a repository or a folder of weights to a row of the overview; what it writes is what a person would."""

import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

import typer
import yaml

from reprise.commands.check import is_checked, sees_frames
from reprise.commands.pin import pin_files, resolve_commit
from reprise.commands.shared import data_of, plan_of
from reprise.commands.show import overview_of, show_tables
from reprise.config.configuration import part_name
from reprise.config.edit import own_copy, put_item
from reprise.config.model import Model
from reprise.config.suite import OverviewLine
from reprise.core.errors import UserError, choices
from reprise.core.files import write_text
from reprise.core.names import SLUG, SLUG_IN_WORDS
from reprise.core.paths import ALL, OVERVIEW, WORKFLOW, Run, overview_file, time_file
from reprise.core.version import VERSION
from reprise.models.local.devices import visible_gpus
from reprise.models.local.weights import WEIGHTS
from reprise.plan.identity import UNPINNED
from reprise.plan.keys import collect_keys
from reprise.plan.repositories import folder_differences, model_differences, sizes_of, weights_bytes
from reprise.plan.runs import Plan, run_of
from reprise.plan.targets import has_unpinned_data
from reprise.tables.keys import OverviewKey

HEAD = "# yaml-language-server: $schema=../schemas/model.schema.json\n# Written by `reprise eval`.\n"
REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
OWN_SNAKEFILES = Path("Snakefile"), Path("workflow/Snakefile")  # where Snakemake looks by itself
MB = 10**6
# Main memory beside the weights, which pass through it: half as much again, in steps of this.
MEMORY_STEP_MB, MEMORY_LEAST_MB, MEMORY_TIMES = 1000, 2000, 1.5


class Wanted(NamedTuple):
    model: str
    benchmarks: Sequence[str] | None = None
    frames: str | None = None
    """a number of frames, or a sampling"""
    name: str | None = None
    gpus: int | None = None
    limit: int | None = None
    """units of each benchmark that are asked about"""


class Going(NamedTuple):
    """How it is done."""

    cores: str
    suite: str | None
    dry_run: bool
    yes: bool
    is_in_time: bool = False
    """whether the model's card of time is made, by `time`, in place of its row of the overview, by `eval`"""
    numbers: Path | None = None
    """a file for the model's numbers of the overview, as JSON"""

    @property
    def command(self) -> str:
        return "time" if self.is_in_time else "eval"

    def target(self, slug: str) -> Path:
        """What is made for a model."""
        return time_file(slug, "md") if self.is_in_time else overview_file("md")


def evaluate_model(wanted: Wanted, going: Going) -> None:
    """Evaluate a model; the plan is shown before anything runs, and where it ends there the files are as before."""
    plan, suite = _plan_of(wanted, going.suite)
    if plan.config.suite.stand_in is not None:
        raise UserError(
            f"{going.command}: suite '{plan.config.name}' asks a stand-in and no model. Name another one by --suite."
        )
    asked = _asked_benchmarks(plan, wanted.benchmarks)
    samplings = {name: _sampling(plan, name, wanted.frames) for name in asked} if wanted.frames else {}
    slug = slug_for(wanted.model, wanted.name, plan.config.models)
    files = Path(f"config/models/{slug}.yaml"), Path(plan.config.file)
    target = str(going.target(slug))

    def snakemake(*arguments: str) -> None:
        gpus = plan.config.models[slug].gpus
        resources = ["--resources", f"gpu={gpus}"] if gpus else []
        snakefile = [] if any(map(Path.is_file, OWN_SNAKEFILES)) else ["--snakefile", str(WORKFLOW / "Snakefile")]
        of_suite = ["--config", f"suite={suite}"] if suite else []
        _run_module("snakemake", *snakefile, *arguments, "--cores", going.cores, *resources, *of_suite)

    with _as_before_unless_kept(files) as kept:
        prepare_model(wanted.model, slug, wanted.gpus, plan.config.models)
        _put_lines(plan, slug, asked if wanted.benchmarks else None, samplings, suite)
        if going.is_in_time and ALL not in plan.config.suite.time:
            put_item(files[1], "time", slug, lambda one: one == slug)
        plan = plan_of(suite)
        if any(has_unpinned_data(plan, name) for name in asked):
            pin_files(Path(), [plan.config.whole])
            plan = plan_of(suite)
        runs = _runs(plan, slug, asked)
        named = f", and its line of `overview:`{' and of `time:`' * going.is_in_time} in {files[1]}; runs:"
        print(f"{files[0]}{named}")
        of_card = plan.time_scored([slug]) if going.is_in_time else []
        print("".join(f"  {run.name}\n" for run in dict.fromkeys([*runs, *(one.run for one in of_card)])), end="")
        snakemake("--dry-run", target)
        if going.dry_run:
            print("The files of the configuration are as before (--dry-run).")
            return
        if not going.yes and not sys.stdin.isatty():
            raise UserError(f"{going.command}: add --yes to run this; nobody can be asked here.")
        if not (going.yes or typer.confirm("Run this?")):
            return
        kept.extend(files)
    model = plan.config.models[slug]
    due = [run for run in runs if not plan.results.responses(run).is_file()]
    checked = [run for run in due if is_checked(plan, run)] if sees_frames(model) else []
    if checked:  # a few questions before all are asked
        needed = [path for run in checked for path in data_of(plan, run)]
        needed += [plan.results.weights(slug)] if model.repo else []
        snakemake(*(str(path) for path in dict.fromkeys(needed)))
        _run_module("reprise", "check", slug, *(["--suite", suite] if suite else []))
    elif due:
        print(f"{slug} is not checked before: none of its runs shows frames and asks for an option.")
    snakemake(target)
    if going.is_in_time:
        print(Path(target).read_text(encoding="utf-8"))
        print(f"The card: {time_file(slug, 'html')}")
    else:
        _show_row(plan, runs, suite, going.numbers)


def _plan_of(wanted: Wanted, suite: str | None) -> tuple[Plan, str | None]:
    """The plan of the suite, or of a part of it, and its name where it is not the configured one."""
    plan = plan_of(suite)
    if wanted.limit is None:
        return plan, suite
    part = part_name(plan.config.whole, wanted.limit)
    return plan_of(part), part


def _show_row(plan: Plan, runs: Sequence[Run], suite: str | None, numbers: Path | None) -> None:
    show_tables(OVERVIEW, suite)
    if numbers is not None:
        key = collect_keys(plan)[plan.results.key("tables", OVERVIEW)]
        assert isinstance(key, OverviewKey)
        builder, names = overview_of(plan, key), {run.name for run in runs}
        builder.table()
        found = {"reprise": VERSION, "numbers": [row for row in builder.tidy if row.get("run") in names]}
        write_text(numbers, json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    named = f" --suite {suite}" if suite else ""
    for run in runs:
        main = plan.config.tables[run.benchmark].overview
        assert main is not None
        if main.table is not None:
            print(f"Beside all rows of the paper: reprise show {run.benchmark}/{main.table}{named}")


def _run_module(name: str, *arguments: str) -> None:
    """Run a program in a process of its own, which gives back its memory and its GPUs; a UserError if it fails."""
    sys.stdout.flush()
    if subprocess.run([sys.executable, "-m", name, *arguments], check=False).returncode:
        raise UserError(f"eval: {name} ended with an error, see above. The same command goes on when it is corrected.")


@contextmanager
def _as_before_unless_kept(files: Sequence[Path]) -> Iterator[list[Path]]:
    """Put these files back as they were, however the block ends, but for those that it lists as kept."""
    before = {file: file.read_text(encoding="utf-8") if file.is_file() else None for file in files}
    kept: list[Path] = []
    try:
        yield kept
    finally:
        for file, text in before.items():
            if file in kept:
                continue
            if text is None:
                file.unlink(missing_ok=True)
            elif file.read_text(encoding="utf-8") != text:
                write_text(file, text)


# --- what is asked ---------------------------------------------------------------------------------------------------


def _asked_benchmarks(plan: Plan, names: Sequence[str] | None) -> list[str]:
    able = [name for name, tables in plan.config.tables.items() if tables.overview is not None]
    for name in names or ():
        if name not in able:
            raise UserError(f"--benchmarks: unknown benchmark '{name}'.{choices(name, able)}")
    if not able:
        raise UserError(f"eval: no tables of suite '{plan.config.name}' have an `overview:`, which says what is asked.")
    return [name for name in able if names is None or name in names]


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
    wanted = rule if int(frames) else {"rule": "none"}
    for name, one in samplings.items():
        if one == wanted:
            return name
    raise UserError(
        f"--frames: no sampling shows {frames} frames by rule {rule['rule']}, which {benchmark} has. Add one to "
        f"`samplings:` in config/config.yaml: {rule['rule']}{frames}: {{rule: {rule['rule']}, frames: {frames}}}"
    )


def _put_lines(
    plan: Plan, slug: str, asked: Sequence[str] | None, samplings: dict[str, str], suite: str | None
) -> None:
    """Have the suite run the model and show it; what its line says already stays."""

    def is_its(line: Any) -> bool:
        return (OverviewLine.model_validate(line).model if isinstance(line, dict) else str(line)) == slug

    file = own_copy(plan.config.file)
    lines = {line.model: line for line in plan.config.suite.overview_lines()}
    new = OverviewLine(model=slug, benchmarks=list(asked) if asked else None, samplings=samplings)
    line = lines[slug].with_more(asked, samplings) if slug in lines else new
    put_item(file, OVERVIEW, line.as_written(), is_its)
    if slug not in plan_of(suite).models:
        put_item(file, "run", slug, lambda one: one == slug)


def _runs(plan: Plan, slug: str, asked: Sequence[str]) -> list[Run]:
    """The runs behind the model's row; a UserError where one cannot be made here."""
    found = []
    for benchmark in asked:
        row = next(row for row in plan.overview[benchmark].rows() if row.model == slug)
        run = run_of(benchmark, row)
        assert run is not None
        if plan.scored(benchmark, row) is None:
            raise UserError(
                f"eval: {run.name} cannot be made: {plan.why_idle(run)} A judge stands in `judges:` and in `run:`; "
                "`--benchmarks` leaves a benchmark out."
            )
        found.append(run)
    return found


# --- the model's file ------------------------------------------------------------------------------------------------


def slug_for(source: str, name: str | None, models: Mapping[str, Model]) -> str:
    """The name of a model's file: of one that is there and means the same weights, or of a new one."""
    if name is None and not Path(source).is_dir():
        known = [slug for slug, model in models.items() if source in (slug, model.repo)]
        if known:
            return known[0]
    slug = name or re.sub(r"[^a-z0-9._-]+", "-", Path(source).name.lower()).strip("-._")
    if not re.fullmatch(SLUG, slug):
        raise UserError(f"eval: '{slug}' cannot be a name. Allowed: {SLUG_IN_WORDS}. Say another one by --name.")
    return slug


def prepare_model(source: str, slug: str, gpus: int | None, models: Mapping[str, Model]) -> None:
    """Have the model's file there, its revision pinned, and its checkpoint looked at."""
    file = Path(f"config/models/{slug}.yaml")
    known = models.get(slug)
    if known is None:
        content = _described(source, file, gpus)
        write_text(file, HEAD + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10**6))
        _look_at(file, source)
        return
    if source not in (slug, known.repo) and Path(source) != Path(known.checkpoint or ""):
        weights = known.checkpoint or known.repo or "no weights"
        raise UserError(f"{file}: is there, and is of another model ({weights}). Say another name by --name.")
    if gpus not in (None, known.gpus):
        raise UserError(f"{file}: gpus: is {known.gpus}. Change it there, or leave --gpus out.")
    if known.revision == UNPINNED:
        pin_files(Path(), [slug])


def _described(source: str, file: Path, gpus: int | None) -> dict[str, Any]:
    """What the file says: where the weights are, what the model needs."""
    folder = Path(source)
    where: dict[str, str | int]
    if folder.is_dir():
        sizes = {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}
        where = {"checkpoint": str(folder)}
        if not any(fnmatch(name, WEIGHTS) for name in sizes):
            raise UserError(
                f"eval: '{source}' holds no weights ({WEIGHTS}). Found: {', '.join(sorted(sizes)) or 'nothing'}."
            )
    elif REPOSITORY.fullmatch(source):
        revision = resolve_commit(source, "model", file)
        sizes = dict(sizes_of("model", source, revision))
        where = {"repo": source, "revision": revision, "weights_bytes": weights_bytes(sizes)}
    else:
        raise UserError(
            f"eval: '{source}' is no folder, and no repository of the hub, which is named <owner>/<name>. "
            "A model with a file in config/models/ is named by that file."
        )
    needed = MEMORY_TIMES * sum(size for name, size in sizes.items() if fnmatch(name, WEIGHTS)) / MB
    memory = max(MEMORY_LEAST_MB, MEMORY_STEP_MB * math.ceil(needed / MEMORY_STEP_MB))
    count = gpus if gpus is not None else int(bool(visible_gpus()))
    on_gpu = {"gpus": count, "memory_mb": memory, "dtype": "checkpoint"} if count else {"memory_mb": memory}
    return {"label": Path(source).name, "adapter": "transformers", **where, **on_gpu}


def _look_at(file: Path, source: str) -> None:
    """Stop at a checkpoint that the adapter cannot ask; its weights are not loaded."""
    model = Model.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))
    if model.repo is not None:
        revision = str(model.revision)
        found = list(model_differences(file, model, revision, sizes_of("model", model.repo, revision)))
    else:
        found = folder_differences(model, Path(str(model.checkpoint)))
    if found:
        raise UserError(
            f"eval: {source} cannot be asked by the adapter transformers:\n  "
            + "\n  ".join(found)
            + "\nA model that lives in a repository of its own is asked there, and its answers are imported "
            "(docs/howto/import-answers.md)."
        )

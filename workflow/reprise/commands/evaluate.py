"""`eval`: from a repository or a folder of weights to a row of the overview; what it writes is what a person would."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import typer

from reprise.commands.check import data_of, is_checked, sees_frames
from reprise.commands.new_model import prepare_model, slug_for
from reprise.commands.pin import pin_files
from reprise.commands.plans import plan_of
from reprise.commands.show import show_tables
from reprise.config.edit import put_item
from reprise.config.suite import OverviewLine
from reprise.core.errors import UserError, choices
from reprise.core.files import write_text
from reprise.core.paths import OVERVIEW, Run, overview_file
from reprise.plan.runs import Plan, run_of
from reprise.plan.targets import has_unpinned_data


class Wanted(NamedTuple):
    """What is to be evaluated."""

    model: str
    benchmarks: Sequence[str] | None = None
    frames: str | None = None
    """a number of frames, or a sampling"""
    name: str | None = None
    gpus: int | None = None


def evaluate_model(wanted: Wanted, cores: str, suite: str | None, *, dry_run: bool, yes: bool) -> None:
    """Do it; before anything runs the plan is shown, and where that is as far as it goes the files are as before."""
    plan = plan_of(suite)
    if plan.config.suite.stand_in is not None:
        raise UserError(f"eval: suite '{plan.config.name}' asks a stand-in and no model. Name another one by --suite.")
    asked = _asked_benchmarks(plan, wanted.benchmarks)
    samplings = {name: _sampling(plan, name, wanted.frames) for name in asked} if wanted.frames else {}
    slug = slug_for(wanted.model, wanted.name, plan.config.models)
    files = Path(f"config/models/{slug}.yaml"), Path(f"config/suites/{plan.config.name}.yaml")
    with _as_before_unless_kept(files) as kept:
        prepare_model(wanted.model, slug, wanted.gpus, plan.config.models)
        _put_lines(plan, slug, asked if wanted.benchmarks else None, samplings, suite)
        plan = plan_of(suite)
        if any(has_unpinned_data(plan, name) for name in asked):
            pin_files(Path(), [plan.config.name])
            plan = plan_of(suite)
        runs = _runs(plan, slug, asked)
        snakemake = _Snakemake(cores, plan.config.models[slug].gpus, suite)
        print(f"{files[0]}, and its line of `overview:` in {files[1]}; runs:")
        print("".join(f"  {run.name}\n" for run in runs), end="")
        snakemake("--dry-run", str(overview_file("md")))
        if dry_run:
            print("The files of the configuration are as before (--dry-run).")
            return
        if not _is_agreed(yes):
            return
        kept.extend(files)
    _check_first(plan, slug, runs, snakemake, suite)
    snakemake(str(overview_file("md")))
    show_tables(OVERVIEW, suite)
    named = f" --suite {suite}" if suite else ""
    for run in runs:
        main = plan.config.tables[run.benchmark].overview
        assert main is not None
        print(f"Beside all rows of the paper: reprise show {run.benchmark}/{main.table}{named}")


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
    file = Path(f"config/suites/{plan.config.name}.yaml")
    lines = {line.model: line for line in plan.config.suite.overview_lines()}
    new = OverviewLine(model=slug, benchmarks=list(asked) if asked else None, samplings=samplings)
    line = lines[slug].with_more(asked, samplings) if slug in lines else new
    put_item(file, OVERVIEW, line.as_written(), lambda one: _model_of(one) == slug)
    if slug not in plan_of(suite).models:
        put_item(file, "run", slug, lambda one: one == slug)


def _model_of(line: Any) -> str:
    return OverviewLine.model_validate(line).model if isinstance(line, dict) else str(line)


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


# --- how it is done --------------------------------------------------------------------------------------------------


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


def _is_agreed(yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UserError("eval: add --yes to run this; nobody can be asked here.")
    return typer.confirm("Run this?")


class _Snakemake(NamedTuple):
    """Calls of the workflow with the same settings."""

    cores: str
    gpus: int
    suite: str | None

    def __call__(self, *arguments: str) -> None:
        gpus = ["--resources", f"gpu={self.gpus}"] if self.gpus else []
        suite = ["--config", f"suite={self.suite}"] if self.suite else []
        run_module("snakemake", *arguments, "--cores", self.cores, *gpus, *suite)


def run_module(name: str, *arguments: str) -> None:
    """Run a program in a process of its own, which gives back its memory and its GPUs; a UserError if it fails."""
    sys.stdout.flush()
    if subprocess.run([sys.executable, "-m", name, *arguments], check=False).returncode:
        raise UserError(f"eval: {name} ended with an error, see above. The same command goes on when it is corrected.")


def _check_first(plan: Plan, slug: str, runs: Sequence[Run], snakemake: _Snakemake, suite: str | None) -> None:
    """Have a few questions asked before all are, unless all have been or none can be checked."""
    model = plan.config.models[slug]
    due = [run for run in runs if not plan.results.responses(run).is_file()]
    checked = [run for run in due if is_checked(plan, run)] if sees_frames(model) else []
    if not checked:
        if due:
            print(f"{slug} is not checked before: none of its runs shows frames and asks for an option.")
        return
    files = [path for run in checked for path in data_of(plan, run)]
    files += [plan.results.weights(slug)] if model.repo else []
    snakemake(*(str(path) for path in dict.fromkeys(files)))
    run_module("reprise", "check", slug, *(["--suite", suite] if suite else []))

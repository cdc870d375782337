"""Select the benchmarks and samplings of an evaluation, and add its model to the file of the suite."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reprise.commands.evaluation_options import EvaluationOptions
from reprise.commands.shared import load_plan
from reprise.config.edit import put_item
from reprise.config.suite import OverviewLine
from reprise.core.errors import UserError, reject_unknown
from reprise.core.paths import OVERVIEW, Run
from reprise.plan.runs import Plan, run_from_row


def select_benchmarks(plan: Plan, options: EvaluationOptions) -> list[str]:
    """Return the benchmarks of `--benchmarks`, by default all benchmarks of the overview."""
    supported = [name for name, tables in plan.config.tables.items() if tables.overview is not None]
    names = supported if options.benchmarks is None else options.benchmarks.split(",")
    if not supported:
        raise UserError(
            f"{options.command}: no tables of suite '{plan.config.name}' have an `overview:`, which defines the runs. "
            f"Add one to a file that {plan.config.suite_file} names under `tables:`, or choose another suite with "
            "--config suite=<name>."
        )
    reject_unknown("benchmark", names, supported, "--benchmarks")
    return [name for name in supported if name in names]


def find_sampling(plan: Plan, benchmark: str, frames: str) -> str:
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


def add_to_suite(
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


def list_overview_runs(plan: Plan, slug: str, benchmarks: Sequence[str], command: str) -> list[Run]:
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


def list_profile_runs(plan: Plan, slug: str, command: str) -> list[Run]:
    """Return the runs of the model's temporal profile; none for `eval`."""
    if command != "temporal":
        return []
    if slug not in plan.temporal_profiles:
        raise UserError(f"temporal: '{slug}' receives no frames in {', '.join(plan.config.benchmarks)}.")
    return [scored.run for scored in plan.temporal_scored_runs([slug])]

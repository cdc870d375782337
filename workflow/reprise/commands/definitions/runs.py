"""Commands that evaluate models, and that list and explain runs."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from reprise.commands import completion
from reprise.commands.definitions.options import (
    BenchmarksOption,
    CoresOption,
    DryRunOption,
    EngineOption,
    FramesOption,
    GpusOption,
    LimitOption,
    ModelArgument,
    NameOption,
    NoCheckOption,
    RunArgument,
    ServedModelOption,
    SuiteOption,
    YesOption,
)

RUNS = "Runs"
app = Typer()


@app.command("eval", rich_help_panel=RUNS)
def evaluate(
    model: ModelArgument,
    benchmarks: BenchmarksOption = None,
    frames: FramesOption = None,
    name: NameOption = None,
    gpus: GpusOption = None,
    engine: EngineOption = None,
    served_model: ServedModelOption = None,
    limit: LimitOption = None,
    cores: CoresOption = "all",
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    no_check: NoCheckOption = False,
    json_file: Annotated[
        Path | None,
        Option(
            "--json",
            metavar="FILE",
            dir_okay=False,
            writable=True,
            help="file for the model's numbers, with intervals, counts and keys",
        ),
    ] = None,
    suite: SuiteOption = None,
) -> None:
    """Evaluate a model: write its file, check it, run it, and show its row of the overview."""
    from reprise.commands.evaluate import evaluate_model
    from reprise.commands.evaluation_options import EvaluationOptions

    evaluate_model(
        EvaluationOptions(
            model,
            benchmarks=benchmarks,
            frames=frames,
            name=name,
            gpus=gpus,
            limit=limit,
            cores=cores,
            dry_run=dry_run,
            yes=yes,
            suite=suite,
            engine=engine,
            no_check=no_check,
            served_model=served_model,
            json_file=json_file,
        )
    )


@app.command(rich_help_panel=RUNS)
def temporal(
    model: ModelArgument,
    benchmarks: BenchmarksOption = None,
    frames: FramesOption = None,
    name: NameOption = None,
    gpus: GpusOption = None,
    engine: EngineOption = None,
    served_model: ServedModelOption = None,
    limit: LimitOption = None,
    cores: CoresOption = "all",
    dry_run: DryRunOption = False,
    yes: YesOption = False,
    no_check: NoCheckOption = False,
    suite: SuiteOption = None,
) -> None:
    """Evaluate a model under temporal ablations and write its temporal profile."""
    from reprise.commands.evaluate import evaluate_model
    from reprise.commands.evaluation_options import EvaluationOptions

    evaluate_model(
        EvaluationOptions(
            model,
            benchmarks=benchmarks,
            frames=frames,
            name=name,
            gpus=gpus,
            limit=limit,
            cores=cores,
            dry_run=dry_run,
            yes=yes,
            suite=suite,
            engine=engine,
            no_check=no_check,
            served_model=served_model,
            command="temporal",
        )
    )


@app.command(rich_help_panel=RUNS)
def runs(suite: SuiteOption = None) -> None:
    """List all runs with their state: done, stale, missing or failed."""
    from reprise.commands.runs import list_runs

    list_runs(suite)


@app.command(rich_help_panel=RUNS)
def plan(
    targets: Annotated[
        list[str] | None,
        Argument(
            metavar="TARGET",
            help="table, result file, parts of a run's name, or a model: its name, <owner>/<name> on the hub, or a "
            "folder of weights; everything when omitted",
            autocompletion=completion.complete_tables,
        ),
    ] = None,
    show_all: Annotated[bool, Option("--all", help="list every run, not only the first ones")] = False,
    benchmarks: BenchmarksOption = None,
    suite: SuiteOption = None,
) -> None:
    """List pending inference with time and cost, and the data, weights, GPU time and licences that it needs."""
    from reprise.commands.plan import show_plan

    show_plan(targets or [], show_all, suite, benchmarks)


@app.command(rich_help_panel=RUNS)
def why(run: RunArgument, suite: SuiteOption = None) -> None:
    """Explain why a run is not done: changed settings and failures."""
    from reprise.commands.runs import explain_run

    explain_run(run, suite)

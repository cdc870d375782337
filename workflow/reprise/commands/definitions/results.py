"""Commands about results: tables, items, comparisons and publications."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from reprise.commands import completion
from reprise.commands.definitions.options import (
    RUN_HELP,
    RunArgument,
    SuiteOption,
)

RESULTS = "Results"
app = Typer()


@app.command(rich_help_panel=RESULTS)
def show(
    table: Annotated[
        str,
        Argument(
            metavar="TABLE",
            help="<benchmark>/table<N>, table<N> of every benchmark, <benchmark> for all of its tables, or overview",
            autocompletion=completion.complete_tables,
        ),
    ],
    suite: SuiteOption = None,
) -> None:
    """Show a table in the terminal."""
    from reprise.commands.show import show_tables

    show_tables(table, suite)


@app.command(rich_help_panel=RESULTS)
def trace(
    table: Annotated[
        str, Argument(metavar="TABLE", help="<benchmark>/table<N>", autocompletion=completion.complete_tables)
    ],
    row: Annotated[str, Option(metavar="LABEL", help="label of the row, with its frames or run if needed")],
    column: Annotated[str, Option(metavar="TITLE", help="header of the column")],
    suite: SuiteOption = None,
) -> None:
    """Show the lineage of one cell of a table."""
    from reprise.commands.show import trace_cell

    trace_cell(table, row, column, suite)


@app.command(rich_help_panel=RESULTS)
def item(
    run: RunArgument,
    item_id: Annotated[
        str | None, Argument(metavar="ITEM", help="id of an item; lists the wrong answers when omitted")
    ] = None,
    suite: SuiteOption = None,
) -> None:
    """Show an item of a run, from its frames to its verdict."""
    from reprise.commands.item import show_item

    show_item(run, item_id, suite)


@app.command(rich_help_panel=RESULTS)
def compare(
    first: RunArgument,
    second: Annotated[
        str,
        Argument(
            metavar="OTHER_RUN",
            help="run of the same benchmark and kind of protocol (`form:`); <folder>:<run> for a run of another clone",
            autocompletion=completion.complete_runs,
        ),
    ],
    suite: SuiteOption = None,
) -> None:
    """Compare two runs on their common samples."""
    from reprise.commands.compare import compare_runs

    compare_runs(first, second, suite)


@app.command(rich_help_panel=RESULTS)
def static(
    runs: Annotated[
        list[str],
        Argument(metavar="RUN", help=f"{RUN_HELP}; one for each seed", autocompletion=completion.complete_runs),
    ],
    judge: Annotated[
        str | None,
        Option(
            metavar="MODEL",
            help="ratings by this judge instead of the suite's first one",
            autocompletion=completion.complete_models,
        ),
    ] = None,
    least: Annotated[float, Option(metavar="RATING", help="minimal mean rating of such a question")] = 2.5,
    suite: SuiteOption = None,
) -> None:
    """List the questions of MMBench-Video that one frame answers."""
    from reprise.commands.answers import list_static

    list_static(runs, judge, least, suite)


@app.command(rich_help_panel=RESULTS)
def export(
    run: RunArgument,
    to: Annotated[Path, Option(metavar="DIR", help="folder to write to")],
    suite: SuiteOption = None,
) -> None:
    """Write a run's answers in the file formats of the benchmark's authors."""
    from reprise.commands.answers import export_run

    export_run(run, to, suite)


@app.command(rich_help_panel=RESULTS)
def publish(
    runs: Annotated[
        list[str],
        Argument(metavar="RUN", help=f"runs of one model: {RUN_HELP}", autocompletion=completion.complete_runs),
    ],
    to: Annotated[
        Path | None,
        Option(metavar="DIR", file_okay=False, help="folder to write to; results/publish/<model> when omitted"),
    ] = None,
    organization: Annotated[str, Option(metavar="NAME", help="who publishes the numbers, for Every Eval Ever")] = "",
    repo: Annotated[
        str, Option(metavar="OWNER/NAME", help="repository of the model on the hub, if its file names none")
    ] = "",
    push: Annotated[bool, Option("--push", help="open a pull request at the model's repository on the hub")] = False,
    suite: SuiteOption = None,
) -> None:
    """Write the numbers and answers of a model for the hub and for others."""
    from reprise.commands.publish import PublishOptions, publish_runs

    publish_runs(PublishOptions(runs, to, organization, repo, push, suite))

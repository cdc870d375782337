"""Commands about missing and failed results."""

from typing import Annotated

from typer import Argument, Option, Typer

from reprise.commands import completion
from reprise.commands.definitions.options import (
    SuiteOption,
)
from reprise.core.paths import RUN_NAME

GAPS = "Missing and failed results"
app = Typer()


@app.command(rich_help_panel=GAPS)
def missing(
    show_all: Annotated[bool, Option("--all", help="list all of them, not only the first of each reason")] = False,
    suite: SuiteOption = None,
) -> None:
    """List missing videos, clips and items, with reasons and runs."""
    from reprise.commands.runs import list_missing

    list_missing(suite, show_all)


@app.command(rich_help_panel=GAPS)
def incomplete(
    tables: Annotated[
        list[str] | None,
        Argument(
            metavar="TABLE", help="<benchmark>/table<N>; all when omitted", autocompletion=completion.complete_tables
        ),
    ] = None,
    suite: SuiteOption = None,
) -> None:
    """List the cells without a number in finished tables."""
    from reprise.commands.runs import list_incomplete

    list_incomplete(tables or [], suite)


@app.command(rich_help_panel=GAPS)
def retry(
    patterns: Annotated[
        list[str] | None,
        Argument(
            metavar="RUN_OR_REASON",
            help=f"reason such as private, or {RUN_NAME} with * for anything; everything when omitted",
            autocompletion=completion.complete_runs,
        ),
    ] = None,
    suite: SuiteOption = None,
) -> None:
    """Let the next run retry failed videos, clips and answers."""
    from reprise.commands.runs import retry_failures

    retry_failures(patterns or [], suite)

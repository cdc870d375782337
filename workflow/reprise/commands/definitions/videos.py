"""Commands about videos and the store."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from reprise.commands import completion
from reprise.commands.definitions.options import (
    SuiteOption,
)

VIDEOS = "Videos and the store"
app = Typer()


@app.command(rich_help_panel=VIDEOS)
def subtitles(
    benchmark: Annotated[
        str, Argument(metavar="BENCHMARK", help="such as mmbench_video", autocompletion=completion.complete_benchmarks)
    ],
    suite: SuiteOption = None,
) -> None:
    """Copy downloaded subtitles to the extra files of a release."""
    from reprise.commands.videos import copy_subtitles

    copy_subtitles(benchmark, suite)


@app.command(rich_help_panel=VIDEOS)
def store(
    prune: Annotated[
        bool, Option("--prune", help="delete videos and clips that no manifest in results/ names, after a confirmation")
    ] = False,
    repair: Annotated[
        bool, Option("--repair", help="drop damaged lines of response caches; their requests are sent again")
    ] = False,
    used_by: Annotated[
        list[Path] | None,
        Option(
            metavar="FOLDER", help="other working directory that uses the store; files named in its results/ are kept"
        ),
    ] = None,
    yes: Annotated[bool, Option("--yes", help="delete without confirmation; needs --used-by")] = False,
) -> None:
    """Show the size of the store, or delete unused files."""
    from reprise.commands.videos import manage_store

    manage_store(prune=prune, repair=repair, used_by=used_by or [], yes=yes)

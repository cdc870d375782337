"""Commands about the configuration."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from reprise.commands import completion
from reprise.commands.definitions.options import (
    SelectedBenchmarksOption,
    SuiteOption,
)

CONFIGURATION = "Configuration"
app = Typer()


@app.command(rich_help_panel=CONFIGURATION)
def init(
    folder: Annotated[Path, Argument(metavar="FOLDER", help="working directory", file_okay=False)] = Path(),
) -> None:
    """Create a working directory with a Snakefile, configuration and profiles."""
    from reprise.commands.init import create_working_directory

    create_working_directory(folder)


@app.command(rich_help_panel=CONFIGURATION)
def pin(
    names: Annotated[
        list[str] | None,
        Argument(
            metavar="NAME", help="models or suites; all when omitted", autocompletion=completion.complete_pinnable
        ),
    ] = None,
    unchecked: Annotated[bool, Option("--unchecked", help="pin without a check of the repositories")] = False,
) -> None:
    """Replace `revision: unpinned` by the current commit, if the repository matches its configuration."""
    from reprise.commands.pin import pin_files
    from reprise.commands.shared import require_working_directory

    require_working_directory()
    pin_files(Path(), names or [], unchecked=unchecked)


@app.command(rich_help_panel=CONFIGURATION)
def check(
    model: Annotated[
        str,
        Argument(metavar="MODEL", help="a model's name, such as toy-llava-ov, or its repository or folder of weights"),
    ],
    questions: Annotated[int, Option(help="number of requests, each sent in four variants", min=4)] = 36,
    suite: SuiteOption = None,
    benchmarks: SelectedBenchmarksOption = None,
) -> None:
    """Check with a few requests whether a model uses the video, whether it answers, and how fast it is."""
    from reprise.commands.check import check_model

    check_model(model, questions, suite, benchmarks)

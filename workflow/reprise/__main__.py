"""Console command `reprise` (or `python -m reprise`)."""

from functools import partial
from typing import Annotated

from typer import Exit, Option

from reprise.commands import command_line
from reprise.commands.definitions import configuration, gaps, results, runs, videos
from reprise.core.errors import run_command
from reprise.core.version import VERSION

app = command_line(
    "Inspect results, evaluate models and maintain the store. Run it in the working directory of snakemake.",
    with_completion=True,
)
for group in (results, runs, gaps, videos, configuration):
    app.add_typer(group.app)


def print_version(is_requested: bool) -> None:
    """Print the version and end the command, if the option is present."""
    if is_requested:
        print(f"reprise {VERSION}")
        raise Exit


@app.callback()
def set_global_options(
    version: Annotated[
        bool, Option("--version", callback=print_version, is_eager=True, help="show the version and exit")
    ] = False,
) -> None:
    """Accept the options that precede a command."""


def main() -> None:
    """Run the console command."""
    run_command(partial(app, prog_name="reprise"))


if __name__ == "__main__":
    main()

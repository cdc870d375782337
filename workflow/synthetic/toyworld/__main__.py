"""Commands of the toy world: write a release, or render a source."""

from pathlib import Path
from typing import Annotated

import typer
from reprise.commands import command_line
from reprise.core.errors import run_command
from reprise.fetch.settings import ReleaseToy

from synthetic.toyworld.plugin import write_release
from synthetic.toyworld.render import render_source

app = command_line("The toy world: releases in the authors' layouts, and the videos that they name.")


@app.command()
def release(
    benchmark: str,
    out: Annotated[Path, typer.Option(metavar="DIR", help="folder to write to")],
) -> None:
    """Write a benchmark's files in its authors' layout."""
    write_release(benchmark, out, ReleaseToy(kind="toyworld"))


@app.command()
def render(
    source_id: str,
    out: Annotated[Path, typer.Option(metavar="FILE", help="video to write")],
) -> None:
    """Render one evaluation source."""
    render_source(source_id, out)


if __name__ == "__main__":
    run_command(app)

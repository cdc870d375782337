"""Commands that train and measure the demo's models; each imports torch only when it runs."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from reprise.commands import command_line
from reprise.core.errors import run_command

Config = Annotated[Path, typer.Option(metavar="FILE", help="training settings")]
Out = Annotated[Path, typer.Option(metavar="DIR", help="folder for the checkpoint and its states")]


class View(StrEnum):
    """The input of a model: the clip itself, another clip, no video, the authors' wording, or multiple choice."""

    OWN = "own"
    OTHER = "other"
    NONE = "none"
    AUTHORS = "authors"
    MC = "mc"


app = command_line("Train the toy checkpoints of the demo, and measure them.")


@app.command()
def train(
    config: Config,
    out: Out,
    resume: Annotated[bool, typer.Option("--resume", help="continue a stopped run")] = False,
    start: Annotated[Path | None, typer.Option("--from", metavar="CHECKPOINT", help="start from its weights")] = None,
) -> None:
    """Train the LLaVA-OneVision."""
    _prepare_torch()
    from training import ranks

    ranks.train(config, out, resume, start)


@app.command()
def train_siglip(config: Config, out: Out) -> None:
    """Train the dual encoder."""
    _prepare_torch()
    from training import dual

    dual.train_siglip(config, out)


@app.command()
def train_text(config: Config, out: Out) -> None:
    """Train the text-only model."""
    _prepare_torch()
    from training import text_only

    text_only.train_text(config, out)


@app.command()
def measure(
    checkpoint: Path,
    out: Annotated[Path, typer.Option(metavar="FILE", help="JSON to write")],
    view: Annotated[list[View] | None, typer.Option(help="input and prompt to measure; may be repeated")] = None,
) -> None:
    """Score a checkpoint on the evaluation set, with all views or the named ones."""
    _prepare_torch()
    from training import measure as measuring

    measuring.measure(checkpoint, out, [view_name.value for view_name in view or View])


def _prepare_torch() -> None:
    import reprise.models.local.torch_setup  # noqa: F401


if __name__ == "__main__":
    run_command(app)

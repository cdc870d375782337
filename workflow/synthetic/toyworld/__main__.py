"""The toy world's commands: write a release, render a source, train the demo's models."""

import argparse
from pathlib import Path

from reprise.core.errors import run_command

from synthetic.toyworld.releases import WRITERS, write_release
from synthetic.toyworld.render import render_source

# The clip itself, another one, no video; the authors' wording; multiple choice.
VIEWS = ("own", "other", "none", "authors", "mc")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m synthetic.toyworld", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    release = commands.add_parser("release", help="write a benchmark's files in its authors' layout")
    release.add_argument("benchmark", choices=sorted(WRITERS))
    release.add_argument("--out", type=Path, required=True, metavar="DIR")
    render = commands.add_parser("render", help="render one evaluation source")
    render.add_argument("source_id")
    render.add_argument("--out", type=Path, required=True, metavar="FILE")
    train = commands.add_parser("train", help="train the demo's models")
    train.add_argument("--config", type=Path, required=True)
    train.add_argument("--out", type=Path, required=True, metavar="DIR")
    train.add_argument("--resume", action="store_true", help="go on with a run that was stopped")
    train.add_argument("--from", type=Path, dest="checkpoint", metavar="CHECKPOINT", help="begin with its weights")
    for name, what in (("train-siglip", "dual encoder"), ("train-text", "text-only model")):
        small = commands.add_parser(name, help=f"train the demo's {what}")
        small.add_argument("--config", type=Path, required=True)
        small.add_argument("--out", type=Path, required=True, metavar="DIR")
    measure = commands.add_parser("measure", help="score a checkpoint on the evaluation set")
    measure.add_argument("checkpoint", type=Path)
    measure.add_argument("--out", type=Path, required=True, metavar="FILE")
    measure.add_argument("--views", nargs="+", choices=VIEWS, default=VIEWS)
    return parser


def main() -> None:
    """Run one command."""
    arguments = _parser().parse_args()
    if arguments.command == "release":
        write_release(arguments.benchmark, arguments.out)
    elif arguments.command == "render":
        render_source(arguments.source_id, arguments.out)
    else:
        from reprise.models.torch_setup import prepare  # the other commands need no torch

        prepare()
        if arguments.command == "train":
            from training.loop import train

            train(arguments.config, arguments.out, arguments.resume, arguments.checkpoint)
        elif arguments.command == "train-siglip":
            from training.dual import train_siglip

            train_siglip(arguments.config, arguments.out)
        elif arguments.command == "train-text":
            from training.text_only import train_text

            train_text(arguments.config, arguments.out)
        else:
            from training.measure import measure

            measure(arguments.checkpoint, arguments.out, arguments.views)


if __name__ == "__main__":
    run_command(main)

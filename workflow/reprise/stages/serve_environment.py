"""Stage `serve_environment`: the packages of a server that jobs start, installed once in the store."""

import json
from pathlib import Path

from reprise.core.errors import run_command
from reprise.core.files import write_text
from reprise.core.store import Store
from reprise.models.remote.serving.environment import build
from reprise.stages.arguments import arguments


def main() -> None:
    """Make the environment; the output file says where it is."""
    args = arguments("Install what a server needs.", environment=str, store=Path, out=Path)
    folder = build(args.environment, Store(args.store))
    write_text(args.out, json.dumps({"environment": args.environment, "folder": str(folder)}) + "\n")


if __name__ == "__main__":
    run_command(main)

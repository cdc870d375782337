"""Stage `serve_environment`: the packages of a server that jobs start, installed once in the store."""

import json
from pathlib import Path

from reprise.core.files import write_text
from reprise.core.store import Store
from reprise.models.remote.serving.environment import build
from reprise.stages.command import Out, Site, Wildcard


def main(environment: Wildcard[str], store: Site[Store], out: Out[Path]) -> None:
    folder = build(environment, store)
    write_text(out, json.dumps({"environment": environment, "folder": str(folder)}) + "\n")

"""Stage `serve_environment`: install the packages of a model server in the store."""

import json
from pathlib import Path

from reprise.core.files import write_sealed_text
from reprise.core.settings import Key
from reprise.core.store import Store
from reprise.models.remote.serving.environment import install_environment
from reprise.stages.command import In, Out, Site


def main(version: Key, environment: str, pins: In[list[Path]], store: Site[Store], out: Out[Path]) -> None:
    folder = install_environment(environment, store)
    write_sealed_text(out, json.dumps({"environment": environment, "folder": str(folder)}) + "\n")

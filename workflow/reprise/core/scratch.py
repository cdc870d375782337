"""The folder for work in progress of the machine that a job is on, as a site's setting names it."""

import os
import re
import socket
from collections.abc import Sequence
from pathlib import Path

from reprise.core.errors import UserError
from reprise.core.faults import named
from reprise.core.store import Store

VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


def store_on_node(root: Path, setting: Sequence[str]) -> Store:
    """The store as a job sees it whose work in progress lies where the setting says, without what killed jobs left."""
    text = "".join(setting)
    if not text:
        return Store(root)
    for found in VARIABLE.finditer(text):
        name = found[1] or found[2]
        if not os.environ.get(name):
            raise UserError(
                f"scratch: {text} (config/config.yaml): the variable {name} is not set on {socket.gethostname()}. "
                "Name a folder that each node has, or a variable that its jobs see."
            )
    folder = Path(os.path.expandvars(text)) / f"reprise-{os.getuid()}"  # this user's own
    with named(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    store = Store(root, folder)
    store.sweep()
    return store

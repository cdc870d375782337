"""The folder for work in progress of the machine that a job is on, as a site's setting names it."""

import os
import socket
from collections.abc import Sequence
from pathlib import Path

from reprise.core.errors import UserError
from reprise.core.faults import named
from reprise.core.store import Store


def store_on_node(root: Path, setting: Sequence[str]) -> Store:
    """The store as a job sees it whose work in progress lies where the setting says, without what killed jobs left."""
    text = "".join(setting)
    if not text:
        return Store(root)
    folder = Path(os.path.expandvars(text)) / f"reprise-{os.getuid()}"  # this user's own
    if "$" in str(folder):
        raise UserError(
            f"scratch: {text} (config/config.yaml): a variable in it is not set on {socket.gethostname()}. "
            "Name a folder that each node has, or a variable that its jobs see."
        )
    with named(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    store = Store(root, folder)
    store.sweep()
    return store

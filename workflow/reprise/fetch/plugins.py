"""Worlds that are made instead of fetched: plug-ins named by import string; the library itself imports none."""

from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from reprise.fetch.outcome import Fetcher


class Plugin(NamedTuple):
    module: str
    version: int
    """raised when the module makes other files from the same settings"""


# The `kind` of a release or a route -> what makes it.
PLUGINS = {
    "toyworld": Plugin("synthetic.toyworld.plugin", version=1),
    "rehearsal": Plugin("synthetic.rehearsal.plugin", version=1),
}


class World(Protocol):
    def write_release(self, benchmark: str, folder: Path) -> None: ...

    def fetcher(self, settings: Any) -> Fetcher: ...


def load_world(kind: str) -> World:
    return cast(World, import_module(PLUGINS[kind].module))

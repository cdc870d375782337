"""Worlds that are made instead of fetched: plug-ins named by import string; the library itself imports none."""

from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from reprise.fetch.outcome import Fetcher

# The `kind` of a release or a route -> the module that makes it.
PLUGINS = {
    "toyworld": "synthetic.toyworld.plugin",
    "rehearsal": "synthetic.rehearsal.plugin",
}


class World(Protocol):
    def write_release(self, benchmark: str, folder: Path) -> None: ...

    def fetcher(self, settings: Any) -> Fetcher: ...


def made_by(kind: str) -> list[str]:
    """The module behind a kind of release or route, for the keys of what it makes; none for what is fetched."""
    return [PLUGINS[kind]] if kind in PLUGINS else []


def load_world(kind: str) -> World:
    return cast(World, import_module(PLUGINS[kind]))

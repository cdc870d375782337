"""Plug-ins that generate releases and videos instead of fetching them, named by import string.

The library itself imports no plug-in.
"""

from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from reprise.fetch.outcome import Fetcher


class Plugin(NamedTuple):
    """Plug-in with the version of its output."""

    module: str
    version: int
    """Increase it when the module generates other files from the same settings."""


# The plug-in for each `kind` of a release or a route.
PLUGINS = {
    "toyworld": Plugin("synthetic.toyworld.plugin", version=1),
    "rehearsal": Plugin("synthetic.rehearsal.plugin", version=1),
}


class PluginModule(Protocol):
    """Interface of a plug-in module."""

    def write_release(self, benchmark: str, folder: Path, settings: Any) -> None:
        """Write the files of a benchmark's release into a folder."""

    def fetcher(self, settings: Any) -> Fetcher:
        """Return the fetcher that generates videos."""
        ...


def load_plugin(kind: str) -> PluginModule:
    """Import the plug-in module for a kind of release or route."""
    return cast(PluginModule, import_module(PLUGINS[kind].module))

"""Adapters: how a model is asked. The registry holds import strings, so listing models imports no model library."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class AdapterInfo:
    """What the workflow must know of an adapter before any of its code is imported."""

    target: str
    """module:class, imported in the job that needs it"""
    needs_weights: bool = False
    is_remote: bool = False
    packages: tuple[str, ...] = ()
    """distributions whose versions shape the answers"""
    modules: tuple[str, ...] = ()
    """modules of this library, beside the adapter's own, whose code shapes the answers"""
    asks: tuple[str, ...] = ("score", "choose", "write")
    """what a protocol may ask of it"""
    is_import: bool = False
    """answers that lie in files; nothing is asked"""

    @property
    def module(self) -> str:
        return self.target.partition(":")[0]


ANYTHING = ("score", "choose", "write", "similarity")
FRAMES = ("reprise.media.probe", "reprise.media.reader", "reprise.prompts")

ADAPTERS: dict[str, AdapterInfo] = {
    "transformers": AdapterInfo(
        "reprise.adapters.transformers:TransformersAdapter",
        needs_weights=True,
        packages=("torch", "torchvision", "transformers", "av"),
        modules=FRAMES,
    ),
    "wordmatch": AdapterInfo("reprise.adapters.wordmatch:WordMatch", asks=("write",)),
    "import": AdapterInfo("reprise.imports.__main__:main", is_import=True),
    "lastletter": AdapterInfo("reprise.adapters.lastletter:LastLetter", asks=("write",)),
    "oracle": AdapterInfo("reprise.adapters.baselines:Oracle", asks=ANYTHING),
    "constant": AdapterInfo("reprise.adapters.baselines:Constant", asks=ANYTHING),
    "random": AdapterInfo("reprise.adapters.baselines:Random", asks=ANYTHING),
}


def load_adapter(name: str) -> Any:
    """The adapter's class."""
    module, _, attribute = ADAPTERS[name].target.partition(":")
    return getattr(import_module(module), attribute)

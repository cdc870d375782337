"""Define the adapter `slow` for a copy of the library: it loads slowly, and records its events in the folder `notes`."""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from reprise.models.base import Answer, ClipFrames, ModelSpec, Request

REGISTRATION = """

class SlowSettings(Settings):
    name: str
    load_s: float = 0.0
    answer_s: float = 0.0


ADAPTERS["slow"] = AdapterInfo(
    "reprise.models.local.slow_model:Slow", SlowSettings, request_types=("score", "choose", "write"), needs_weights=True
)
"""
NOTES = Path("notes")


class Slow:
    """A model that answers with the first option."""

    def __init__(self, spec: ModelSpec) -> None:
        self._settings = spec.settings
        self._note("loading", str(os.getpid()))
        time.sleep(spec.settings["load_s"])
        self._note("loaded", str(os.getpid()))

    def begin_run(self, spec: ModelSpec) -> None:
        self._note("begun", str(os.getpid()))

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            self._note("requested", request.request_id)
            time.sleep(self._settings["answer_s"])
            yield Answer(text=request.options[0])

    def _note(self, kind: str, text: str) -> None:
        with (NOTES / kind).open("a") as stream:
            stream.write(f"{self._settings['name']} {text}\n")

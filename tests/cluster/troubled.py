"""Define the adapter `troubled` for a copy of the library: it answers by the frames, and stops once if a file says so.

The file `trouble/<name>` in the project contains the number of clips to answer before the stop, and the kind of stop.
"""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from reprise.models.base import Answer, ClipFrames, ModelSpec, Request
from reprise.models.local.plugged import Pixels

LONGEST_S = 900


class Troubled(Pixels):
    """A model that records each request, which reveals repeated requests."""

    def __init__(self, spec: ModelSpec) -> None:
        super().__init__(spec)
        self._name = str(spec.settings["name"])
        self._clips = 0

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        self._meet_trouble()
        self._clips += 1
        for request, answer in zip(requests, super().answers(clip, requests), strict=True):
            with Path("asked", self._name).open("a") as stream:
                stream.write(f"{request.request_id}\n")
            yield answer

    def _meet_trouble(self) -> None:
        trouble = Path("trouble", self._name)
        if not trouble.is_file():
            return
        clips, action = trouble.read_text().split()
        if self._clips < int(clips):
            return
        trouble.unlink()
        if action == "fail":
            os._exit(3)
        note = Path("reached", f"{self._name}.tmp")
        note.write_text(f"{os.getpid()} {os.environ['SLURM_JOB_ID']} {os.environ.get('SLURMD_NODENAME', '')}")
        note.rename(Path("reached", self._name))
        time.sleep(LONGEST_S)

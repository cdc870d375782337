"""The adapter `troubled`, plugged into a copy of the library: answers by what it is shown, and stops once if it is told to.

The file `trouble/<name>` in the project's folder holds how many clips are answered before, and what happens then, once.
"""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from reprise.models.base import Answer, ClipFrames, ModelSpec, Request
from reprise.models.local.plugged import Pixels

LONGEST_S = 900


class Troubled(Pixels):
    """Notes each question, so that one that is asked twice is seen."""

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
        clips, what = trouble.read_text().split()
        if self._clips < int(clips):
            return
        trouble.unlink()
        if what == "fail":
            os._exit(3)
        note = Path("reached", f"{self._name}.tmp")
        note.write_text(f"{os.getpid()} {os.environ['SLURM_JOB_ID']} {os.environ.get('SLURMD_NODENAME', '')}")
        note.rename(Path("reached", self._name))
        time.sleep(LONGEST_S)

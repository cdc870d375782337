"""Preparers that worker processes import: frames as they are decoded, and clips at which something goes wrong."""

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from reprise.core.errors import MachineError, UserError
from reprise.media.decoder import read_frames
from reprise.media.errors import MediaError
from reprise.models.base import Answer, AnswerError, Clip, ModelSpec, Ready, Request

FAULTS = ("value", "media", "user", "machine", "memory", "exit", "segfault", "sigkill", "leave", "own")


class Preparer:
    """Numbers of a clip's frames; a clip that is named after a fault meets it."""

    def __init__(self, spec: ModelSpec) -> None:
        if "load" in spec.settings:
            raise UserError("no processor here")
        self._notes = Path(spec.settings["notes"]) if "notes" in spec.settings else None

    def read(self, clip: Clip) -> Any:
        if self._notes is not None:
            with self._notes.open("a") as stream:
                stream.write(f"{clip.clip_id} {os.getpid()}\n")
        self._fail(clip.clip_id)
        return read_frames(clip.path, clip.indices) if clip.path is not None else np.arange(len(clip.clip_id))

    def prepare(self, clip: Clip, frames: Any, requests: Sequence[Request]) -> Any:
        return {"frames": frames, "process": os.getpid(), "asked": [one.request_id for one in requests]}

    def _fail(self, name: str) -> None:
        if name == "value":
            raise ValueError("bad shape")
        if name == "media":
            raise MediaError("corrupt", "frame 3")
        if name == "user":
            raise UserError("correct the file")
        if name == "machine":
            raise MachineError("the disk is full")
        if name == "memory":
            raise MemoryError
        if name == "own":
            raise AnswerError("not_shown", "1 of 4 frames")
        if name == "exit":
            sys.exit(0)
        if name == "leave":
            os._exit(3)
        if name == "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        if name == "sigkill":
            os.kill(os.getpid(), signal.SIGKILL)
        if name == "slow":
            time.sleep(600)


class Summing:
    """Answers with the sum of what it is shown; nothing without a preparation."""

    def __init__(self, spec: ModelSpec) -> None:
        self.preparer = Preparer(spec)

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        raise NotImplementedError

    def answers_about(self, ready: Ready, requests: Sequence[Request]) -> Iterator[Answer]:
        ready.seconds["encode"] = 0.25
        for request in requests:
            yield Answer(text=f"{request.prompt}: {int(ready.value['frames'].sum())}")

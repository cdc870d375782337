"""Preparers that worker processes import: frames as they are decoded, and clips at which something goes wrong."""

import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from reprise.core.errors import MachineError, UserError
from reprise.media.decoder import read_frames
from reprise.media.errors import MediaError
from reprise.models.base import Answer, AnswerError, Clip, ModelSpec, Ready, Request

RAISED: dict[str, BaseException] = {
    "value": ValueError("bad shape"), "media": MediaError("corrupt", "frame 3"), "user": UserError("correct the file"),
    "machine": MachineError("the disk is full"), "memory": MemoryError(), "exit": SystemExit(0),
    "own": AnswerError("not_shown", "1 of 4 frames"),
}  # fmt: skip
ENDED = {"segfault": signal.SIGSEGV, "sigkill": signal.SIGKILL}


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
        if clip.clip_id in RAISED:
            raise RAISED[clip.clip_id]
        if clip.clip_id in ENDED:
            os.kill(os.getpid(), ENDED[clip.clip_id])
        if clip.clip_id == "leave":
            os._exit(3)
        return read_frames(clip.path, clip.indices) if clip.path is not None else np.arange(len(clip.clip_id))

    def prepare(self, clip: Clip, frames: Any, requests: Sequence[Request]) -> Any:
        return {"frames": frames, "process": os.getpid(), "asked": [one.request_id for one in requests]}


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

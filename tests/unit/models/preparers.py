"""What worker processes import, which is to be little: a preparer, at whose clips something goes wrong, and models."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from reprise.core.errors import MachineError, UserError
from reprise.media.errors import MediaError
from reprise.models.base import Answer, Clip, ModelSpec, Ready, Request

RAISED: dict[str, BaseException] = {
    "value": ValueError("bad shape"), "media": MediaError("corrupt", "frame 3"), "exit": SystemExit(0),
    "user": UserError("correct the file"), "machine": MachineError("the disk is full"),
}  # fmt: skip


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
        if clip.clip_id == "sigkill":
            os.kill(os.getpid(), signal.SIGKILL)
        return np.arange(len(clip.clip_id))

    def prepare(self, clip: Clip, frames: Any, requests: Sequence[Request]) -> Any:
        """Of several arrays, large and empty ones among them, as they pass between processes."""
        return {"pixels": np.full((9001, 3), 7, np.uint8), "none": np.empty((0, 3)), "frames": frames}


class Summing:
    """Answers with the sum of what it is shown; nothing without a preparation."""

    def __init__(self, spec: ModelSpec) -> None:
        self.preparer = Preparer(spec)

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        raise NotImplementedError

    def answers_about(self, ready: Ready, requests: Sequence[Request]) -> Iterator[Answer]:
        ready.seconds["encode"] = 0.25
        for request in requests:
            ready.value["frames"] += 0  # torch wants memory that it may write to
            yield Answer(text=f"{request.prompt}: {int(sum(one.sum() for one in ready.value.values()))}")


class Echo:
    """Answers with the prompt; at one question a process, by default its own, is sent a signal."""

    def __init__(self, at: str = "", what: int = signal.SIGKILL, whose: int = 0) -> None:
        self.at, self.what, self.whose = at, what, whose

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        for one in requests:
            if one.request_id == self.at:
                os.kill(self.whose or os.getpid(), self.what)
                time.sleep(60)
            yield Answer(text=one.prompt)

"""Preparers and models for worker processes, in a module with few imports; some clips trigger faults."""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from reprise.core.errors import MachineError, UserError
from reprise.media.errors import MediaError
from reprise.models.base import Answer, ClipFrames, ModelSpec, PreparedClip, Request

ERROR_BY_CLIP_ID: dict[str, BaseException] = {
    "value": ValueError("bad shape"), "media": MediaError("corrupt", "frame 3"), "exit": SystemExit(0),
    "user": UserError("correct the file"), "machine": MachineError("the disk is full"),
}  # fmt: skip


class Preparer:
    """Returns numbers for a clip's frames; a clip named after a fault triggers it."""

    def __init__(self, spec: ModelSpec) -> None:
        if "load" in spec.settings:
            raise UserError("no processor here")
        self._notes = Path(spec.settings["notes"]) if "notes" in spec.settings else None

    def read(self, clip: ClipFrames) -> Any:
        if self._notes is not None:
            with self._notes.open("a") as stream:
                stream.write(f"{clip.clip_id} {os.getpid()}\n")
        if clip.clip_id in ERROR_BY_CLIP_ID:
            raise ERROR_BY_CLIP_ID[clip.clip_id]
        if clip.clip_id == "sigkill":
            os.kill(os.getpid(), signal.SIGKILL)
        return np.arange(len(clip.clip_id))

    def prepare(self, clip: ClipFrames, frames: Any, requests: Sequence[Request]) -> Any:
        """Return several arrays, including large and empty ones, which pass between processes."""
        return {"pixels": np.full((9001, 3), 7, np.uint8), "none": np.empty((0, 3)), "frames": frames}


class SummingModel:
    """Answers with the sum of its inputs; requires prepared clips."""

    def __init__(self, spec: ModelSpec) -> None:
        self.preparer = Preparer(spec)

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        raise NotImplementedError

    def answers_about(self, ready: PreparedClip, requests: Sequence[Request]) -> Iterator[Answer]:
        ready.step_seconds["encode"] = 0.25
        for request in requests:
            ready.inputs["frames"] += 0  # torch wants memory that it may write to
            yield Answer(text=f"{request.prompt}: {int(sum(array.sum() for array in ready.inputs.values()))}")


class EchoModel:
    """Answers with the prompt; at one request, it sends a signal to a process, by default to its own."""

    def __init__(self, fault_request_id: str = "", signal_number: int = signal.SIGKILL, process_id: int = 0) -> None:
        self.fault_request_id = fault_request_id
        self.signal_number, self.process_id = signal_number, process_id

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            if request.request_id == self.fault_request_id:
                os.kill(self.process_id or os.getpid(), self.signal_number)
                time.sleep(60)
            yield Answer(text=request.prompt)

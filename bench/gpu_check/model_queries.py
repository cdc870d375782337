"""Run a model in the checks: a clip decoded from a file, questions about it, and the comparison of answers."""

import gc
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from reprise.models.local.torch_setup import torch

import av
import numpy as np
from reprise.media.probe import read_packet_index
from reprise.media.sampling import plan_frames
from reprise.models.base import Answer, ClipFrames, ModelSpec, Request
from reprise.models.keys import ModelRunKey
from reprise.models.local.transformers import TransformersAdapter

from bench.gpu_check.outcome import FailedError, Session
from bench.words import sentence

RATE = 8  # Frames per second of the generated videos.
START = "Carefully watch the video and pay attention to the sequence of events. Here is a caption of the video: "
END = "\nBased on your observation, does the given video entail the caption? Just answer with either Yes or No."
OPTIONS = ("Yes", "No")
# The tolerated difference of p(Yes) / (p(Yes) + p(No)) between two ways to compute it.
TOLERANCE = {"float32": 1e-4, "bfloat16": 0.05, "float16": 0.05}


class ClipAnswers(NamedTuple):
    """A model's answers about a clip: the share of Yes in each score, and the generated texts."""

    shares: tuple[float, ...]
    texts: tuple[str, ...]

    def largest_difference(self, reference: "ClipAnswers") -> float:
        """Return the largest difference of a share."""
        return max(abs(first - second) for first, second in zip(self.shares, reference.shares, strict=True))

    def count_text_differences(self, reference: "ClipAnswers") -> int:
        """Return the number of texts that differ."""
        return sum(first != second for first, second in zip(self.texts, reference.texts, strict=True))


def dtype_of(session: Session) -> str:
    """Return the data type of the weights on this device."""
    return "float32" if session.is_cpu else "bfloat16"


def video(session: Session, name: str = "clip") -> Path:
    """Return a video of 16 s (8 s with tiny shapes) of a noisy picture that moves, and write it if it is missing."""
    path = session.folder / f"{name}.mp4"
    if path.exists():
        return path
    session.folder.mkdir(parents=True, exist_ok=True)
    width, height, frames = (64, 48, 8 * RATE) if session.is_cpu else (1280, 720, 16 * RATE)
    generator = np.random.default_rng(sum(name.encode()))
    background = generator.integers(0, 256, (height, width, 3), np.uint8)
    scratch = path.with_name(f".{name}.{os.getpid()}.mp4")
    with av.open(scratch, "w") as container:
        stream: Any = container.add_stream("mpeg4", rate=Fraction(RATE), bit_rate=4_000_000)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for number in range(frames):
            picture = np.roll(background, (number, 3 * number), (0, 1))
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, "rgb24")))
        container.mux(stream.encode())
    return scratch.replace(path)


def clip_of(path: Path, frames: int, name: str = "clip") -> ClipFrames:
    """Return a clip with so many evenly spread planned frames."""
    index = read_packet_index(path)
    planned = plan_frames({"rule": "linspace", "frames": frames}, index.frame_count, index.times)
    return ClipFrames(name, path, planned.indices, planned.times_s)


def questions(count: int, request_type: str = "score", max_tokens: int = 1) -> list[Request]:
    """Return so many questions about made-up captions; those to score have the options Yes and No."""
    random = Random(count)  # noqa: S311  every process must get the same questions
    texts = [START + sentence(random, random.randrange(8, 16)) + END for _ in range(count)]
    options = OPTIONS if request_type == "score" else ()
    return [
        Request(f"{request_type} {number}", str(number), "pos", request_type, "", text, options, "Yes", max_tokens)
        for number, text in enumerate(texts)
    ]


def spec_of(session: Session, folder: Path, dtype: str = "", **settings: Any) -> ModelSpec:
    """Return the specification with which an adapter loads the model in a folder."""
    return ModelSpec(
        folder, session.device, 2, dtype or dtype_of(session), "sdpa", False, settings,
        prompt_start=START, has_frames=True, option_sets=(OPTIONS,),
    )  # fmt: skip


def key_of(
    session: Session, *, gpus: int, checkpoint: Path | None = None, model: Mapping[str, str] | None = None
) -> ModelRunKey:
    """Return the key of a run, with which a job loads its model."""
    answers = {
        "adapter": "transformers", "sampling": {"rule": "linspace", "frames": 8}, "model": dict(model or {}),
        "settings": {}, "dtype": dtype_of(session), "attention": "sdpa", "trust_remote_code": False,
        "prompt": {"user": START + "{caption}" + END}, "form": "check", "request_type": "score",
        "max_tokens": 1, "versions": {},
    }  # fmt: skip
    settings = {"run": "gpu/check/shapes/random", "key": "0" * 64, "answers": answers, "gpus": gpus}
    return ModelRunKey.model_validate(settings | ({"checkpoint": str(checkpoint)} if checkpoint else {}))


@contextmanager
def adapter_of(spec: ModelSpec) -> Iterator[TransformersAdapter]:
    """Load a model as a job does, and free its memory at the end."""
    adapter = TransformersAdapter(spec)
    try:
        yield adapter
    finally:
        adapter.model = adapter.current_clip = None
        del adapter
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def answer_clip(adapter: Any, clip: ClipFrames, *, scores: int = 4, texts: int = 2, max_tokens: int = 8) -> ClipAnswers:
    """Run the model on a clip; raise FailedError for an invalid answer."""
    shares = shares_of(list(adapter.answers(clip, questions(scores))), clip) if scores else ()
    text_answers = list(adapter.answers(clip, questions(texts, "write", max_tokens))) if texts else []
    _check(text_answers, clip)
    return ClipAnswers(shares, tuple(answer.text for answer in text_answers))


def shares_of(answers: Sequence[Answer], clip: ClipFrames) -> tuple[float, ...]:
    """Return p(Yes) / (p(Yes) + p(No)) of each answer."""
    _check(answers, clip)
    return tuple(yes / (yes + no) for yes, no in (answer.scores for answer in answers))


def _check(answers: Sequence[Answer], clip: ClipFrames) -> None:
    """Raise FailedError for a failed answer, or if the model received another number of frames than planned."""
    for answer in answers:
        if answer.error:
            raise FailedError(f"a request failed, {answer.error}: {answer.message}")
        if answer.frames_shown != len(clip.indices):
            raise FailedError(f"{len(clip.indices)} frames were planned, but the model received {answer.frames_shown}")

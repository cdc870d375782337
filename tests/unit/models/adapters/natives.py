"""A native class that is queried twice, by the adapter and as in its model card, and the frames that reached it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from reprise.media.decoder import read_frames
from reprise.models.base import Answer, ClipFrames, Request
from reprise.models.local.transformers import TransformersAdapter
from transformers import AutoModelForImageTextToText, AutoProcessor

from tests.unit.models.adapters.tiny_video import IMAGES, PATCH
from tests.unit.requests import request, spec
from tests.unit.videos import RATE, numbers

FRAMES = 48
"""of the test's video"""
YES_NO = ("Yes", "No")
QUESTION = "Does the red circle slide left quickly?"
SPLIT = {"idefics2": slice(4, None, 5), "llama4": slice(4, None, 5)}
"""pictures that contain a whole frame, for classes that also split frames"""
SHAPES = {"molmo2": (4, 4), "minicpmv4_6": (8, 8)}
"""rows and columns of the patches of a frame, for classes that pass patches without a grid"""
PARTS = {"minicpmv4_6": 3}
"""number of pictures of a frame, the first of which is the whole frame"""


class Native(NamedTuple):
    """A checkpoint that is loaded twice: by the adapter, and by the classes of transformers."""

    name: str
    folder: Path
    adapter: TransformersAdapter
    model: Any
    processor: Any

    @property
    def is_video(self) -> bool:
        return self.name not in (*IMAGES, "llama4")

    @property
    def together(self) -> int:
        """Return how many frames the model merges."""
        return int(getattr(getattr(self.processor, "video_processor", None), "temporal_patch_size", 1))

    def by_hand(self, clip: ClipFrames, asked: Request) -> dict[str, Any]:
        """Return the model inputs of the call in a model card."""
        frames = read_frames(clip.path, clip.indices) if clip.path else ()
        kinds = (["video"] if self.is_video else ["image"] * len(frames)) if len(frames) else []
        content = [*({"type": kind} for kind in kinds), {"type": "text", "text": asked.prompt}]
        messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
        if asked.system:
            messages.insert(0, {"role": "system", "content": [{"type": "text", "text": asked.system}]})
        text = self.processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        made = dict(self.processor(text=[text], return_tensors="pt", **self._given(clip, frames)))
        pixels = {name: one.to(self.model.dtype) for name, one in made.items() if name.startswith("pixel_values")}
        return made | pixels

    def _given(self, clip: ClipFrames, frames: Any) -> dict[str, Any]:
        if not len(frames):
            return {}
        if not self.is_video:
            return {"images": [Image.fromarray(frame) for frame in frames]}
        places = list(clip.indices)
        if len(frames) < self.together:
            frames, places = np.concatenate([frames, frames]), places * 2
        metadata = {"total_num_frames": FRAMES, "fps": RATE, "duration": FRAMES / RATE, "frames_indices": places}
        return {"videos": [frames], "video_metadata": [metadata], "do_sample_frames": False}

    def ask(self, clip: ClipFrames, asked: Request) -> tuple[Answer, dict[str, Any]]:
        """Return the adapter's answer and its model inputs."""
        given: list[dict[str, Any]] = []
        note = lambda _, __, options: given.append(options)  # noqa: E731
        with self.adapter.model.register_forward_pre_hook(note, with_kwargs=True):
            (answer,) = self.adapter.answers(clip, [asked])
        return answer, given[0] if given else {}

    def seen(self, given: dict[str, Any]) -> list[int]:
        """Return the numbers of the frames in the model inputs."""
        pixels = given.get("pixel_values_videos", given.get("pixel_values"))
        if pixels is None:
            return []
        if self.name in SHAPES:
            return numbers(_pictures_of_patches(self.name, pixels, self.processor.video_processor))
        return numbers(_pictures(self.name, pixels, given.get("video_grid_thw")))

    def shown(self, indices: tuple[int, ...]) -> list[int]:
        """Return the frames that the model receives; the last one is repeated if the model merges several."""
        return [*indices, *[indices[-1]] * (-len(indices) % self.together)]


def load(
    name: str, make: Callable[[Path], Path], folder: Path, dtype: str = "float32", engine: str = "plain"
) -> Native:
    made = make(folder)
    model = AutoModelForImageTextToText.from_pretrained(made, dtype=getattr(torch, dtype)).eval()
    adapter = TransformersAdapter(spec(made, dtype=dtype, engine=engine))
    return Native(name, made, adapter, model, AutoProcessor.from_pretrained(made))


def check(native: Native, clip: ClipFrames, *, system: str = "", question: str = QUESTION) -> Answer:
    """Check that the adapter's answer is bitwise that of the model card's call, with the frames of the plan."""
    asked = request(question, "score", YES_NO, system=system)
    expected = native.by_hand(clip, asked)
    with torch.inference_mode():
        logits = native.model(**expected, logits_to_keep=1).logits[0, -1]
    answer, given = native.ask(clip, asked)
    for name, value in expected.items():
        assert torch.equal(torch.as_tensor(value), given[name]), name
    assert native.seen(given) == (native.shown(clip.indices) if clip.indices else [])
    probabilities = torch.softmax(logits.double(), -1)
    words = native.processor.tokenizer.convert_tokens_to_ids([*YES_NO])
    length = expected["input_ids"].shape[1]
    assert answer == Answer(
        scores=tuple(probabilities[words].tolist()), frames_shown=len(clip.indices), tokens_in=length
    )
    return answer


def check_words(native: Native, clip: ClipFrames, *, system: str = "", tokens: int = 12) -> None:
    """Check that the adapter's text is that of `generate` on the model card's inputs."""
    asked = request(QUESTION, "write", max_tokens=tokens, system=system)
    given = native.by_hand(clip, asked)
    length = given["input_ids"].shape[1]
    with torch.inference_mode():
        new = native.model.generate(**given, max_new_tokens=tokens, do_sample=False)[0, length:]
    text = native.processor.tokenizer.decode(new, skip_special_tokens=True)
    expected = Answer(text=text, frames_shown=len(clip.indices), tokens_in=length, tokens_out=len(new))
    assert native.ask(clip, asked)[0] == expected


def _pictures(name: str, pixels: torch.Tensor, grid: torch.Tensor | None) -> npt.NDArray[np.uint8]:
    """Return the frames in a model's pixel tensor, of shape (frames, height, width, 3)."""
    if grid is not None:
        time, rows, columns = grid[0].tolist()
        together = pixels.shape[-1] // (3 * PATCH * PATCH)
        patches = pixels.reshape(time, rows // 2, columns // 2, 2, 2, 3, together, PATCH, PATCH)
        frames = patches.permute(0, 6, 5, 1, 3, 7, 2, 4, 8).reshape(together * time, 3, rows * PATCH, columns * PATCH)
    elif name == "llava_next":
        frames = pixels[:, 0]
    else:
        frames = (pixels[0] if pixels.ndim == 5 else pixels)[SPLIT.get(name, slice(None))]
    return ((frames.permute(0, 2, 3, 1) * 0.5 + 0.5) * 255).round().clamp(0, 255).byte().numpy()


def _pictures_of_patches(name: str, pixels: torch.Tensor, processor: Any) -> npt.NDArray[np.uint8]:
    """Return the frames in a tensor of shape (frames, patches, numbers of a patch), or of concatenated patches."""
    rows, columns = SHAPES[name]
    if pixels.ndim == 4:
        patches = pixels[0].reshape(3, PATCH, -1, PATCH).permute(2, 1, 3, 0)
        patches = patches.reshape(-1, PARTS[name], rows * columns, PATCH, PATCH, 3)[:, 0]
    else:
        patches = pixels[:, : rows * columns].reshape(len(pixels), rows * columns, PATCH, PATCH, 3)
    frames = patches.reshape(-1, rows, columns, PATCH, PATCH, 3).permute(0, 1, 3, 2, 4, 5)
    frames = frames.reshape(-1, rows * PATCH, columns * PATCH, 3)
    frames = frames * torch.tensor(processor.image_std) + torch.tensor(processor.image_mean)
    return (frames * 255).round().clamp(0, 255).byte().numpy()

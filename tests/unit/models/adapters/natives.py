"""Query a native class of transformers by the adapter and as in its model card, and read the frames that reached it."""

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

from tests.unit.models.adapters.tiny_video import IMAGE_CLASSES, PATCH
from tests.unit.requests import make_request, model_spec
from tests.unit.videos import RATE, read_barcodes

FRAME_COUNT = 48
"""number of frames of the test's video"""
YES_NO = ("Yes", "No")
QUESTION = "Does the red circle slide left quickly?"
WHOLE_FRAME_PICTURES = {"idefics2": slice(4, None, 5), "llama4": slice(4, None, 5)}
"""pictures that contain a whole frame, for classes that also split frames"""
PATCH_GRIDS = {"molmo2": (4, 4), "minicpmv4_6": (8, 8)}
"""rows and columns of the patches of a frame, for classes that pass patches without a grid"""
PICTURES_PER_FRAME = {"minicpmv4_6": 3}
"""number of pictures per frame; the first picture is the whole frame"""


class Native(NamedTuple):
    """A checkpoint that is loaded twice: by the adapter, and by the classes of transformers."""

    name: str
    folder: Path
    adapter: TransformersAdapter
    model: Any
    processor: Any

    @property
    def is_video(self) -> bool:
        return self.name not in (*IMAGE_CLASSES, "llama4")

    @property
    def merged_frame_count(self) -> int:
        """Return how many consecutive frames the model merges into one."""
        return int(getattr(getattr(self.processor, "video_processor", None), "temporal_patch_size", 1))

    def build_reference_inputs(self, clip: ClipFrames, request: Request) -> dict[str, Any]:
        """Return the model inputs of the call in the model card."""
        frames = read_frames(clip.path, clip.indices) if clip.path else ()
        kinds = (["video"] if self.is_video else ["image"] * len(frames)) if len(frames) else []
        content = [*({"type": kind} for kind in kinds), {"type": "text", "text": request.prompt}]
        messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
        if request.system:
            messages.insert(0, {"role": "system", "content": [{"type": "text", "text": request.system}]})
        text = self.processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        inputs = dict(self.processor(text=[text], return_tensors="pt", **self._frame_arguments(clip, frames)))
        pixels = {
            name: tensor.to(self.model.dtype) for name, tensor in inputs.items() if name.startswith("pixel_values")
        }
        return inputs | pixels

    def _frame_arguments(self, clip: ClipFrames, frames: Any) -> dict[str, Any]:
        if not len(frames):
            return {}
        if not self.is_video:
            return {"images": [Image.fromarray(frame) for frame in frames]}
        indices = list(clip.indices)
        if len(frames) < self.merged_frame_count:
            frames, indices = np.concatenate([frames, frames]), indices * 2
        metadata = {
            "total_num_frames": FRAME_COUNT,
            "fps": RATE,
            "duration": FRAME_COUNT / RATE,
            "frames_indices": indices,
        }
        return {"videos": [frames], "video_metadata": [metadata], "do_sample_frames": False}

    def query_adapter(self, clip: ClipFrames, request: Request) -> tuple[Answer, dict[str, Any]]:
        """Return the adapter's answer and its model inputs."""
        forward_calls: list[dict[str, Any]] = []

        def record_call(module: Any, arguments: Any, options: dict[str, Any]) -> None:
            forward_calls.append(options)

        with self.adapter.model.register_forward_pre_hook(record_call, with_kwargs=True):
            (answer,) = self.adapter.answers(clip, [request])
        return answer, forward_calls[0] if forward_calls else {}

    def read_frame_numbers(self, inputs: dict[str, Any]) -> list[int]:
        """Return the numbers of the frames in the model inputs."""
        pixels = inputs.get("pixel_values_videos", inputs.get("pixel_values"))
        if pixels is None:
            return []
        if self.name in PATCH_GRIDS:
            return read_barcodes(_extract_pictures_from_patches(self.name, pixels, self.processor.video_processor))
        return read_barcodes(_extract_pictures(self.name, pixels, inputs.get("video_grid_thw")))

    def pad_indices(self, indices: tuple[int, ...]) -> list[int]:
        """Return the frames that the model receives: it repeats the last frame if it merges several."""
        return [*indices, *[indices[-1]] * (-len(indices) % self.merged_frame_count)]


def load(
    name: str, make_checkpoint: Callable[[Path], Path], folder: Path, dtype: str = "float32", engine: str = "plain"
) -> Native:
    checkpoint = make_checkpoint(folder)
    model = AutoModelForImageTextToText.from_pretrained(checkpoint, dtype=getattr(torch, dtype)).eval()
    adapter = TransformersAdapter(model_spec(checkpoint, dtype=dtype, engine=engine))
    return Native(name, checkpoint, adapter, model, AutoProcessor.from_pretrained(checkpoint))


def check(native: Native, clip: ClipFrames, *, system: str = "", question: str = QUESTION) -> Answer:
    """Check that the adapter's answer is bitwise that of the model card's call, with the frames of the plan."""
    request = make_request(question, "score", YES_NO, system=system)
    expected = native.build_reference_inputs(clip, request)
    with torch.inference_mode():
        logits = native.model(**expected, logits_to_keep=1).logits[0, -1]
    answer, inputs = native.query_adapter(clip, request)
    for name, value in expected.items():
        assert torch.equal(torch.as_tensor(value), inputs[name]), name
    assert native.read_frame_numbers(inputs) == (native.pad_indices(clip.indices) if clip.indices else [])
    probabilities = torch.softmax(logits.double(), -1)
    option_ids = native.processor.tokenizer.convert_tokens_to_ids([*YES_NO])
    length = expected["input_ids"].shape[1]
    assert answer == Answer(
        scores=tuple(probabilities[option_ids].tolist()), frames_shown=len(clip.indices), tokens_in=length
    )
    return answer


def check_text(native: Native, clip: ClipFrames, *, system: str = "", max_tokens: int = 12) -> None:
    """Check that the adapter's text is that of `generate` on the model card's inputs."""
    request = make_request(QUESTION, "write", max_tokens=max_tokens, system=system)
    inputs = native.build_reference_inputs(clip, request)
    length = inputs["input_ids"].shape[1]
    with torch.inference_mode():
        new_tokens = native.model.generate(**inputs, max_new_tokens=max_tokens, do_sample=False)[0, length:]
    text = native.processor.tokenizer.decode(new_tokens, skip_special_tokens=True)
    expected = Answer(text=text, frames_shown=len(clip.indices), tokens_in=length, tokens_out=len(new_tokens))
    assert native.query_adapter(clip, request)[0] == expected


def _extract_pictures(name: str, pixels: torch.Tensor, grid: torch.Tensor | None) -> npt.NDArray[np.uint8]:
    """Return the frames in a model's pixel tensor, of shape (frames, height, width, 3)."""
    if grid is not None:
        time, rows, columns = grid[0].tolist()
        merged = pixels.shape[-1] // (3 * PATCH * PATCH)
        patches = pixels.reshape(time, rows // 2, columns // 2, 2, 2, 3, merged, PATCH, PATCH)
        frames = patches.permute(0, 6, 5, 1, 3, 7, 2, 4, 8).reshape(merged * time, 3, rows * PATCH, columns * PATCH)
    elif name == "llava_next":
        frames = pixels[:, 0]
    else:
        frames = (pixels[0] if pixels.ndim == 5 else pixels)[WHOLE_FRAME_PICTURES.get(name, slice(None))]
    return ((frames.permute(0, 2, 3, 1) * 0.5 + 0.5) * 255).round().clamp(0, 255).byte().numpy()


def _extract_pictures_from_patches(name: str, pixels: torch.Tensor, processor: Any) -> npt.NDArray[np.uint8]:
    """Return the frames in a tensor of shape (frames, patches, numbers of a patch), or of concatenated patches."""
    rows, columns = PATCH_GRIDS[name]
    if pixels.ndim == 4:
        patches = pixels[0].reshape(3, PATCH, -1, PATCH).permute(2, 1, 3, 0)
        patches = patches.reshape(-1, PICTURES_PER_FRAME[name], rows * columns, PATCH, PATCH, 3)[:, 0]
    else:
        patches = pixels[:, : rows * columns].reshape(len(pixels), rows * columns, PATCH, PATCH, 3)
    frames = patches.reshape(-1, rows, columns, PATCH, PATCH, 3).permute(0, 1, 3, 2, 4, 5)
    frames = frames.reshape(-1, rows * PATCH, columns * PATCH, 3)
    frames = frames * torch.tensor(processor.image_std) + torch.tensor(processor.image_mean)
    return (frames * 255).round().clamp(0, 255).byte().numpy()

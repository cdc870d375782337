"""How large the clips of a run are for a model: as its processor prepares frames of that number and size."""

import math
from collections.abc import Sequence

import numpy as np

from reprise.media.decoder import Footage
from reprise.media.errors import MediaError
from reprise.media.probe import open_video
from reprise.models.base import AnswerError, Clip, LargestClip, ModelSpec
from reprise.models.local.clip_inputs import ClipProcessor
from reprise.models.local.devices import ClipSize
from reprise.models.local.weights import vision_configuration

# Clips whose files are opened for the size of their frames, and tokens of a prompt beside those of its clip.
OPENED, TEXT_TOKENS = 64, 1024


def largest_clip(clips: Sequence[Clip]) -> LargestClip:
    """Return the most pictures of a clip, and the largest height and width in a sample of the files."""
    shown = [clip for clip in clips if clip.path is not None and clip.indices]
    most = max((clip.pictures for clip in shown), default=0)
    heights, widths = [0], [0]
    for clip in shown[:: max(1, len(shown) // OPENED)]:
        rows, columns = clip.grid or (1, 1)
        try:
            assert clip.path is not None
            with open_video(clip.path) as (_, stream):
                heights.append(stream.height * rows)
                widths.append(stream.width * columns)
        except MediaError:
            continue  # a failure of this clip, which its own questions report
    return LargestClip(most if max(heights) else 0, max(heights), max(widths))


def clip_size(spec: ModelSpec, processor: ClipProcessor) -> ClipSize | None:
    """Return what a model is given of the largest clip of its run; None where no clip is named, or none can be made."""
    if spec.largest is None:
        return None
    frames, height, width = spec.largest
    if not frames:
        return ClipSize(TEXT_TOKENS)
    black = np.zeros((frames, height, width, 3), np.uint8)
    try:
        made = processor.prepare(Footage(black, tuple(range(frames)), 1.0, frames))
    except AnswerError:  # which each question will fail with
        return None
    pixels = sum(math.prod(value.shape) for name, value in made.tensors.items() if name.startswith("pixel_values"))
    shape = vision_configuration(spec.weights)
    patch = shape.get("patch_size")
    numbers = 3 * int(patch) ** 2 * int(shape.get("temporal_patch_size") or 1) if isinstance(patch, int) else 0
    return ClipSize(made.placeholders + TEXT_TOKENS, pixels // numbers if numbers else 0, pixels)


def clip_size_of(spec: ModelSpec) -> ClipSize | None:
    """Return the same where no processor is loaded yet."""
    return clip_size(spec, ClipProcessor(spec)) if spec.largest is not None else None

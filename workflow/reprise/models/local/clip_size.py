"""Size of a run's clips as model inputs, measured by preprocessing frames of that number and size."""

import math
from collections.abc import Sequence

import numpy as np

from reprise.media.decoder import Footage
from reprise.media.errors import MediaError
from reprise.media.probe import open_video
from reprise.models.base import AnswerError, ClipFrames, LargestClip, ModelSpec
from reprise.models.local.clip_inputs import ClipProcessor
from reprise.models.local.device_memory import ClipSize
from reprise.models.local.weights import read_vision_config

# Number of clips whose files are opened for the frame size, and an allowance for prompt tokens besides the clip's.
MAX_OPENED_CLIPS, PROMPT_TOKEN_ALLOWANCE = 64, 1024


def find_largest_clip(clips: Sequence[ClipFrames]) -> LargestClip:
    """Return the largest number of pictures of a clip, and the largest height and width in a sample of the files."""
    with_frames = [clip for clip in clips if clip.path is not None and clip.indices]
    max_pictures = max((clip.picture_count for clip in with_frames), default=0)
    heights, widths = [0], [0]
    for clip in with_frames[:: max(1, len(with_frames) // MAX_OPENED_CLIPS)]:
        rows, columns = clip.grid or (1, 1)
        try:
            assert clip.path is not None
            with open_video(clip.path) as (_, stream):
                heights.append(stream.height * rows)
                widths.append(stream.width * columns)
        except MediaError:
            continue  # the requests about this clip will report the failure
    return LargestClip(max_pictures if max(heights) else 0, max(heights), max(widths))


def compute_clip_size(spec: ModelSpec, processor: ClipProcessor) -> ClipSize | None:
    """Return the input size of the run's largest clip; None if no clip is specified or it cannot be prepared."""
    if spec.largest_clip is None:
        return None
    frames, height, width = spec.largest_clip
    if not frames:
        return ClipSize(PROMPT_TOKEN_ALLOWANCE)
    black = np.zeros((frames, height, width, 3), np.uint8)
    try:
        inputs = processor.prepare(Footage(black, tuple(range(frames)), 1.0, frames))
    except AnswerError:  # each question will fail with the same error
        return None
    pixels = sum(math.prod(value.shape) for name, value in inputs.tensors.items() if name.startswith("pixel_values"))
    vision = read_vision_config(spec.weights)
    patch = vision.get("patch_size")
    patch_numbers = 3 * int(patch) ** 2 * int(vision.get("temporal_patch_size") or 1) if isinstance(patch, int) else 0
    return ClipSize(
        inputs.placeholder_count + PROMPT_TOKEN_ALLOWANCE, pixels // patch_numbers if patch_numbers else 0, pixels
    )


def compute_largest_clip_size(spec: ModelSpec) -> ClipSize | None:
    """Return the same as `compute_clip_size`, with a processor that is loaded for this call."""
    return compute_clip_size(spec, ClipProcessor(spec)) if spec.largest_clip is not None else None

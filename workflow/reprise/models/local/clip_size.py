"""Measure the size of a run's largest clip as model inputs, by preprocessing frames of that number and size."""

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

# Approximate number of clips whose files are opened for their frame size.
MAX_OPENED_CLIPS = 64
# Assumed number of prompt tokens in addition to those of the clip.
PROMPT_TOKEN_ALLOWANCE = 1024


def find_largest_clip(clips: Sequence[ClipFrames]) -> LargestClip:
    """Return the largest number of pictures of all clips, and the largest height and width of a sample of clips."""
    clips_with_frames = [clip for clip in clips if clip.path is not None and clip.indices]
    max_pictures = max((clip.picture_count for clip in clips_with_frames), default=0)
    heights, widths = [0], [0]
    for clip in clips_with_frames[:: max(1, len(clips_with_frames) // MAX_OPENED_CLIPS)]:
        rows, columns = clip.grid or (1, 1)
        try:
            assert clip.path is not None
            with open_video(clip.path) as (_, stream):
                heights.append(stream.height * rows)
                widths.append(stream.width * columns)
        except MediaError:
            continue  # the requests about this clip will fail with the same error
    return LargestClip(max_pictures if max(heights) else 0, max(heights), max(widths))


def compute_clip_size(spec: ModelSpec, processor: ClipProcessor) -> ClipSize | None:
    """Return the input size of the run's largest clip; None if no clip is specified or it cannot be prepared."""
    if spec.largest_clip is None:
        return None
    frame_count, height, width = spec.largest_clip
    if not frame_count:
        return ClipSize(PROMPT_TOKEN_ALLOWANCE)
    black_frames = np.zeros((frame_count, height, width, 3), np.uint8)
    try:
        inputs = processor.prepare(Footage(black_frames, tuple(range(frame_count)), 1.0, frame_count))
    except AnswerError:  # each question will fail with the same error
        return None
    pixel_value_count = sum(
        math.prod(value.shape) for name, value in inputs.tensors.items() if name.startswith("pixel_values")
    )
    vision = read_vision_config(spec.weights_folder)
    patch_size = vision.get("patch_size")
    values_per_patch = (
        3 * int(patch_size) ** 2 * int(vision.get("temporal_patch_size") or 1) if isinstance(patch_size, int) else 0
    )
    return ClipSize(
        inputs.placeholder_count + PROMPT_TOKEN_ALLOWANCE,
        pixel_value_count // values_per_patch if values_per_patch else 0,
        pixel_value_count,
    )


def compute_largest_clip_size(spec: ModelSpec) -> ClipSize | None:
    """Load the processor, and return the input size of the run's largest clip."""
    return compute_clip_size(spec, ClipProcessor(spec)) if spec.largest_clip is not None else None

"""Limits of pixels by the kinds of video processors, and the number of pictures in what a processor made."""

import math
from collections.abc import Mapping
from typing import Any

from reprise.core.errors import UserError
from reprise.models.settings import TransformersSettings

# What the `size` of a class limits: the pixels of one frame, or those of all frames together.
OF_A_FRAME, OF_THE_CLIP = "frame", "clip"
LIMITED = {
    "Qwen2VLVideoProcessor": (OF_A_FRAME, OF_A_FRAME),
    "VideoLlama3VideoProcessor": (OF_A_FRAME, OF_THE_CLIP),
    "Qwen3VLVideoProcessor": (OF_THE_CLIP, OF_THE_CLIP),
    "Glm4vVideoProcessor": (OF_THE_CLIP, OF_THE_CLIP),
    "Glm46VVideoProcessor": (OF_THE_CLIP, OF_THE_CLIP),
}
"""Class of a video processor -> what its least and its most pixels are of."""


def check_limits(settings: TransformersSettings, video_processor: Any) -> None:
    """Refuse limits that the processor would not keep."""
    given = [name for name in ("min_pixels", "max_pixels", "total_pixels") if getattr(settings, name) is not None]
    kind = type(video_processor).__name__
    if given and kind not in LIMITED:
        where = f"{kind} has a fixed size" if video_processor is not None else "it is shown images"
        raise UserError(
            f"settings.{given[0]}: this model has no limits of pixels: {where}. "
            f"Remove {', '.join(given)} from its file."
        )


def size_for(settings: TransformersSettings, video_processor: Any, frames: int) -> dict[str, Any]:
    """The arguments that limit the pixels of a clip with this many frames; none where the settings say nothing."""
    options: dict[str, Any] = {}
    if getattr(video_processor, "cap_pixels_per_frame", False) is None:
        options["cap_pixels_per_frame"] = False  # unset, it is to change with a later version
    if settings.min_pixels is None and settings.max_pixels is None:
        return options
    own, (least_of, most_of) = video_processor.size, LIMITED[type(video_processor).__name__]
    least = settings.min_pixels and settings.min_pixels * (frames if least_of == OF_THE_CLIP else 1)
    most = settings.max_pixels
    if settings.total_pixels is not None and most is not None and settings.min_pixels is not None:
        most = int(max(min(most, settings.total_pixels / frames * 2), int(settings.min_pixels * 1.05)))
    most = most and most * (frames if most_of == OF_THE_CLIP else 1)
    size = {"shortest_edge": least or own["shortest_edge"], "longest_edge": most or own["longest_edge"]}
    return options | {"size": size}


def pictures_in(made: Mapping[str, Any]) -> int:
    """How many pictures a processor made of frames; zero where it made none, or not as many as it says."""
    pixels = made.get("pixel_values_videos", made.get("pixel_values"))
    if pixels is None:
        return 0
    grid = made.get("video_grid_thw", made.get("image_grid_thw"))
    if grid is not None:
        return int(grid[:, 0].sum()) if len(pixels) == int(grid.prod(-1).sum()) else 0
    sizes = sizes_in(made)
    if sizes is not None:  # all pictures side by side
        return len(sizes) if pixels.shape[-1] == int(sizes.prod(-1).sum()) * pixels.shape[-2] else 0
    if pixels.ndim == 3:  # pictures, each cut into patches
        return len(pixels)
    return math.prod(pixels.shape[:-3])


def sizes_in(made: Mapping[str, Any]) -> Any:
    """The sizes of pictures that a processor put side by side, some of which may be parts of a frame."""
    return made.get("target_sizes_videos", made.get("target_sizes"))

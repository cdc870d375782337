"""Settings of the stages that make and measure clips; imports neither av nor OpenCV, so that a configuration can."""

from typing import Literal

from pydantic import Field

from reprise.core.keyfile import Settings

Preset = Literal["ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow"]


class Encode(Settings):
    """How clips are encoded with x264."""

    crf: int = Field(18, ge=0, le=51)
    preset: Preset = "veryfast"
    overhang_s: float = Field(0.5, ge=0)
    """By how much a span may reach beyond its video's end; the clip then ends with the video."""


class Concat(Settings):
    """Vinoground's concatenation: first clip, black span, second clip."""

    black_s: float = Field(2.0, gt=0)


class Images(Settings):
    """Pseudo-clips: every still image is repeated this often (MMBench-Video section 4.2 does not say how often)."""

    frames: int = Field(16, ge=1)
    fps: int = Field(8, ge=1)


class ClipSettings(Settings):
    encode: Encode = Encode()
    concat: Concat = Concat()
    images: Images = Images()


class Shots(Settings):
    """PySceneDetect's detector; a shot shorter than `min_scene_frames` counts as part of the one before."""

    detector: Literal["content", "adaptive"] = "content"
    threshold: float = Field(27.0, gt=0)
    min_scene_frames: int = Field(8, ge=1)


class Motion(Settings):
    """Farneback optical flow between frames this far apart, in % of the long side."""

    fps: float = Field(2.0, gt=0)
    long_side: int = Field(160, ge=32)
    static_below: float = Field(0.15, ge=0)


class FactSettings(Settings):
    shots: Shots = Shots()
    motion: Motion = Motion()

"""Settings of the stages that make and measure clips.

This module imports neither av nor OpenCV, so that the configuration loads without them.
"""

from typing import Literal

from pydantic import Field

from reprise.core.settings import Settings

Preset = Literal["ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow"]


class Limits(Settings):
    """The largest videos and images that are taken; what exceeds a limit is missing, with this reason."""

    pixels: int = Field(36_000_000, ge=1)
    """Pixels of a picture: width times height. Decoding takes up to about 100 bytes of memory for each."""
    frames: int = Field(1_000_000, ge=1)
    """Frames of a video."""
    duration_s: float = Field(21_600.0, gt=0)
    """Seconds of a video."""
    fps: float = Field(1000.0, gt=0)
    """Frames a second of a video; one that is joined to another makes all of it as fast."""


DEFAULT_LIMITS = Limits()


class Encode(Settings):
    """How clips are encoded with x264."""

    crf: int = Field(18, ge=0, le=51)
    """x264's constant rate factor: 0 is lossless, 51 the worst."""
    preset: Preset = "veryfast"
    """x264's preset: slower ones make smaller files."""
    overhang_s: float = Field(0.5, ge=0)
    """Seconds by which a span may reach beyond its video's end; the clip then ends with the video."""


class Concat(Settings):
    """Vinoground's concatenation: first clip, black span, second clip."""

    black_s: float = Field(2.0, gt=0)
    """Seconds of black between the two videos."""


class Images(Settings):
    """Still images as clips; MMBench-Video's section 4.2 does not state their length."""

    frames: int = Field(16, ge=1)
    """How often the image is repeated."""
    fps: int = Field(8, ge=1)
    """Frames a second."""


class ClipSettings(Settings):
    """How clips are made."""

    encode: Encode = Encode()
    """Encoding of clips that are trimmed or joined."""
    concat: Concat = Concat()
    """Concatenations of two videos."""
    images: Images = Images()
    """Still images as clips."""


class Shots(Settings):
    """Detection of shots, by PySceneDetect."""

    detector: Literal["content", "adaptive"] = "content"
    """PySceneDetect's detector."""
    threshold: float = Field(27.0, gt=0)
    """The detector's threshold; lower ones find more shots."""
    min_scene_frames: int = Field(15, ge=1)
    """A shot of fewer frames counts as part of the one before; 15 is PySceneDetect's default."""


class Motion(Settings):
    """Measuring of motion: Farneback's optical flow between frames, in % of their long side."""

    fps: float = Field(2.0, gt=0)
    """Frames a second that are compared."""
    long_side: int = Field(160, ge=32)
    """Frames are scaled to this many pixels on their long side first."""
    static_below: float = Field(0.15, ge=0)
    """A clip of less motion is static, in % of the long side."""


class FactSettings(Settings):
    """How clips are measured."""

    shots: Shots = Shots()
    """Detection of shots."""
    motion: Motion = Motion()
    """Measuring of motion."""

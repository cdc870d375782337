"""Define the settings of the stages that make and measure clips.

This module imports neither av nor OpenCV, because loading the configuration must not need them.
"""

from typing import Literal

from pydantic import Field

from reprise.core.settings import Settings

Preset = Literal["ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow"]


class Limits(Settings):
    """Maximum size of videos and images. A larger file counts as missing, and the manifest names the limit."""

    pixels: int = Field(36_000_000, ge=1)
    """Pixels of a picture. Decoding takes up to about 100 bytes of memory per pixel."""
    frames: int = Field(1_000_000, ge=1)
    """Frames of a video."""
    duration_s: float = Field(21_600.0, gt=0)
    """Duration of a video in seconds."""
    fps: float = Field(1000.0, gt=0)
    """Frame rate of a video. For two joined videos, the higher of their rates counts."""


DEFAULT_LIMITS = Limits()


class Encode(Settings):
    """x264 encoding of clips."""

    crf: int = Field(18, ge=0, le=51)
    """Constant rate factor: 0 is lossless, 51 the worst quality."""
    preset: Preset = "veryfast"
    """Preset; slower presets produce smaller files."""
    overhang_s: float = Field(0.5, ge=0)
    """Seconds by which the span of a clip may end after its source video. The clip then ends with the video."""


class Concat(Settings):
    """Joined videos for Vinoground's video questions: first video, black frames, second video."""

    black_s: float = Field(2.0, gt=0)
    """Seconds of black between the two videos."""


class Images(Settings):
    """Still images as clips; MMBench-Video's section 4.2 does not state their length."""

    frames: int = Field(16, ge=1)
    """Number of times that the image is repeated."""
    fps: int = Field(8, ge=1)
    """Frame rate."""


class ClipSettings(Settings):
    """How clips are made."""

    encode: Encode = Encode()
    """Encoding of trimmed and concatenated clips."""
    concat: Concat = Concat()
    """Concatenations of two videos."""
    images: Images = Images()
    """Still images as clips."""


class Shots(Settings):
    """Shot detection with PySceneDetect."""

    detector: Literal["content", "adaptive"] = "content"
    """PySceneDetect's detector."""
    threshold: float = Field(27.0, gt=0)
    """Detection threshold; a lower one finds more shots."""
    min_scene_frames: int = Field(15, ge=1)
    """Minimum frames of a shot; shorter ones are merged with the shot before."""


class Motion(Settings):
    """Motion measurement: Farneback's optical flow between frames, in % of their long side."""

    fps: float = Field(2.0, gt=0)
    """How many frames per second are compared."""
    long_side: int = Field(160, ge=32)
    """Long side in pixels to which frames are scaled."""
    static_below: float = Field(0.15, ge=0)
    """Motion below which a clip is static."""


class ClipMetadataSettings(Settings):
    """Measurement of clips."""

    shots: Shots = Shots()
    """Shot detection."""
    motion: Motion = Motion()
    """Motion measurement."""

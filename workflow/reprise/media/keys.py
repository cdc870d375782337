"""Define the settings of the stages `clips`, `clip_metadata`, `frames` and `preview`."""

from typing import Any

from pydantic import Field

from reprise.core.settings import Key
from reprise.media.settings import ClipMetadataSettings, ClipSettings


class ClipsKey(ClipSettings, Key):
    """Settings of the stage `clips`."""

    shards: int = Field(ge=1)


class ClipMetadataKey(ClipMetadataSettings, Key):
    """Settings of the stage `clip_metadata`."""


class FramesKey(Key):
    """Settings of the stages `frames` and `preview`: a sampling rule (`sampling.py`) with its parameters."""

    rule: dict[str, Any]

"""Keys of clips, of clip metadata, and of the frames that a sampling selects."""

from typing import Any

from pydantic import Field

from reprise.core.settings import Key
from reprise.media.settings import ClipMetadataSettings, ClipSettings


class ClipsKey(ClipSettings, Key):
    shards: int = Field(ge=1)


class ClipMetadataKey(ClipMetadataSettings, Key):
    """Key of the stage `clip_metadata`."""


class FramesKey(Key):
    """Key of the stages `frames` and `preview`: one named sampling rule (`reprise.media.sampling.RULES`)."""

    rule: dict[str, Any]

"""Requests of OpenAI's chat completions, as bytes: frames are put in as they are, since they are megabytes."""

import json
from collections.abc import Sequence
from typing import Any

from reprise.models.base import Request
from reprise.models.remote.images import Encoded
from reprise.models.settings import OpenAISettings

IMAGE = b'{"type":"image_url","image_url":{"url":"data:image/png;base64,', b'"}},'
# The type of a list of frames, whatever the format of each: the server looks at the frames.
VIDEO = b'{"type":"video_url","video_url":{"url":"data:video/jpeg;base64,', b'"}},'


class Chat:
    """Requests about one clip, all with the same frames in front."""

    def __init__(self, settings: OpenAISettings, shown: Encoded | None) -> None:
        self._settings, self._shown = settings, shown
        self._visual = self._visuals(self.frames)

    @property
    def frames(self) -> int:
        return len(self._shown.images) if self._shown else 0

    @property
    def size(self) -> int:
        return len(self._visual)

    def ask(self, request: Request, tokens: Sequence[int] = ()) -> bytes:
        """A question; with the tokens whose probabilities are wanted, where it asks for a score."""
        wanted = {
            "logprobs": True,
            "logprob_token_ids": list(tokens),
            "return_tokens_as_token_ids": True,
        }
        limit = self._settings.max_tokens or request.max_tokens
        own = wanted | self._limit(1) if tokens else self._limit(limit)
        return self._body(request, own | self._times(self.frames), self._visual)

    def ask_with(self, frames: int, request: Request, tokens_out: int) -> bytes:
        """The question with the first frames alone."""
        return self._body(request, self._limit(tokens_out) | self._times(frames), self._visuals(frames))

    def _limit(self, tokens: int) -> dict[str, Any]:
        return {self._settings.max_tokens_field: tokens}

    def _body(self, request: Request, own: dict[str, Any], visual: bytes) -> bytes:
        settings = self._settings
        fields = settings.body | own | {"model": settings.model}
        if settings.temperature is not None:
            fields["temperature"] = settings.temperature
        system = _json({"role": "system", "content": request.system}) + b"," if request.system else b""
        text = [_json({"type": "text", "text": request.prompt})]
        content = b"".join([b"[", visual, *text, b"]"]) if visual else _json(request.prompt)
        start = _json(fields)[:-1]
        return b"".join([start, b',"messages":[', system, b'{"role":"user","content":', content, b"}]}"])

    def _visuals(self, frames: int) -> bytes:
        if self._shown is None or frames == 0:
            return b""
        images = self._shown.images[:frames]
        if self._settings.frames == "video":
            return b",".join(images).join(VIDEO)
        return b"".join(image.join(IMAGE) for image in images)

    def _times(self, frames: int) -> dict[str, Any]:
        """When the frames of a video are shown, and that none is to be left out."""
        if self._shown is None or frames == 0 or self._settings.frames != "video":
            return {}
        video = {
            "num_frames": -1,
            "fps": self._shown.rate,
            "frames_indices": list(self._shown.places[:frames]),
            "total_num_frames": self._shown.total,
            "duration": self._shown.total / self._shown.rate,
        }
        return {"media_io_kwargs": {"video": video}}


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()

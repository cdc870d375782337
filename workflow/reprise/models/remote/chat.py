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
        self.frames = len(shown.images) if shown else 0
        self.visual = self._visuals(self.frames)

    def ask(self, request: Request, tokens_out: int, wanted: Sequence[int] = (), *, frames: int | None = None) -> bytes:
        """A question; with the tokens whose probabilities are wanted, where it asks for a score, and maybe with the
        first frames alone."""
        settings, count = self._settings, self.frames if frames is None else frames
        fields = settings.body | {settings.max_tokens_field: tokens_out, "model": settings.model}
        if wanted:
            fields |= {"logprobs": True, "logprob_token_ids": list(wanted), "return_tokens_as_token_ids": True}
        if settings.temperature is not None:
            fields["temperature"] = settings.temperature
        if self._shown is not None and count and settings.frames == "video":
            # When its frames are shown, and that none is to be left out.
            video = {
                "num_frames": -1,
                "fps": self._shown.rate,
                "frames_indices": list(self._shown.places[:count]),
                "total_num_frames": self._shown.total,
                "duration": self._shown.total / self._shown.rate,
            }
            fields["media_io_kwargs"] = {"video": video}
        system = _json({"role": "system", "content": request.system}) + b"," if request.system else b""
        content = _json(request.prompt)
        if visual := self.visual if frames is None else self._visuals(frames):
            content = b"".join([b"[", visual, _json({"type": "text", "text": request.prompt}), b"]"])
        start = _json(fields)[:-1]
        return b"".join([start, b',"messages":[', system, b'{"role":"user","content":', content, b"}]}"])

    def _visuals(self, frames: int) -> bytes:
        images = self._shown.images[:frames] if self._shown else ()
        if self._settings.frames == "video" and images:
            return b",".join(images).join(VIDEO)
        return b"".join(image.join(IMAGE) for image in images)


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()

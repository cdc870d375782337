"""Adapter for the models of Gemini: frames as lossless images, or the clip's file, uploaded once and deleted."""

import asyncio
import math
import time
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from mimetypes import guess_type
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from google.genai import Client, errors, types

from reprise.core.log import log
from reprise.core.plain import plain
from reprise.media.probe import packet_index
from reprise.models.asking.money.calls import Calls
from reprise.models.asking.money.estimates import Estimates
from reprise.models.asking.money.vendors import Shown, limits_of
from reprise.models.base import Answer, AnswerError, Clip, Due, ModelSpec, Request
from reprise.models.remote.adapter import RemoteAdapter
from reprise.models.remote.bounded_client import AsyncClient
from reprise.models.remote.gemini_replies import answer_of, failure_of_gemini, used_by
from reprise.models.remote.images import Encoded
from reprise.models.remote.settings import GeminiSettings
from reprise.models.remote.uploads import Uploads, leftovers, own_uploads

HOST = "generativelanguage.googleapis.com"
# A frame of a video, with the second's sound and time stamp, by ai.google.dev/gemini-api/docs/video-understanding.
FRAME_TOKENS, SECOND_TOKENS = 280, 42
# Between looks whether an uploaded file is ready: at first and at most.
FIRST_LOOK_S, LAST_LOOK_S = 0.1, 5.0
GONE = (403, 404)


class GeminiAdapter(RemoteAdapter):
    """A model of Gemini."""

    def __init__(self, spec: ModelSpec) -> None:
        self._settings = GeminiSettings.model_validate(spec.settings)
        super().__init__(spec, self._settings)
        self.takes_files = self._settings.frames == "video"
        self.limits = limits_of(self._settings.url, HOST)
        own = self._settings.image_tokens
        of_video = own or FRAME_TOKENS + math.ceil(SECOND_TOKENS / self._settings.fps)
        self._estimates = Estimates(of_video if self.takes_files else own, self.limits, is_paid=self.is_paid)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator["Gemini"]:
        settings = self._settings
        # The SDK would send by aiohttp, where that is installed, and then tries again by itself.
        sender = AsyncClient()
        sender.seconds = max(settings.timeout_s, settings.upload_s if self.takes_files else 0)
        options = types.HttpOptions(
            httpx_async_client=sender,
            base_url=settings.url,
            api_version="v1beta",
            timeout=int(1000 * settings.timeout_s),
            retry_options=types.HttpRetryOptions(attempts=1),  # each try is paid for, and counted, by itself
        )
        calls = Calls(self._account, settings, partial(failure_of_gemini, settings=settings))
        async with sender, Client(vertexai=False, api_key=self._key, http_options=options).aio as client:
            gemini = Gemini(client, calls, settings, self._estimates)
            if not self.takes_files:
                yield gemini
                return
            store = self._account.store if self._account else Path()
            folder = store / "uploads" / urlsplit(settings.url).netloc.replace(":", "_")
            with leftovers(folder) as left:
                for uploads in left:
                    for name in uploads.left():
                        await gemini.delete(name, uploads)
            with own_uploads(folder) as own:
                gemini.uploads = own
                yield gemini


class Gemini:
    """A connection to the interface."""

    def __init__(self, client: Any, calls: Calls, settings: GeminiSettings, estimates: Estimates) -> None:
        self._client, self._calls, self.settings, self.estimates = client, calls, settings, estimates
        self.uploads: Uploads | None = None

    async def show(self, due: Due, frames: Encoded | None, seconds: dict[str, float]) -> "AskedImages | AskedVideo":
        if self.uploads is not None and due.clip.path is not None and due.clip.indices:
            return AskedVideo(self, due.clip)
        return AskedImages(self, frames, seconds)

    async def ask(self, request: Request, visual: list[types.Part], shown: Shown | None) -> Answer:
        """The answer to one question about what is shown."""
        settings = self.settings
        tokens = settings.max_tokens or request.max_tokens
        worst = self.estimates.worst(request.system + request.prompt, shown, tokens)
        contents = [types.Content(role="user", parts=[*visual, types.Part(text=request.prompt)])]
        config = config_of(request, tokens, settings)
        models = self._client.models
        reply = await self._calls.call(
            worst, lambda: models.generate_content(model=settings.model, contents=contents, config=config), used_by
        )
        answer = answer_of(reply, settings, shown.frames if shown else 0)
        self.estimates.learn(shown, answer.tokens_in)
        return answer

    async def upload(self, path: Path, names: list[str]) -> types.File:
        """The clip's file at the vendor, ready to be asked about; `names` are those under which it may be there."""
        file: types.File = await self._calls.call_free(lambda: self._upload_once(path, names))
        start, wait = time.monotonic(), FIRST_LOOK_S
        while file.state != types.FileState.ACTIVE:
            if file.state == types.FileState.FAILED:
                said = plain(str(file.error.message if file.error else "")) or "no reason is given"
                raise AnswerError("bad_request", f"the vendor cannot read the uploaded clip: {said}")
            if time.monotonic() - start > self.settings.upload_s:
                raise AnswerError("timeout", f"the uploaded clip is not ready after {self.settings.upload_s:g} s")
            await asyncio.sleep(wait)
            wait = min(LAST_LOOK_S, 2 * wait)
            look: Callable[[], Awaitable[types.File]] = partial(self._client.files.get, name=file.name)
            file = await self._calls.call_free(look)
        return file

    async def _upload_once(self, path: Path, names: list[str]) -> types.File:
        assert self.uploads is not None
        name = await asyncio.to_thread(self.uploads.new_name)
        names.append(name)
        config = types.UploadFileConfig(name=name, mime_type=guess_type(path.name)[0] or "video/mp4")
        file: types.File = await self._client.files.upload(file=path, config=config)
        return file

    async def delete(self, name: str, uploads: Uploads) -> None:
        """Delete a file; what cannot be deleted now is deleted by the next job."""
        try:
            await self._client.files.delete(name=f"files/{name}")
        except errors.APIError as error:
            if error.code not in GONE:  # another key's file, or one that is not there
                log.warning(f"files/{name} is not deleted at the vendor yet: {plain(str(error.message))}")
                return
        except Exception as error:
            log.warning(f"files/{name} is not deleted at the vendor yet: {type(error).__name__}")
            return
        uploads.deleted(name)


class AskedImages:
    """A clip whose frames are encoded."""

    def __init__(self, gemini: Gemini, frames: Encoded | None, seconds: dict[str, float]) -> None:
        self._gemini = gemini
        self._shown = frames.shown if frames else None
        images = [b64decode(image) for image in frames.images] if frames else []
        self._visual = [types.Part.from_bytes(data=image, mime_type="image/png") for image in images]
        self.size, self.seconds = sum(map(len, images)), seconds

    async def answer(self, request: Request) -> Answer:
        return await self._gemini.ask(request, self._visual, self._shown)

    async def close(self) -> None:
        """Nothing is left at the vendor."""


class AskedVideo:
    """A clip that is uploaded before its first question and deleted after its last."""

    def __init__(self, gemini: Gemini, clip: Clip) -> None:
        self._gemini, self._clip = gemini, clip
        self.size = 0
        self.seconds: dict[str, float] = {}
        self._names: list[str] = []
        self._visual: list[types.Part] = []
        self._shown: Shown | None = None
        self._failed: AnswerError | None = None

    async def answer(self, request: Request) -> Answer:
        if self._failed is not None:
            raise self._failed
        if not self._visual:
            try:
                await self._upload()
            except AnswerError as error:
                self._failed = error
                raise
        return await self._gemini.ask(request, self._visual, self._shown)

    async def close(self) -> None:
        """Delete what was uploaded, whatever has happened since."""
        assert self._gemini.uploads is not None
        for name in self._names:
            await self._gemini.delete(name, self._gemini.uploads)

    async def _upload(self) -> None:
        """Asked by the clip's first question, which goes alone."""
        assert self._clip.path is not None
        start, fps = time.monotonic(), self._gemini.settings.fps
        frames = await asyncio.to_thread(frames_of, self._clip, fps)
        file = await self._gemini.upload(self._clip.path, self._names)
        data = types.FileData(file_uri=file.uri, mime_type=file.mime_type)
        self._visual = [types.Part(file_data=data, video_metadata=types.VideoMetadata(fps=fps))]
        self._shown = Shown(frames, 0, 0, 0, 0)
        self.seconds["waiting"] = time.monotonic() - start


def frames_of(clip: Clip, fps: float) -> int:
    """How many frames the vendor takes of a clip's file, which must be as many as the run's name says."""
    assert clip.path is not None
    frames = max(1, math.ceil(packet_index(clip.path).duration_s * fps))
    if abs(frames - len(clip.indices)) > 1:
        raise AnswerError(
            "not_shown",
            f"not sent: of the uploaded file the vendor takes {frames} frames at settings.fps {fps:g}, the run's "
            f"sampling shows {len(clip.indices)}. Use a sampling of as many frames a second, or `frames: images`",
        )
    return frames


def config_of(request: Request, tokens: int, settings: GeminiSettings) -> types.GenerateContentConfig:
    """How the model is to answer."""
    thinking = None
    if isinstance(settings.thinking, int):
        thinking = types.ThinkingConfig(thinking_budget=settings.thinking)
    elif settings.thinking is not None:
        thinking = types.ThinkingConfig(thinking_level=types.ThinkingLevel(settings.thinking.upper()))
    resolution = settings.resolution and types.MediaResolution(f"MEDIA_RESOLUTION_{settings.resolution.upper()}")
    return types.GenerateContentConfig(
        system_instruction=request.system or None,
        temperature=settings.temperature,
        max_output_tokens=tokens,
        thinking_config=thinking,
        media_resolution=resolution,
    )

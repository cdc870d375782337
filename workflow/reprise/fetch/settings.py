"""Where releases and source videos come from. Imports nothing heavy, so that a configuration can."""

from typing import Annotated, Literal

from pydantic import Field

from reprise.core.keyfile import Settings

# Video only: nothing here listens, and no merge is needed. avc1 first: OpenCV wheels cannot decode AV1.
AVC_FIRST = "bv*[vcodec^=avc1][height<=720]/b[vcodec^=avc1][height<=720]/bv*[height<=720]/b[height<=720]"


class Made(Settings):
    """Videos that a plug-in of `reprise.fetch.plugins` makes."""

    kind: str


class Toyworld(Made):
    """Videos rendered from the toy world's scripts."""

    kind: Literal["toyworld"]


class Rehearsal(Made):
    """One of a few short rendered videos for any id: all stages run, and none of them for long."""

    kind: Literal["rehearsal"]
    joined: str | None = None
    """Glob pattern of the ids that are two videos around a black span."""


class Folder(Settings):
    """Files on this machine; nothing is copied."""

    kind: Literal["folder"]
    path: str
    pattern: str = "{source_id}.mp4"


class Archive(Settings):
    """Members of zips, whole or cut into pieces, or of pickles of {name: bytes}, on this machine."""

    kind: Literal["archive"]
    path: str
    """A file, or a glob pattern for several archives or the pieces of one."""
    member: str = "{source_id}.mp4"


class Remote(Settings):
    """What every route over a network shares."""

    retries: int = Field(4, ge=0)
    """Tries again at once, with back-off, for one run of the workflow."""
    backoff_s: float = Field(2.0, ge=0)
    timeout_s: float = Field(30.0, gt=0)
    attempts: int = Field(3, ge=1)
    """Runs of the workflow that try a source with a transient failure again."""
    mb_per_source: float = Field(30.0, gt=0)
    """Guess for the disk estimate where the server does not say."""


class Http(Remote):
    """Direct links."""

    kind: Literal["http"]
    url: str = Field(pattern=r"^https?://")
    rate_limit_mb_s: float | None = Field(None, gt=0)


class Huggingface(Remote):
    """Archives or loose files of a data set repository at a pinned revision."""

    kind: Literal["huggingface"]
    repo: str
    revision: str = Field(pattern=r"^([0-9a-f]{40}|unpinned)$")
    """A commit; `unpinned` until `python -m reprise pin` has resolved it, and then nothing is fetched."""
    files: tuple[str, ...] = ()
    """Archives to look into, or their pieces, by name or pattern; empty where `member` names a loose file."""
    member: str = "{source_id}.mp4"


class Youtube(Remote):
    """YouTube ids through yt-dlp."""

    kind: Literal["youtube"]
    cookies: str | None = None
    """Path of a cookies file in Netscape format."""
    rate_limit_mb_s: float | None = Field(None, gt=0)
    format: str = AVC_FIRST
    subtitles: bool = False
    subtitle_languages: tuple[str, ...] = ("en",)
    pause_s: float = Field(1.0, ge=0)
    """Between two requests."""
    cooldown_s: float = Field(3600.0, ge=0)
    """After a bot check or a rate limit nothing more is asked of YouTube for this long, by any shard."""


Route = Annotated[Toyworld | Rehearsal | Folder | Archive | Http | Huggingface | Youtube, Field(discriminator="kind")]


class ReleaseToy(Settings):
    kind: Literal["toyworld"]


class ReleaseFolder(Settings):
    """A folder on this machine in the authors' layout."""

    kind: Literal["folder"]
    path: str


class ReleaseHub(Settings):
    """A Hugging Face data set at a pinned revision."""

    kind: Literal["huggingface"]
    repo: str
    revision: str


class ReleaseRehearsal(Settings):
    """A synthetic release in the authors' layout with as many items as the paper counts."""

    kind: Literal["rehearsal"]


Release = Annotated[ReleaseToy | ReleaseFolder | ReleaseHub | ReleaseRehearsal, Field(discriminator="kind")]

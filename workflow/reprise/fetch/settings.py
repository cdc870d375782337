"""Settings of releases and of routes for source videos, without slow imports."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from reprise.core.names import LINK, REVISION
from reprise.core.settings import FilePath, LocalPath, Settings, setting_error

# Only video streams, because no model receives sound. avc1 comes first, because OpenCV's wheels cannot decode AV1.
AVC_FIRST = "bv*[vcodec^=avc1][height<=720]/b[vcodec^=avc1][height<=720]/bv*[height<=720]/b[height<=720]"


SOURCE_ID = "{source_id}"


def _require_source_id(pattern: str) -> str:
    if SOURCE_ID not in pattern:
        raise setting_error(
            f"'{pattern}' is the same for every video. Write {SOURCE_ID} where the id of a video stands."
        )
    return pattern


SourcePattern = Annotated[str, AfterValidator(_require_source_id)]
"""A name or a link that differs for every video."""


class RenderedVideos(Settings):
    """Videos that a plug-in of `reprise.fetch.plugins` renders."""

    kind: str


class Toyworld(RenderedVideos):
    """Videos rendered from the scripts of the toy world."""

    kind: Literal["toyworld"]


class Rehearsal(RenderedVideos):
    """A few short rendered videos, which are used for all ids."""

    kind: Literal["rehearsal"]
    joined: str | None = None
    """Glob pattern of the ids of joined videos: two videos with black frames between them."""


class SizeLimited(Settings):
    """Routes with a size limit."""

    max_mb: float = Field(20_000, gt=0)
    """Maximum MB of one video."""


class Folder(Settings):
    """Local files, copied into the store."""

    kind: Literal["folder"]
    path: FilePath
    """The folder."""
    pattern: SourcePattern = "{source_id}.mp4"
    """File name of a video; `{source_id}.*` matches every format."""


class Archive(SizeLimited):
    """Videos in local zip files (complete, or cut into pieces), or in pickle files of `{name: bytes}`."""

    kind: Literal["archive"]
    path: FilePath
    """A file, or a glob pattern of archives or parts of one."""
    member: SourcePattern = "{source_id}.mp4"
    """File name of a video in the archives."""


class NetworkRoute(SizeLimited):
    """Settings of all routes that download videos."""

    retries: int = Field(4, ge=0)
    """Number of retries within one `snakemake` command."""
    backoff_s: float = Field(2.0, ge=0)
    """Seconds before the first retry; the wait doubles each time."""
    timeout_s: float = Field(30.0, gt=0)
    """Seconds without a response after which an attempt fails."""
    max_wait_s: float = Field(120.0, ge=0)
    """Maximum wait that a server may request (`Retry-After`)."""
    max_s: float = Field(21_600.0, gt=0)
    """Maximum seconds to fetch one video."""
    min_kb_s: float = Field(1.0, ge=0)
    """Minimum mean speed of a download, in KB per second."""
    attempts: int = Field(3, ge=1)
    """How many `snakemake` commands try a video whose failure is transient, such as a time-out."""
    mb_per_source: float = Field(30.0, gt=0)
    """Assumed size of a video in MB, if its size is unknown; used to estimate disk space."""

    def estimate_bytes(self, source_ids: Sequence[str]) -> int:
        return int(len(source_ids) * self.mb_per_source * 1e6)


class Http(NetworkRoute):
    """Direct links."""

    kind: Literal["http"]
    url: SourcePattern = Field(pattern=LINK)
    """Link of a video, with `{source_id}`."""
    max_redirects: int = Field(10, ge=0)
    """Maximum redirects of a link."""
    rate_limit_mb_s: float | None = Field(None, gt=0)
    """Maximum MB per second of one download."""


class Huggingface(NetworkRoute):
    """Archives or single files of a data set repository at a pinned revision."""

    kind: Literal["huggingface"]
    repo: str
    """The data set, `<owner>/<name>`."""
    revision: str = Field(pattern=REVISION)
    """Commit, written by `reprise pin <suite>`; nothing is fetched from an `unpinned` repository."""
    files: tuple[str, ...] = Field((), strict=False)
    """Names or glob patterns of archives; empty if `member` names a single file."""
    member: SourcePattern = "{source_id}.mp4"
    """File name of a video: in the archives, or of a single file of the repository."""


class Youtube(NetworkRoute):
    """YouTube videos, fetched with yt-dlp."""

    kind: Literal["youtube"]
    cookies: LocalPath | None = None
    """Cookie file in Netscape format."""
    rate_limit_mb_s: float | None = Field(None, gt=0)
    """Maximum MB per second of one download."""
    format: str = AVC_FIRST
    """yt-dlp format selector; h264 is preferred."""
    subtitles: bool = False
    """Fetch YouTube's automatic subtitles too."""
    subtitle_languages: tuple[str, ...] = Field(("en",), strict=False)
    """Languages of the subtitles."""
    pause_s: float = Field(1.0, ge=0)
    """Seconds between two requests."""
    cooldown_s: float = Field(3600.0, ge=0)
    """Seconds without requests to YouTube after a bot check or a rate limit."""


Route = Annotated[Toyworld | Rehearsal | Folder | Archive | Http | Huggingface | Youtube, Field(discriminator="kind")]


class ReleaseToy(Settings):
    """The benchmark's toy-world release, written on this machine."""

    kind: Literal["toyworld"]
    sources: int = Field(16, ge=16, le=256)
    """Number of source videos."""


class ReleaseFolder(Settings):
    """A local release in the authors' layout."""

    kind: Literal["folder"]
    path: FilePath
    """The folder."""


class ReleaseHub(Settings):
    """Files of a data set on the Hugging Face hub, at a pinned commit."""

    kind: Literal["huggingface"]
    repo: str
    """The data set, `<owner>/<name>`."""
    revision: str = Field(pattern=REVISION)
    """Commit, written by `reprise pin <suite>`; nothing is fetched from an `unpinned` repository."""


class ReleaseRehearsal(Settings):
    """A release written on this machine in the authors' layout, with as many items as the paper reports."""

    kind: Literal["rehearsal"]


class ReleaseConstructed(Settings):
    """A release constructed from raw annotations, by `construction:` of the benchmark."""

    kind: Literal["constructed"]


Release = Annotated[
    ReleaseToy | ReleaseFolder | ReleaseHub | ReleaseRehearsal | ReleaseConstructed, Field(discriminator="kind")
]

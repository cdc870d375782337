"""Settings of the origin of releases and source videos; no heavy imports, so that the configuration loads quickly."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from reprise.core.names import LINK, REVISION
from reprise.core.settings import FilePath, LocalPath, Settings, mistake

# Only video, because no model hears sound and no merge is then needed. avc1 comes first, because OpenCV's wheels cannot
# decode AV1.
AVC_FIRST = "bv*[vcodec^=avc1][height<=720]/b[vcodec^=avc1][height<=720]/bv*[height<=720]/b[height<=720]"


SOURCE_ID = "{source_id}"


def _require_source_id(pattern: str) -> str:
    if SOURCE_ID not in pattern:
        raise mistake(f"'{pattern}' is the same for every video. Write {SOURCE_ID} where the id of a video stands.")
    return pattern


SourcePattern = Annotated[str, AfterValidator(_require_source_id)]
"""A name or a link that differs for every video."""


class Made(Settings):
    """Videos that a plug-in of `reprise.fetch.plugins` makes."""

    kind: str


class Toyworld(Made):
    """Videos rendered from the toy world's scripts."""

    kind: Literal["toyworld"]


class Rehearsal(Made):
    """A few short rendered videos serve for all ids, so that all stages run quickly."""

    kind: Literal["rehearsal"]
    joined: str | None = None
    """Glob pattern of the ids of concatenations: two videos around a black span."""


class Bounded(Settings):
    """Routes whose files may be of any size."""

    max_mb: float = Field(20_000, gt=0)
    """Largest MB of one video; a larger one is not fetched."""


class Folder(Settings):
    """Files on this machine, copied into the store."""

    kind: Literal["folder"]
    path: FilePath
    """The folder."""
    pattern: SourcePattern = "{source_id}.mp4"
    """Name of a video's file in it; `{source_id}.*` takes videos of every format."""


class Archive(Bounded):
    """Members of zips, whole or cut into pieces, or of pickles of {name: bytes}, on this machine."""

    kind: Literal["archive"]
    path: FilePath
    """A file, or a glob pattern of several archives or of the pieces of one."""
    member: SourcePattern = "{source_id}.mp4"
    """Name of a video in the archives."""


class Remote(Bounded):
    """What every route over a network shares."""

    retries: int = Field(4, ge=0)
    """How often one run of the workflow tries again."""
    backoff_s: float = Field(2.0, ge=0)
    """Seconds before the second try; each further try waits twice as long."""
    timeout_s: float = Field(30.0, gt=0)
    """Seconds without an answer after which a try has failed."""
    max_wait_s: float = Field(120.0, ge=0)
    """Longest wait that a server may ask for (`Retry-After`); one that asks for more is left to the next run."""
    max_s: float = Field(21_600.0, gt=0)
    """Seconds after which fetching one video is given up."""
    min_kb_s: float = Field(1.0, ge=0)
    """Least KB per second of a download, on the mean since its start."""
    attempts: int = Field(3, ge=1)
    """How many runs of the workflow try a source whose failure may pass."""
    mb_per_source: float = Field(30.0, gt=0)
    """MB per video, for the estimate of the disk space where nobody states it."""

    def estimate(self, source_ids: Sequence[str]) -> int:
        return int(len(source_ids) * self.mb_per_source * 1e6)


class Http(Remote):
    """Direct links."""

    kind: Literal["http"]
    url: SourcePattern = Field(pattern=LINK)
    """Link of a video, with `{source_id}` in place of its id."""
    max_redirects: int = Field(10, ge=0)
    """How often a link may lead to another one."""
    rate_limit_mb_s: float | None = Field(None, gt=0)
    """Largest MB per second of one download; by default no limit."""


class Huggingface(Remote):
    """Archives or loose files of a data set repository at a pinned revision."""

    kind: Literal["huggingface"]
    repo: str
    """The data set, `<owner>/<name>`."""
    revision: str = Field(pattern=REVISION)
    """The commit; `unpinned` until `python -m reprise pin <suite>` has written it, and nothing is fetched before."""
    files: tuple[str, ...] = Field((), strict=False)
    """Archives, or their pieces, by name or glob pattern; none where `member` names a loose file."""
    member: SourcePattern = "{source_id}.mp4"
    """Name of a video in the archives, or of its loose file."""


class Youtube(Remote):
    """YouTube ids through yt-dlp."""

    kind: Literal["youtube"]
    cookies: LocalPath | None = None
    """File of cookies in Netscape format."""
    rate_limit_mb_s: float | None = Field(None, gt=0)
    """Largest MB per second of one download; by default no limit."""
    format: str = AVC_FIRST
    """yt-dlp's choice of a format; h264 is preferred, since not every decoder knows AV1."""
    subtitles: bool = False
    """Fetch YouTube's automatic subtitles too."""
    subtitle_languages: tuple[str, ...] = Field(("en",), strict=False)
    """Languages of the subtitles."""
    pause_s: float = Field(1.0, ge=0)
    """Seconds between two requests."""
    cooldown_s: float = Field(3600.0, ge=0)
    """Seconds for which no shard asks YouTube after a bot check or a rate limit."""


Route = Annotated[Toyworld | Rehearsal | Folder | Archive | Http | Huggingface | Youtube, Field(discriminator="kind")]


class ReleaseToy(Settings):
    """The toy world's release of the benchmark, written on this machine."""

    kind: Literal["toyworld"]


class ReleaseFolder(Settings):
    """A release on this machine, in the authors' layout."""

    kind: Literal["folder"]
    path: FilePath
    """The folder."""


class ReleaseHub(Settings):
    """Files of a data set on the Hugging Face hub, fetched at a pinned revision."""

    kind: Literal["huggingface"]
    repo: str
    """The data set, `<owner>/<name>`."""
    revision: str = Field(pattern=REVISION)
    """The commit; `unpinned` until `python -m reprise pin <suite>` has written it, and nothing is fetched before."""


class ReleaseRehearsal(Settings):
    """Written on this machine in the authors' layout, with as many items as the paper counts."""

    kind: Literal["rehearsal"]


class ReleaseConstructed(Settings):
    """Made from raw annotations, as `construction:` of the benchmark says."""

    kind: Literal["constructed"]


Release = Annotated[
    ReleaseToy | ReleaseFolder | ReleaseHub | ReleaseRehearsal | ReleaseConstructed, Field(discriminator="kind")
]

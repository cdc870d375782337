"""Keys of releases, of source videos, and of the list of missing clips."""

from pathlib import Path

from pydantic import Field

from reprise.core.settings import Key, KeyPart
from reprise.fetch.settings import Release, Route
from reprise.media.settings import DEFAULT_LIMITS, Limits


class Extras(KeyPart):
    """Files that a user added to a release; a change of their content changes the key."""

    folder: str
    files: dict[str, str]  # name -> sha256


class ReleaseKey(Key):
    """Key of the stage `release`."""

    benchmark: str
    release: Release
    files: tuple[str, ...]  # glob patterns of the release's files
    extras: Extras | None = None
    folder_files: dict[str, str] = Field({})
    """name -> sha256 of each file in a local release folder; an edit changes the key"""


class SourcesKey(Key):
    """Key of the stage `sources`; it contains the route, so another route fetches the videos again."""

    shards: int = Field(ge=1)
    route: Route
    limits: Limits = DEFAULT_LIMITS


class BenchmarkManifests(KeyPart):
    """Paths of a benchmark's manifests, and the names of its tables."""

    title: str
    sources: tuple[Path, ...]
    clips: tuple[Path, ...]
    tables: tuple[str, ...] = ()


class MissingClipsKey(Key):
    """Key of the stage `missing`."""

    benchmarks: dict[str, BenchmarkManifests] = Field({})

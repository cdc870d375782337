"""Keys of releases, of source videos, and of the list of missing clips."""

from pathlib import Path

from pydantic import Field

from reprise.core.settings import Key, KeyPart
from reprise.fetch.settings import Release, Route
from reprise.media.settings import DEFAULT_LIMITS, Limits


class Extras(KeyPart):
    """Files that a user added to a release, with their digests; another file changes the key."""

    folder: str
    files: dict[str, str]  # name -> sha256


class ReleaseKey(Key):
    benchmark: str
    release: Release
    files: tuple[str, ...]  # patterns of the names of a release's files
    extras: Extras | None = None
    folder_files: dict[str, str] = Field({})
    """name -> sha256 of the files in a local release folder; an edited file changes the key"""


class SourcesKey(Key):
    """Key of the stage `sources`; a route is part of what a clip is."""

    shards: int = Field(ge=1)
    route: Route
    limits: Limits = DEFAULT_LIMITS


class BenchmarkManifests(KeyPart):
    """Paths of a benchmark's manifests, and the tables that show its numbers."""

    title: str
    sources: tuple[Path, ...]
    clips: tuple[Path, ...]
    tables: tuple[str, ...] = ()


class MissingClipsKey(Key):
    benchmarks: dict[str, BenchmarkManifests] = Field({})

"""Sources that a release itself contains: images in the rows of a table, and videos that an annotation file lists.

The videos are in a folder next to the annotation file. The id of such a source is `release:<file>#<row or video>`. The
suite's route fetches all other sources.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reprise.core.files import read_json, text_digest, verify_sealed_text
from reprise.core.store import Store
from reprise.core.tabular import read_file_list, read_rows, require_columns
from reprise.fetch.outcome import FetchedFile, Fetcher, FetchError, require_existing_file
from reprise.media.errors import MediaError

PREFIX = "release:"
# The listing of a release has an entry for each file. This key of an entry names the folder of an annotation file's
# videos; the default is the folder next to the file that has its name without the suffix.
VIDEOS = "videos"
# First bytes of an image file -> suffix, by which ffmpeg selects the decoder.
IMAGE_SUFFIXES = {b"\xff\xd8\xff": ".jpg", b"\x89PNG\r\n": ".png", b"BM": ".bmp", b"RIFF": ".webp"}
# A cell of at most this length names the row whose image it shares, as in the reference harness.
MAX_REFERENCE_LENGTH = 64


def build_source_id(file: str, name: str) -> str:
    """Return the source id of an image in a table of the release, or of a video that an annotation file lists."""
    return f"{PREFIX}{file}#{name}"


def find_image_owner(index: str, cell: str) -> str:
    """Return the index of the row with a row's image: the row itself, or the row that its cell names."""
    return cell.strip() if len(cell) <= MAX_REFERENCE_LENGTH else index


@dataclass
class ReleaseFiles:
    """Files of a release by their names."""

    path_by_name: Mapping[str, Path]
    store: Store
    video_folder_by_name: Mapping[str, Path] = field(default_factory=dict)
    """annotation file -> folder of its videos, if the listing names one"""
    _images: dict[Path, dict[str, str]] = field(default_factory=dict)
    """table -> index of a row -> cell with its image"""

    @classmethod
    def from_release(cls, listing: Path, store: Store) -> "ReleaseFiles":
        """Return the files of a release from its listing."""
        file_records = read_json(verify_sealed_text(listing))
        folders = {record["name"]: Path(record[VIDEOS]) for record in file_records if VIDEOS in record}
        return cls(read_file_list(listing), store, folders)

    def identity(self, source_id: str) -> Any:
        """Return the identity of a source: the kind of the source, and the digest of its content."""
        file, name = self._find(source_id)
        if file.suffix == ".tsv":
            return ["image", text_digest(self._read_cell(file, name))]
        return ["file", self.store.digest(self._find_video(source_id, file, name))]

    def fetch(self, source_id: str, scratch: Path) -> FetchedFile:
        """Return the file of a video, or write the image of a row into the folder `scratch`."""
        file, name = self._find(source_id)
        if file.suffix == ".tsv":
            cell = self._read_cell(file, name)
            try:
                image_bytes = base64.b64decode("".join(cell.split()), validate=True)
            except (binascii.Error, ValueError) as error:
                raise MediaError("corrupt", f"{source_id}: not base64 ({error})") from error
            suffix = next(
                (suffix for signature, suffix in IMAGE_SUFFIXES.items() if image_bytes.startswith(signature)), None
            )
            if suffix is None:
                raise MediaError("corrupt", f"{source_id}: neither JPEG, PNG, BMP nor WebP")
            (scratch / f"image{suffix}").write_bytes(image_bytes)
            return FetchedFile(scratch / f"image{suffix}")
        return FetchedFile(self._find_video(source_id, file, name), is_external=True)

    def _find(self, source_id: str) -> tuple[Path, str]:
        """Return the file of the release that an id names, and the row or the video in it."""
        file_name, _, name = source_id.removeprefix(PREFIX).partition("#")
        if file_name not in self.path_by_name:
            raise FetchError("missing", f"the release has no file '{file_name}'")
        return self.path_by_name[file_name], name

    def _find_video(self, source_id: str, annotations: Path, name: str) -> Path:
        """Return the file of a video, in the folder that the listing names or in the one named like the annotations."""
        folder = self.video_folder_by_name.get(
            source_id.removeprefix(PREFIX).partition("#")[0], annotations.with_suffix("")
        )
        return require_existing_file(folder, name, f"the folder '{folder.name}' of {annotations.name}")

    def _read_cell(self, table: Path, index: str) -> str:
        """Return the image of a row as base64 text.

        The row has an image of its own: the ids of clips are made with `find_image_owner`.
        """
        if table not in self._images:
            rows = require_columns(read_rows(table), ("index", "image"), table).drop_nulls()
            self._images[table] = dict(rows.iter_rows())
        cell = self._images[table].get(index, "")
        if len(cell) <= MAX_REFERENCE_LENGTH:
            raise FetchError("missing", f"{table.name}: row '{index}' has no image")
        return cell


def add_release_files(route: Fetcher, release: ReleaseFiles) -> Fetcher:
    """Return a fetcher that takes sources from the release if it contains them, and all others from the route."""

    def route_of(source_id: str) -> Fetcher | ReleaseFiles:
        return release if source_id.startswith(PREFIX) else route

    def estimate(source_ids: Sequence[str]) -> int:
        return route.estimate_bytes([source_id for source_id in source_ids if route_of(source_id) is route])

    return Fetcher(
        lambda source_id: route_of(source_id).identity(source_id),
        lambda source_id, folder: route_of(source_id).fetch(source_id, folder),
        estimate,
        attempts=route.attempts,
        is_remote=route.is_remote,
    )

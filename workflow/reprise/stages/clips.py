"""Stage `clips`: make the clips of one shard, each a store object addressed by its recipe, or a named reason."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.errors import UserError, stop_on_fault
from reprise.core.files import value_digest
from reprise.core.log import log
from reprise.core.names import compute_shard
from reprise.core.schemas import CLIP_MANIFEST, CLIPS, SOURCES, read_table, write_table
from reprise.core.store import Store
from reprise.media.black import find_separating_span
from reprise.media.encode import (
    CONCAT_VERSION,
    concatenate,
    encode_still_clip,
    ffmpeg_version,
    plan_concatenation,
    trim,
)
from reprise.media.errors import MediaError
from reprise.media.keys import ClipsKey
from reprise.media.probe import read_packet_index
from reprise.stages.command import In, Out, Site

ClipRow = dict[str, Any]
NO_OBJECT = {"object": "", "recipe": "", "sha256": "", "bytes": None, "black_start": None, "black_end": None}


@dataclass
class ClipMaker:
    """Maker of the clips of one shard; each clip is made once."""

    clips: dict[str, ClipRow]
    sources: dict[str, ClipRow]
    store: Store
    key: ClipsKey
    rows: dict[str, ClipRow] = field(default_factory=dict)

    def make(self, clip_id: str) -> ClipRow:
        """Return the manifest row of a clip; the parts of a concatenation are made first."""
        if clip_id not in self.rows:
            clip = self.clips[clip_id]
            try:
                outcome = {"status": "ok", **_KINDS[clip["kind"]](self, clip)}
            except MediaError as error:
                stop_on_fault(error, self.store.root)
                outcome = {"status": error.status, "message": error.message}
            except OSError as error:
                stop_on_fault(error, self.store.root)
                outcome = {"status": "unreadable", "message": error.strerror or str(error)}
            row = {"clip_id": clip_id, "cluster": clip["cluster"]} | NO_OBJECT | {"message": ""} | outcome
            self.rows[clip_id] = {name: row[name] for name in CLIP_MANIFEST}
        return self.rows[clip_id]

    def require_source(self, source_id: str) -> ClipRow:
        """Return the manifest row of a source, or raise a MediaError if it is not available."""
        row = self.sources.get(source_id)
        if row is None:
            raise MediaError("missing", f"source {source_id} is not in the manifest of this shard")
        if row["status"] != "ok":
            raise MediaError(row["status"], f"source {source_id}: {row['message']}")
        return row

    def make_part(self, clip_id: str, concatenation: ClipRow) -> ClipRow:
        """Return the manifest row of a part of a concatenation, or raise a MediaError if it is not available."""
        if clip_id not in self.clips:
            raise UserError(
                f"clips.parquet: clip {concatenation['clip_id']}: its part '{clip_id}' is not a clip of the same "
                "cluster."
            )
        row = self.make(clip_id)
        if row["status"] != "ok":
            raise MediaError(row["status"], f"part {clip_id}: {row['message']}")
        return row

    def verify_file(self, row: ClipRow) -> Path:
        """Return the file of a manifest row after comparing its digest with the recorded one."""
        label = f"clip {row['clip_id']}" if "clip_id" in row else f"source {row['source_id']}"
        return self.store.verify_object(row["object"], row["sha256"], label)

    def get_or_encode(self, recipe: Any, write: Callable[[Path], object]) -> ClipRow:
        """Return the object of a recipe; encode it only if it does not exist, or differs from its record."""
        path, record = self.store.get_or_make("clips", recipe, ".mp4", write)
        return {"object": str(path.relative_to(self.store.root)), "recipe": path.stem, **record._asdict()}

    def build_recipe(self, kind: str, **ingredients: Any) -> ClipRow:
        """Return everything that determines the bytes of a clip."""
        return {"kind": kind, "encode": self.key.encode.model_dump(), "ffmpeg": ffmpeg_version(), **ingredients}


def _trim_clip(maker: ClipMaker, clip: ClipRow) -> ClipRow:
    """Return a re-encoded span of a source; a stream copy would start at a keyframe, or hide frames in an edit list."""
    start, end = clip["start_s"], clip["end_s"]
    if start is None or end is None:
        raise UserError(f"clips.parquet: clip {clip['clip_id']} ({clip['kind']}): start_s and end_s are missing.")
    source = maker.require_source(clip["source_id"])
    recipe = maker.build_recipe("trim", source=source["sha256"], start_s=start, end_s=end)
    return maker.get_or_encode(
        recipe, lambda scratch: trim(maker.verify_file(source), start, end, scratch, maker.key.encode)
    )


def _join_clips(maker: ClipMaker, clip: ClipRow) -> ClipRow:
    """Return two clips joined by a black span: concatenated here, or taken from the release if the clip has a source.

    The concatenation here determines its black span; that of a released clip is detected.
    """
    if clip["source_id"]:
        encoded_clip = _reuse_source(maker, clip, "ready")
        start, end = _detect_black_span(maker, clip, maker.store.root / encoded_clip["object"])
        return encoded_clip | {"black_start": start, "black_end": end}
    parts = [maker.make_part(name, clip) for name in clip["parts"]]
    concat = maker.key.concat
    first, second = (maker.verify_file(part) for part in parts)
    digests = [part["sha256"] for part in parts]
    recipe = maker.build_recipe("concat", version=CONCAT_VERSION, parts=digests, concat=concat.model_dump())
    encoded_clip = maker.get_or_encode(
        recipe, lambda scratch: concatenate(first, second, scratch, maker.key.encode, concat)
    )
    start, end = plan_concatenation(first, second, concat).black_span
    return encoded_clip | {"black_start": start, "black_end": end}


def _detect_black_span(maker: ClipMaker, clip: ClipRow, path: Path) -> tuple[int, int]:
    """Detect the black span of a released concatenation, near the position that the lengths of its parts imply."""
    black_s = maker.key.concat.black_s
    rows = [maker.make(name) if name in maker.clips else None for name in clip["parts"]]
    first, second = (
        read_packet_index(maker.verify_file(row)).duration_s if row and row["status"] == "ok" else None for row in rows
    )
    if first is None and second is not None:
        first = read_packet_index(path).duration_s - second - black_s
    return find_separating_span(path, black_s, first)


def _encode_stills(maker: ClipMaker, clip: ClipRow) -> ClipRow:
    images = [maker.require_source(name) for name in clip["parts"]]
    digests = [image["sha256"] for image in images]
    recipe = maker.build_recipe("lossless images", images=digests, settings=maker.key.images.model_dump())
    return maker.get_or_encode(
        recipe,
        lambda scratch: encode_still_clip(
            [maker.verify_file(image) for image in images], scratch, maker.key.encode, maker.key.images
        ),
    )


def _reuse_source(maker: ClipMaker, clip: ClipRow, kind: str = "whole") -> ClipRow:
    source = maker.require_source(clip["source_id"])
    maker.verify_file(source)
    recipe = value_digest({"kind": kind, "source": source["sha256"]})
    return {"object": source["object"], "recipe": recipe, "sha256": source["sha256"], "bytes": source["bytes"]}


_KINDS = {
    "trim": _trim_clip,
    "segment": _trim_clip,
    "whole": _reuse_source,
    "concat": _join_clips,
    "images": _encode_stills,
}


def main(
    settings: ClipsKey,
    clips: In[Path],
    sources: In[Path],
    shard: int,
    store: Site[Store],
    out: Out[Path],
) -> None:
    clip_table = read_table(clips, CLIPS)
    is_in_shard = pl.Series(
        [compute_shard(cluster, settings.shards) == shard for cluster in clip_table["cluster"]], dtype=pl.Boolean
    )
    rows = {row["clip_id"]: row for row in clip_table.filter(is_in_shard).iter_rows(named=True)}
    source_rows = {row["source_id"]: row for row in read_table(sources, SOURCES).iter_rows(named=True)}
    maker = ClipMaker(rows, source_rows, store, settings)
    manifest = pl.DataFrame([maker.make(clip_id) for clip_id in sorted(rows)], schema=CLIP_MANIFEST)
    for row in manifest.filter(pl.col("status") != "ok").iter_rows(named=True):
        log.info(f"{row['clip_id']}: {row['status']}: {row['message']}")
    write_table(manifest, out, CLIP_MANIFEST)
    log.info(f"{manifest.filter(pl.col('status') == 'ok').height} of {manifest.height} clips are available")

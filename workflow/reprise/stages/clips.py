"""Stage `clips`: make the clips of one shard in the store, addressed by recipe, or record why a clip is missing."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.errors import UserError, raise_if_machine_fault
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
"""column -> value, of a row of clips, or of a manifest of clips or sources"""
# Columns of a clip that is missing. An available clip replaces them.
NO_OBJECT_COLUMNS = {"object": "", "recipe": "", "sha256": "", "bytes": None, "black_start": None, "black_end": None}


@dataclass
class ClipMaker:
    """Maker of the clips of one shard; each clip is made once."""

    clip_by_id: dict[str, ClipRow]
    source_by_id: dict[str, ClipRow]
    store: Store
    settings: ClipsKey
    manifest_row_by_id: dict[str, ClipRow] = field(default_factory=dict)

    def make(self, clip_id: str) -> ClipRow:
        """Return the manifest row of a clip; the parts of a concatenation are made first."""
        if clip_id not in self.manifest_row_by_id:
            clip = self.clip_by_id[clip_id]
            try:
                outcome_columns = {"status": "ok", **_MAKER_BY_KIND[clip["kind"]](self, clip)}
            except MediaError as error:
                raise_if_machine_fault(error, self.store.root)
                outcome_columns = {"status": error.status, "message": error.message}
            except OSError as error:
                raise_if_machine_fault(error, self.store.root)
                outcome_columns = {"status": "unreadable", "message": error.strerror or str(error)}
            row = (
                {"clip_id": clip_id, "cluster": clip["cluster"]} | NO_OBJECT_COLUMNS | {"message": ""} | outcome_columns
            )
            self.manifest_row_by_id[clip_id] = {name: row[name] for name in CLIP_MANIFEST}
        return self.manifest_row_by_id[clip_id]

    def require_source(self, source_id: str) -> ClipRow:
        """Return the manifest row of a source, or raise a MediaError if it is not available."""
        row = self.source_by_id.get(source_id)
        if row is None:
            raise MediaError("missing", f"source {source_id} is not in the manifest of this shard")
        if row["status"] != "ok":
            raise MediaError(row["status"], f"source {source_id}: {row['message']}")
        return row

    def make_part(self, clip_id: str, concatenation: ClipRow) -> ClipRow:
        """Return the manifest row of a part of a concatenation, or raise a MediaError if it is not available."""
        if clip_id not in self.clip_by_id:
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
        return {"kind": kind, "encode": self.settings.encode.model_dump(), "ffmpeg": ffmpeg_version(), **ingredients}


def _trim_clip(maker: ClipMaker, clip: ClipRow) -> ClipRow:
    """Re-encode a span of a source, because a stream copy would start at a keyframe or hide frames in an edit list."""
    start, end = clip["start_s"], clip["end_s"]
    if start is None or end is None:
        raise UserError(f"clips.parquet: clip {clip['clip_id']} ({clip['kind']}): start_s and end_s are missing.")
    source = maker.require_source(clip["source_id"])
    recipe = maker.build_recipe("trim", source=source["sha256"], start_s=start, end_s=end)
    return maker.get_or_encode(
        recipe, lambda scratch: trim(maker.verify_file(source), start, end, scratch, maker.settings.encode)
    )


def _join_clips(maker: ClipMaker, clip: ClipRow) -> ClipRow:
    """Concatenate two clips around a black span, or use a released concatenation if the clip has a source.

    The plan of a concatenation states its black span. The black span of a released one is detected.
    """
    if clip["source_id"]:
        encoded_clip = _reuse_source(maker, clip, "ready")
        start, end = _detect_black_span(maker, clip, maker.store.root / encoded_clip["object"])
        return encoded_clip | {"black_start": start, "black_end": end}
    parts = [maker.make_part(name, clip) for name in clip["parts"]]
    concat = maker.settings.concat
    first, second = (maker.verify_file(part) for part in parts)
    digests = [part["sha256"] for part in parts]
    recipe = maker.build_recipe("concat", version=CONCAT_VERSION, parts=digests, concat=concat.model_dump())
    encoded_clip = maker.get_or_encode(
        recipe, lambda scratch: concatenate(first, second, scratch, maker.settings.encode, concat)
    )
    start, end = plan_concatenation(first, second, concat).black_span
    return encoded_clip | {"black_start": start, "black_end": end}


def _detect_black_span(maker: ClipMaker, clip: ClipRow, path: Path) -> tuple[int, int]:
    """Detect the black span of a released concatenation, near the position that the lengths of its parts imply."""
    black_s = maker.settings.concat.black_s
    part_rows = [maker.make(name) if name in maker.clip_by_id else None for name in clip["parts"]]
    first_s, second_s = (
        read_packet_index(maker.verify_file(row)).duration_s if row and row["status"] == "ok" else None
        for row in part_rows
    )
    if first_s is None and second_s is not None:  # The first part is what the others leave of the concatenation.
        first_s = read_packet_index(path).duration_s - second_s - black_s
    return find_separating_span(path, black_s, first_s)


def _encode_stills(maker: ClipMaker, clip: ClipRow) -> ClipRow:
    images = [maker.require_source(name) for name in clip["parts"]]
    digests = [image["sha256"] for image in images]
    recipe = maker.build_recipe("lossless images", images=digests, settings=maker.settings.images.model_dump())
    return maker.get_or_encode(
        recipe,
        lambda scratch: encode_still_clip(
            [maker.verify_file(image) for image in images], scratch, maker.settings.encode, maker.settings.images
        ),
    )


def _reuse_source(maker: ClipMaker, clip: ClipRow, kind: str = "whole") -> ClipRow:
    source = maker.require_source(clip["source_id"])
    maker.verify_file(source)
    recipe = value_digest({"kind": kind, "source": source["sha256"]})
    return {"object": source["object"], "recipe": recipe, "sha256": source["sha256"], "bytes": source["bytes"]}


_MAKER_BY_KIND = {
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
    clip_by_id = {row["clip_id"]: row for row in clip_table.filter(is_in_shard).iter_rows(named=True)}
    source_by_id = {row["source_id"]: row for row in read_table(sources, SOURCES).iter_rows(named=True)}
    maker = ClipMaker(clip_by_id, source_by_id, store, settings)
    manifest = pl.DataFrame([maker.make(clip_id) for clip_id in sorted(clip_by_id)], schema=CLIP_MANIFEST)
    for row in manifest.filter(pl.col("status") != "ok").iter_rows(named=True):
        log.info(f"{row['clip_id']}: {row['status']}: {row['message']}")
    write_table(manifest, out, CLIP_MANIFEST)
    log.info(f"{manifest.filter(pl.col('status') == 'ok').height} of {manifest.height} clips are available")

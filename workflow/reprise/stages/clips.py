"""Stage `clips`: make the clips of one shard, each a store object addressed by its recipe, or a named reason."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from reprise.core.errors import UserError, stop_on_fault
from reprise.core.files import value_digest
from reprise.core.log import log
from reprise.core.names import shard_of
from reprise.core.schemas import CLIP_LEDGER, CLIPS, SOURCES, read_table, write_table
from reprise.core.store import Store
from reprise.media.black import separating_span
from reprise.media.encode import CONCAT_VERSION, concatenate, ffmpeg_version, joint_of, still_clip, trim
from reprise.media.errors import MediaError
from reprise.media.keys import ClipsKey
from reprise.media.probe import packet_index
from reprise.stages.command import In, Out, Site

ClipRow = dict[str, Any]
NO_OBJECT = {"object": "", "recipe": "", "sha256": "", "bytes": None, "black_start": None, "black_end": None}


@dataclass
class ClipMaker:
    """Makes the clips of one shard, and remembers those that are made."""

    clips: dict[str, ClipRow]
    sources: dict[str, ClipRow]
    store: Store
    key: ClipsKey
    made: dict[str, ClipRow] = field(default_factory=dict)

    def make(self, clip_id: str) -> ClipRow:
        """Return the manifest row of a clip; the parts of a concatenation are made first."""
        if clip_id not in self.made:
            clip = self.clips[clip_id]
            try:
                outcome = {"status": "ok", **_KINDS[clip["kind"]](self, clip)}
            except MediaError as error:
                stop_on_fault(error, self.store.root)
                outcome = {"status": error.status, "message": error.message}
            except OSError as error:
                stop_on_fault(error, self.store.root)
                outcome = {"status": "unreadable", "message": error.strerror or str(error)}
            row = {"clip_id": clip_id, "unit": clip["unit"]} | NO_OBJECT | {"message": ""} | outcome
            self.made[clip_id] = {name: row[name] for name in CLIP_LEDGER}
        return self.made[clip_id]

    def source(self, source_id: str) -> ClipRow:
        row = self.sources.get(source_id)
        if row is None:
            raise MediaError("missing", f"source {source_id} is not in the ledger of this shard")
        if row["status"] != "ok":
            raise MediaError(row["status"], f"source {source_id}: {row['message']}")
        return row

    def part(self, clip_id: str, concatenation: ClipRow) -> ClipRow:
        if clip_id not in self.clips:
            raise UserError(
                f"clips.parquet: clip {concatenation['clip_id']}: its part '{clip_id}' is not a clip of the same unit."
            )
        row = self.make(clip_id)
        if row["status"] != "ok":
            raise MediaError(row["status"], f"part {clip_id}: {row['message']}")
        return row

    def file(self, row: ClipRow) -> Path:
        label = f"clip {row['clip_id']}" if "clip_id" in row else f"source {row['source_id']}"
        return self.store.checked(row["object"], row["sha256"], label)

    def encoded(self, recipe: Any, write: Callable[[Path], object]) -> ClipRow:
        """Return the object of a recipe; encode it only if it does not exist, or differs from its record."""
        path, record = self.store.made_once("clips", recipe, ".mp4", write)
        return {"object": str(path.relative_to(self.store.root)), "recipe": path.stem, **record._asdict()}

    def recipe(self, kind: str, **ingredients: Any) -> ClipRow:
        return {"kind": kind, "encode": self.key.encode.model_dump(), "ffmpeg": ffmpeg_version(), **ingredients}


def _trimmed(maker: ClipMaker, clip: ClipRow) -> ClipRow:
    """Return a re-encoded span of a source; a stream copy would start at a keyframe, or hide frames in an edit list."""
    start, end = clip["start_s"], clip["end_s"]
    if start is None or end is None:
        raise UserError(f"clips.parquet: clip {clip['clip_id']} ({clip['kind']}): start_s and end_s are missing.")
    source = maker.source(clip["source_id"])
    recipe = maker.recipe("trim", source=source["sha256"], start_s=start, end_s=end)
    return maker.encoded(recipe, lambda scratch: trim(maker.file(source), start, end, scratch, maker.key.encode))


def _joined(maker: ClipMaker, clip: ClipRow) -> ClipRow:
    """Return two clips joined by a black span: concatenated here, or taken from the release if the clip has a source.

    The concatenation here determines its black span; that of a released clip is detected.
    """
    if clip["source_id"]:
        encoded_clip = _released(maker, clip, "ready")
        start, end = _detected_span(maker, clip, maker.store.root / encoded_clip["object"])
        return encoded_clip | {"black_start": start, "black_end": end}
    parts = [maker.part(name, clip) for name in clip["parts"]]
    concat, first, second = maker.key.concat, *(maker.file(part) for part in parts)
    digests = [part["sha256"] for part in parts]
    recipe = maker.recipe("concat", version=CONCAT_VERSION, parts=digests, concat=concat.model_dump())
    encoded_clip = maker.encoded(recipe, lambda scratch: concatenate(first, second, scratch, maker.key.encode, concat))
    start, end = joint_of(first, second, concat).black_span
    return encoded_clip | {"black_start": start, "black_end": end}


def _detected_span(maker: ClipMaker, clip: ClipRow, path: Path) -> tuple[int, int]:
    """Detect the black span of a released concatenation, near the position that the lengths of its parts imply."""
    black_s = maker.key.concat.black_s
    rows = [maker.make(name) if name in maker.clips else None for name in clip["parts"]]
    first, second = (
        packet_index(maker.file(row)).duration_s if row and row["status"] == "ok" else None for row in rows
    )
    if first is None and second is not None:
        first = packet_index(path).duration_s - second - black_s
    return separating_span(path, black_s, first)


def _stills(maker: ClipMaker, clip: ClipRow) -> ClipRow:
    images = [maker.source(name) for name in clip["parts"]]
    digests = [image["sha256"] for image in images]
    recipe = maker.recipe("lossless images", images=digests, settings=maker.key.images.model_dump())
    return maker.encoded(
        recipe,
        lambda scratch: still_clip(
            [maker.file(image) for image in images], scratch, maker.key.encode, maker.key.images
        ),
    )


def _released(maker: ClipMaker, clip: ClipRow, kind: str = "whole") -> ClipRow:
    source = maker.source(clip["source_id"])
    maker.file(source)
    recipe = value_digest({"kind": kind, "source": source["sha256"]})
    return {"object": source["object"], "recipe": recipe, "sha256": source["sha256"], "bytes": source["bytes"]}


_KINDS = {"trim": _trimmed, "segment": _trimmed, "whole": _released, "concat": _joined, "images": _stills}


def main(
    settings: ClipsKey,
    clips: In[Path],
    sources: In[Path],
    shard: int,
    store: Site[Store],
    out: Out[Path],
) -> None:
    clip_table = read_table(clips, CLIPS)
    is_in_shard = pl.Series([shard_of(unit, settings.shards) == shard for unit in clip_table["unit"]], dtype=pl.Boolean)
    rows = {row["clip_id"]: row for row in clip_table.filter(is_in_shard).iter_rows(named=True)}
    source_rows = {row["source_id"]: row for row in read_table(sources, SOURCES).iter_rows(named=True)}
    maker = ClipMaker(rows, source_rows, store, settings)
    manifest = pl.DataFrame([maker.make(clip_id) for clip_id in sorted(rows)], schema=CLIP_LEDGER)
    for row in manifest.filter(pl.col("status") != "ok").iter_rows(named=True):
        log.info(f"{row['clip_id']}: {row['status']}: {row['message']}")
    write_table(manifest, out, CLIP_LEDGER)
    log.info(f"{manifest.filter(pl.col('status') == 'ok').height} of {manifest.height} clips are ready")

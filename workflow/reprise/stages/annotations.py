"""Stage `annotations`: a benchmark's release, whatever its layout, as clips and items in one schema."""

from pathlib import Path

import polars as pl

from reprise.benchmarks.keys import AnnotationsKey
from reprise.benchmarks.part import units_of_part
from reprise.benchmarks.registry import load_release
from reprise.benchmarks.rows import with_long_texts_flawed
from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.schemas import CLIPS, ITEMS, write_table
from reprise.core.tabular import listed_files
from reprise.stages.command import In, Out


def main(settings: AnnotationsKey, release: In[Path], clips: Out[Path], item_table: Out[Path]) -> None:
    files = list(listed_files(release).values())
    found = load_release(settings.benchmark).read_release(files, settings.clips, settings.options)
    items_found = list(with_long_texts_flawed(found.items, settings.text_chars_max))
    parts, items = found._replace(items=items_found).tables()
    for name, column, frame in (("clip", "clip_id", parts), ("item", "item_id", items)):
        twice = frame.filter(frame[column].is_duplicated())
        if twice.height:
            raise UserError(f"{release}: duplicate {name} id '{twice[column][0]}'. Remove one of them.")
    if settings.limit is not None:
        parts = parts.filter(pl.col("unit").is_in(units_of_part(items, parts, settings.limit)))
        items = items.filter(pl.col("clip_id").is_in(parts["clip_id"].implode()))
    write_table(parts, clips, CLIPS)
    write_table(items, item_table, ITEMS)
    log.info(f"{parts.height} clips of {parts['unit'].n_unique()} units, {items.height} items")

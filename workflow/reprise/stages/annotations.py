"""Stage `annotations`: convert a benchmark's release of any layout to clips and items of a common schema."""

from pathlib import Path

import polars as pl

from reprise.benchmarks.annotations import flag_long_texts
from reprise.benchmarks.keys import AnnotationsKey
from reprise.benchmarks.registry import load_release
from reprise.benchmarks.stratified_sample import sample_clusters
from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.schemas import CLIPS, ITEMS, write_table
from reprise.core.tabular import read_file_list
from reprise.stages.command import In, Out


def main(settings: AnnotationsKey, release: In[Path], clips: Out[Path], item_table: Out[Path]) -> None:
    files = list(read_file_list(release).values())
    annotations = load_release(settings.benchmark).read_release(files, settings.clips, settings.options)
    checked_items = list(flag_long_texts(annotations.items, settings.text_chars_max))
    clip_table, items = annotations._replace(items=checked_items).to_tables()
    for name, column, frame in (("clip", "clip_id", clip_table), ("item", "item_id", items)):
        duplicates = frame.filter(frame[column].is_duplicated())
        if duplicates.height:
            raise UserError(f"{release}: duplicate {name} id '{duplicates[column][0]}'. Remove one of them.")
    if settings.limit is not None:
        clip_table = clip_table.filter(pl.col("cluster").is_in(sample_clusters(items, clip_table, settings.limit)))
        items = items.filter(pl.col("clip_id").is_in(clip_table["clip_id"].implode()))
    write_table(clip_table, clips, CLIPS)
    write_table(items, item_table, ITEMS)
    log.info(f"{clip_table.height} clips of {items['cluster'].n_unique()} clusters, {items.height} items")

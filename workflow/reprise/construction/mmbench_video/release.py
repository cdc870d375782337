"""MMBench-Video's release, in the authors' layout: one table."""

import csv
import io
from collections.abc import Mapping

import polars as pl

from reprise.benchmarks.mmbench_video.release import COLUMNS
from reprise.construction.filters import kept
from reprise.construction.settings import MmbenchVideoSettings


def release(tables: Mapping[str, pl.DataFrame], settings: MmbenchVideoSettings) -> dict[str, str]:
    """File -> content, of the one table that is given. Questions are in the order of their videos and indices."""
    [questions] = tables.values()
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter="\t", lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in kept(questions).sort("video", "index").iter_rows(named=True):
        cells = {**row, "dimensions": str(row["dimensions"]), "video_path": f"./video/{row['video']}.mp4"}
        writer.writerow([cells[name] for name in COLUMNS])
    return {"MMBench-Video.tsv": buffer.getvalue()}

"""Stage `construction_draw`: questions of another set of videos, for the table of temporal indispensability (3.2)."""

from pathlib import Path

import polars as pl
from human_evaluation.draws import rank
from reprise.benchmarks.mmbench_video.taxonomy import GROUPS_TAKEN
from reprise.benchmarks.mmbench_video.video_sets import COLUMNS, SCORING, set_of
from reprise.core.errors import UserError
from reprise.core.files import write_sealed
from reprise.core.log import log
from reprise.core.tabular import read_rows
from reprise.stages.command import In, Out

from construction.keys import DrawKey


def main(settings: DrawKey, set: str, file: In[Path], out: Out[Path]) -> None:
    found = drawn(file, settings.count, settings.scoring[set], settings.seed)
    write_sealed(out, found.write_csv())
    if found.height < settings.count:
        log.warning(f"{file}: {found.height} questions, fewer than the {settings.count} that are to be drawn: all are.")
    log.info(f"{out}: {found.height} questions of {set}, scored by {settings.scoring[set]}")


def drawn(path: Path, count: int, scoring: str, seed: int) -> pl.DataFrame:
    """As many questions of a set, in the order of the draw, which hangs on the questions and not on their order."""
    rows = read_rows(path)
    if SCORING in rows.columns:
        raise UserError(f"{path}: column '{SCORING}' is taken: how a set is scored stands in the suite. Rename it.")
    set_of(rows.with_columns(pl.lit(scoring).alias(SCORING)), path, GROUPS_TAKEN)  # refuses what cannot be asked
    texts = rows.select(COLUMNS).cast(pl.String).fill_null("")
    numbered = texts.with_columns(number=pl.int_range(1, pl.len() + 1).over(COLUMNS))  # of several alike
    ranks = [rank(seed, path.stem, *map(str, row)) for row in numbered.iter_rows()]
    ordered = rows.with_columns(pl.Series("rank", ranks, dtype=pl.String)).sort("rank").drop("rank")
    return ordered.head(count).with_columns(pl.lit(scoring).alias(SCORING))

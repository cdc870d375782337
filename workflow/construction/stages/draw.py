"""Stage `construction_draw`: sample questions of another video set for the temporal indispensability table (3.2)."""

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
    questions = drawn(file, settings.count, settings.scoring[set], settings.seed)
    write_sealed(out, questions.write_csv())
    if questions.height < settings.count:
        log.warning(
            f"{file}: {questions.height} questions, fewer than the {settings.count} that are to be drawn: all are."
        )
    log.info(f"{out}: {questions.height} questions of {set}, scored by {settings.scoring[set]}")


def drawn(path: Path, count: int, scoring: str, seed: int) -> pl.DataFrame:
    """Return `count` questions of a set in a seeded order, independent of their order in the file."""
    rows = read_rows(path)
    if SCORING in rows.columns:
        raise UserError(f"{path}: column '{SCORING}' is taken: how a set is scored stands in the suite. Rename it.")
    set_of(
        rows.with_columns(pl.lit(scoring).alias(SCORING)), path, GROUPS_TAKEN
    )  # raises an error for questions that cannot be asked
    texts = rows.select(COLUMNS).cast(pl.String).fill_null("")
    numbered = texts.with_columns(
        number=pl.int_range(1, pl.len() + 1).over(COLUMNS)
    )  # numbers equal questions to tell them apart
    ranks = [rank(seed, path.stem, *map(str, row)) for row in numbered.iter_rows()]
    ordered = rows.with_columns(pl.Series("rank", ranks, dtype=pl.String)).sort("rank").drop("rank")
    return ordered.head(count).with_columns(pl.lit(scoring).alias(SCORING))

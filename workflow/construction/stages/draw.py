"""Stage `construction_draw`: sample questions of another video set for the temporal indispensability table (3.2)."""

from pathlib import Path

import polars as pl
from human_evaluation.draws import seeded_digest
from reprise.benchmarks.mmbench_video.taxonomy import RESERVED_GROUPS
from reprise.benchmarks.mmbench_video.video_sets import COLUMNS, SCORING_COLUMN, read_video_set
from reprise.core.errors import UserError
from reprise.core.files import write_sealed_text
from reprise.core.log import log
from reprise.core.tabular import read_rows
from reprise.stages.command import In, Out

from construction.keys import DrawKey


def main(settings: DrawKey, set: str, file: In[Path], out: Out[Path]) -> None:
    questions = draw_questions(file, settings.count, settings.scoring[set], settings.seed)
    write_sealed_text(out, questions.write_csv())
    if questions.height < settings.count:
        log.warning(
            f"{file}: {settings.count} questions should be sampled, but the file has {questions.height}; all are used."
        )
    log.info(f"{out}: {questions.height} questions of {set}, scored by {settings.scoring[set]}")


def draw_questions(path: Path, count: int, scoring: str, seed: int) -> pl.DataFrame:
    """Return `count` questions of a set in a seeded order, independent of their order in the file."""
    rows = read_rows(path)
    if SCORING_COLUMN in rows.columns:
        raise UserError(
            f"{path}: column '{SCORING_COLUMN}' is reserved: the suite states how a set is scored. Rename the column."
        )
    # The evaluation's reader raises an error for invalid questions.
    read_video_set(rows.with_columns(pl.lit(scoring).alias(SCORING_COLUMN)), path, RESERVED_GROUPS)
    texts = rows.select(COLUMNS).cast(pl.String).fill_null("")
    # Equal questions are numbered, so their digests differ.
    numbered = texts.with_columns(number=pl.int_range(1, pl.len() + 1).over(COLUMNS))
    sort_keys = [seeded_digest(seed, path.stem, *map(str, row)) for row in numbered.iter_rows()]
    ordered = rows.with_columns(pl.Series("rank", sort_keys, dtype=pl.String)).sort("rank").drop("rank")
    return ordered.head(count).with_columns(pl.lit(scoring).alias(SCORING_COLUMN))

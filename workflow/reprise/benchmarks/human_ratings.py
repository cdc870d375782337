"""People's ratings of answers, and how far a judge is from them."""

from dataclasses import replace
from pathlib import Path

import polars as pl

from reprise.benchmarks.scoring import Convention
from reprise.core.errors import UserError
from reprise.core.files import sealed_text
from reprise.core.tabular import csv_rows
from reprise.stats.measures import Measure, measure, ones

RATED = pl.Schema({"run": pl.String, "item_id": pl.String, "rating": pl.Float64})
BEST, BEST_OF_ANY = 3, 5
"""the highest rating of the usual scale, and of any"""


def read_ratings(path: Path, run: str | None = None, highest: int = BEST) -> pl.DataFrame:
    """One row per rated answer (run, item_id, rating): the mean over the people who rated it.

    `highest` is of the scale of that run; others in the file may have another scale.
    """
    frame = pl.DataFrame(csv_rows(sealed_text(path), tuple(RATED)), schema=dict.fromkeys(RATED, pl.String))
    numbers = frame["rating"].cast(pl.Float64, strict=False)
    rows = zip(frame["run"], frame["rating"], numbers, strict=True)
    for line, (name, text, rating) in enumerate(rows, start=2):
        most = highest if run in (None, name) else BEST_OF_ANY
        if rating is None or not 0 <= rating <= most:
            raise UserError(f"{path}: line {line}: rating '{text}' is not a number from 0 to {most}.")
    return (
        frame.with_columns(rating=numbers).group_by("run", "item_id", maintain_order=True).agg(pl.col("rating").mean())
    )


def agreement(
    verdicts: pl.DataFrame,
    items: pl.DataFrame,
    ratings: pl.DataFrame,
    run: str,
    level: float,
    convention: Convention,
    highest: int = BEST,
    *,
    is_part: bool = False,
) -> list[Measure]:
    """Mean absolute error of a judge against people, over the answers of a run that people rated.

    What has no rating by the judge counts as 0, as in the means; by the authors' convention it is left out.
    Where a part of the items is asked about, ratings of others are left out.
    """
    mine = ratings.filter(pl.col("run") == run)
    unknown = mine.filter(~pl.col("item_id").is_in(items["item_id"].to_list()))
    if unknown.height and not is_part:
        raise UserError(f"ratings of {run}: no item '{unknown['item_id'][0]}' ({unknown.height} such rows).")
    rows = verdicts.join(mine.select("item_id", "rating"), on="item_id").join(
        items.select("item_id", "unit"), on="item_id"
    )
    if rows.is_empty():
        return []
    counted = ones(rows) if convention == "fixed" else rows["score"].is_not_null().cast(pl.Float64)
    apart = (rows["score"].fill_null(0.0) - rows["rating"]).abs()
    found = measure("mae", "overall", rows, [(apart * counted, counted)], level, scale=1, limits=(0, highest))
    return [replace(found, missing=0)]

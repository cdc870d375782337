"""Read human ratings of answers, and measure how far a judge deviates from them."""

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
"""highest rating of the default scale, and of any scale"""


def read_ratings(path: Path, run: str | None = None, highest: int = BEST) -> pl.DataFrame:
    """Read a CSV file of human ratings and average them over the annotators.

    Args:
        path: The CSV file, with one row per rating.
        run: The run to which `highest` applies; all runs if None. Other runs in the file may use another scale.
        highest: The highest rating of the scale.

    Returns:
        One row per rated answer (run, item_id, rating).

    Raises:
        UserError: A rating is not a number within its scale.
    """
    frame = pl.DataFrame(csv_rows(sealed_text(path), tuple(RATED)), schema=dict.fromkeys(RATED, pl.String))
    ratings = frame["rating"].cast(pl.Float64, strict=False)
    rows = zip(frame["run"], frame["rating"], ratings, strict=True)
    for line, (rated_run, text, rating) in enumerate(rows, start=2):
        maximum = highest if run in (None, rated_run) else BEST_OF_ANY
        if rating is None or not 0 <= rating <= maximum:
            raise UserError(f"{path}: line {line}: rating '{text}' is not a number from 0 to {maximum}.")
    return (
        frame.with_columns(rating=ratings).group_by("run", "item_id", maintain_order=True).agg(pl.col("rating").mean())
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
    """Return the judge's mean absolute error against human ratings, over the rated answers of a run.

    An answer that the judge did not rate counts as 0, as in the mean ratings. The `authors` convention leaves it out.
    With `is_part`, only some of the items are queried, and ratings of the remaining items are ignored.
    """
    run_ratings = ratings.filter(pl.col("run") == run)
    unknown = run_ratings.filter(~pl.col("item_id").is_in(items["item_id"].to_list()))
    if unknown.height and not is_part:
        raise UserError(f"ratings of {run}: no item '{unknown['item_id'][0]}' ({unknown.height} such rows).")
    rows = verdicts.join(run_ratings.select("item_id", "rating"), on="item_id").join(
        items.select("item_id", "unit"), on="item_id"
    )
    if rows.is_empty():
        return []
    weights = ones(rows) if convention == "fixed" else rows["score"].is_not_null().cast(pl.Float64)
    errors = (rows["score"].fill_null(0.0) - rows["rating"]).abs()
    error = measure("mae", "overall", rows, [(errors * weights, weights)], level, scale=1, limits=(0, highest))
    return [replace(error, missing=0)]

"""Read human ratings of answers, and measure how far a judge deviates from them."""

from dataclasses import replace
from pathlib import Path

import polars as pl

from reprise.benchmarks.scoring import Convention
from reprise.core.errors import UserError
from reprise.core.files import verify_sealed_text
from reprise.core.tabular import read_csv_rows
from reprise.stats.measures import Measure, compute_measure, unit_weights

RATING_SCHEMA = pl.Schema({"run": pl.String, "item_id": pl.String, "rating": pl.Float64})
DEFAULT_MAX_RATING, LARGEST_MAX_RATING = 3, 5
"""highest rating of the default scale, and of any scale"""


def read_ratings(path: Path, run: str | None = None, max_rating: int = DEFAULT_MAX_RATING) -> pl.DataFrame:
    """Read a CSV file of human ratings and average them over the annotators.

    Args:
        path: The CSV file, with one row per rating.
        run: The run to which `max_rating` applies; all runs if None. Other runs in the file may use another scale.
        max_rating: The highest rating of the scale.

    Returns:
        One row per rated answer (run, item_id, rating).

    Raises:
        UserError: A rating is not a number within its scale.
    """
    frame = pl.DataFrame(
        read_csv_rows(verify_sealed_text(path), tuple(RATING_SCHEMA)), schema=dict.fromkeys(RATING_SCHEMA, pl.String)
    )
    ratings = frame["rating"].cast(pl.Float64, strict=False)
    rows = zip(frame["run"], frame["rating"], ratings, strict=True)
    for line_number, (rated_run, text, rating) in enumerate(rows, start=2):
        maximum = max_rating if run in (None, rated_run) else LARGEST_MAX_RATING
        if rating is None or not 0 <= rating <= maximum:
            raise UserError(f"{path}: line {line_number}: rating '{text}' is not a number from 0 to {maximum}.")
    return (
        frame.with_columns(rating=ratings).group_by("run", "item_id", maintain_order=True).agg(pl.col("rating").mean())
    )


def measure_judge_error(
    verdicts: pl.DataFrame,
    items: pl.DataFrame,
    ratings: pl.DataFrame,
    run: str,
    level: float,
    convention: Convention,
    max_rating: int = DEFAULT_MAX_RATING,
    *,
    is_sample: bool = False,
) -> list[Measure]:
    """Return the judge's mean absolute error against human ratings, over the rated answers of a run.

    An answer that the judge did not rate counts as 0, as in the mean ratings; the `authors` convention leaves it out.
    With `is_sample`, `items` are a sample of the benchmark, and ratings of other items are ignored.
    """
    run_ratings = ratings.filter(pl.col("run") == run)
    unknown_ratings = run_ratings.filter(~pl.col("item_id").is_in(items["item_id"].to_list()))
    if unknown_ratings.height and not is_sample:
        raise UserError(
            f"ratings of {run}: no item '{unknown_ratings['item_id'][0]}' in the benchmark "
            f"({unknown_ratings.height} such rows). Correct the ids or remove the rows."
        )
    rows = verdicts.join(run_ratings.select("item_id", "rating"), on="item_id").join(
        items.select("item_id", "cluster"), on="item_id"
    )
    if rows.is_empty():
        return []
    weights = unit_weights(rows) if convention == "fixed" else rows["score"].is_not_null().cast(pl.Float64)
    errors = (rows["score"].fill_null(0.0) - rows["rating"]).abs()
    error = compute_measure(
        "mae", "overall", rows, [(errors * weights, weights)], level, scale=1, limits=(0, max_rating)
    )
    return [replace(error, missing=0)]  # Items without a human rating are not missing.

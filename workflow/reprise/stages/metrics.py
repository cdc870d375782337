"""Stage `metrics`: a run's numbers, by both conventions, with what was asked, failed, unread and missing."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from reprise.benchmarks.contract import ScoresModule
from reprise.benchmarks.flaws import flaw_numbers
from reprise.benchmarks.human_ratings import agreement, read_ratings
from reprise.benchmarks.keys import MetricsKey
from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.rows import chosen_items
from reprise.benchmarks.scoring import Answered, Convention, in_group
from reprise.core.errors import run_command
from reprise.core.keyfile import read_key
from reprise.core.log import log
from reprise.core.schemas import ITEMS, METRICS, READERS_DIFFER, VERDICTS, check_key, read_table, write_table
from reprise.media.sampling import frames_shown
from reprise.models.keys import RunKey
from reprise.stages.arguments import arguments
from reprise.stats.binomial import binomial_p
from reprise.stats.measures import Measure, Resampling

# A convention and the reader that goes with it: what tables show, and what is compared with published numbers.
CONVENTIONS: tuple[tuple[Convention, str], ...] = (("fixed", "robust"), ("authors", "authors"))


def main() -> None:
    args = arguments(
        "Measure a run.",
        key=Path, run_key=Path, judge=[str], items=Path, robust=Path, authors=Path, ratings=[Path],
        out=Path,
    )  # fmt: skip
    key, run_key = read_key(args.key, MetricsKey), read_key(args.run_key, RunKey)
    items = chosen_items(read_table(args.items, ITEMS, without=("texts",)), key.items)
    undefined = undefined_metrics(key.frames_min, run_key.answers.sampling)
    named = {"run": run_key.run, "judge": next(iter(args.judge), None), "key": run_key.key}
    scores, resampling = load_scores(key.benchmark), Resampling(**key.bootstrap.model_dump())
    found: list[tuple[Measure, dict[str, Any]]] = []
    readings: list[pl.DataFrame] = []
    for convention, reader in CONVENTIONS:
        path = getattr(args, reader)
        read = read_table(path, VERDICTS)
        check_key(read, run_key.key, path)
        readings.append(read)
        measures = measured(scores, key.form, items, read, resampling, convention)
        for ratings in args.ratings:
            measures += agreement(read, items, read_ratings(ratings), run_key.run, resampling)
        found += [(one, named | {"convention": convention, "reader": reader}) for one in measures]
    shown = dict(zip(("convention", "reader"), CONVENTIONS[0], strict=True))
    rows: list[dict[str, Any]] = [number | named | shown for number in flaw_numbers(items)]
    rows.append(readers_differ(*readings) | named | shown)
    rows += [row_of(one, scores.CHANCE.get(one.metric), undefined.get(one.metric)) | names for one, names in found]
    frame = pl.DataFrame(rows, schema=METRICS)
    write_table(frame, args.out, METRICS, args.made_under)
    log.info(f"{frame.height} numbers")


def readers_differ(robust: pl.DataFrame, authors: pl.DataFrame) -> dict[str, Any]:
    """On how many answers the two readers differ."""
    both = robust.join(authors, on="request_id", suffix="_authors")
    differing = both.filter(pl.col("value") != pl.col("value_authors")).height
    counts = {"asked": both.height, "scored": both.height} | dict.fromkeys(("failed", "unparsed", "missing"), 0)
    return {"metric": READERS_DIFFER, "group": "answers", "value": float(differing), **counts}


def measured(
    scores: ScoresModule,
    form: str,
    items: pl.DataFrame,
    verdicts: pl.DataFrame,
    resampling: Resampling,
    convention: Convention,
) -> list[Measure]:
    """Every metric of a form by one convention; `missing` counts a group's items that were never asked."""
    # Clusters as numbers in the order of their names: sorted once, not for every metric, and the same draws.
    numbered = items.with_columns(pl.col("unit").rank("dense"))
    found = scores.SCORES[form].measure(Answered(numbered, verdicts, convention), resampling)
    missing = items.join(verdicts, on="item_id", how="anti")
    groups = {one.group for one in found if one.missing is None}
    missing_of = {group: in_group(missing, group, scores.GROUPS).height for group in groups}
    return [one if one.missing is not None else replace(one, missing=missing_of[one.group]) for one in found]


def undefined_metrics(frames_min: Mapping[str, int], rule: Mapping[str, Any]) -> dict[str, str]:
    """Metric -> why it is undefined for the frames that a sampling rule shows."""
    frames = frames_shown(rule)
    if frames is None:
        return {}
    return {
        metric: f"Undefined below {fewest} frames; this run shows {frames}."
        for metric, fewest in frames_min.items()
        if frames < fewest
    }


def row_of(one: Measure, chance: float | None, undefined: str | None = None) -> dict[str, Any]:
    """A measure as a row of the table, compared with chance; where it is undefined for these frames, the reason."""
    counts = {
        name: getattr(one, name) for name in ("metric", "group", "asked", "scored", "failed", "unparsed", "missing")
    }
    if undefined is not None:
        return counts | {"note": undefined}
    numbers = counts | {"value": one.value, "low": one.low, "high": one.high}
    if one.right is None or chance is None:
        return numbers
    return numbers | {"p_chance": binomial_p(round(one.right), one.asked, chance / 100)}


if __name__ == "__main__":
    run_command(main)

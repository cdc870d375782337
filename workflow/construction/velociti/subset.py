"""Search for a subset of VELOCITI as hard as the whole (appendix B.3), by random tries and a model's strict score.

The paper gives no further detail. Reprise searches each test separately until its score is within the tolerance.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl
from human_evaluation.draws import rank
from reprise.benchmarks.velociti.subsets import captions_digest
from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.core.errors import UserError

from construction.filters import Row
from construction.settings import SubsetSearch

ROLES = ("pos", "neg")


class Subset(NamedTuple):
    """The subset of one test: its samples, the strict scores of all and of these in percent, and its tries."""

    test: str
    samples: int
    strict: float
    item_ids: list[str]
    subset_strict: float
    tries: int


def samples_of(items: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, dict[str, bool]]:
    """Return, per test in the paper's order, the samples with both captions judged, and whether both are right."""
    judged = verdicts.filter(pl.col("role").is_in(ROLES)).group_by("item_id").agg(pl.col("right").all(), pl.len())
    rows = items.join(judged.filter(pl.col("len") == len(ROLES)), on="item_id", how="inner")
    by_test = {test: dict(rows.filter(task=test).select("item_id", "right").iter_rows()) for test in (CONTROL, *TESTS)}
    return {test: samples for test, samples in by_test.items() if samples}


def search(test: str, right: Mapping[str, bool], settings: SubsetSearch) -> Subset:
    """Return the first seeded subset of a test within the tolerance, or all samples if there are too few."""

    def percent(chosen: Sequence[str]) -> float:
        return 100 * sum(right[item] for item in chosen) / len(chosen)

    strict = percent(list(right))
    if len(right) <= settings.per_test:
        return Subset(test, len(right), strict, sorted(right), strict, 0)
    nearest = Subset(test, len(right), strict, [], float("inf"), 0)
    for number in range(1, settings.tries + 1):
        chosen = sorted(sorted(right, key=lambda item: rank(settings.seed, str(number), item))[: settings.per_test])
        score = percent(chosen)
        if abs(score - strict) < abs(nearest.subset_strict - strict):
            nearest = Subset(test, len(right), strict, chosen, score, number)
        if abs(score - strict) <= settings.tolerance:
            return nearest
    raise UserError(
        f"subset of {test}: none of {settings.tries} tries is within {settings.tolerance:g} points of {strict:.2f}, "
        f"the strict score of all {len(right)} samples; the nearest has {nearest.subset_strict:.2f}. "
        "Give `subset_search:` of the suite a larger `tolerance:` or more `tries:`."
    )


def subset_rows(items: pl.DataFrame, subsets: Sequence[Subset]) -> list[Row]:
    chosen = {item for subset in subsets for item in subset.item_ids}
    rows = []
    for item in items.filter(pl.col("item_id").is_in(chosen)).iter_rows(named=True):
        texts = {entry["name"]: entry["text"] for entry in item["texts"]}
        names = item["item_id"].split("/")[-2].split("-")
        rows.append({
            "test_name": item["task"],
            "video_id": item["cluster"],
            "event": names[0] if len(names) == 1 else json.dumps(names, separators=(",", ":")),
            "captions": captions_digest(texts["positive"], texts["negative"]),
        })  # fmt: skip
    return rows


def score_rows(subsets: Sequence[Subset]) -> list[Row]:
    return [
        {
            "test_name": subset.test,
            "samples": subset.samples,
            "strict": f"{subset.strict:.2f}",
            "subset": len(subset.item_ids),
            "subset_strict": f"{subset.subset_strict:.2f}",
            "tries": subset.tries,
        }
        for subset in subsets
    ]

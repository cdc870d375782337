"""The search for a subset of VELOCITI as hard as the whole (appendix B.3): random tries, a model's strict score.

The paper says no more than that. Ours is that each test is searched by itself until its score is within the tolerance.
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


class Found(NamedTuple):
    """The subset of one test: its samples, the strict scores of all and of these in percent, and its tries."""

    test: str
    samples: int
    strict: float
    chosen: list[str]
    subset_strict: float
    tries: int


def samples_of(items: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, dict[str, bool]]:
    """By test, in the paper's order, the samples asked about both captions, and whether both are judged right."""
    asked = verdicts.filter(pl.col("role").is_in(ROLES)).group_by("item_id").agg(pl.col("right").all(), pl.len())
    rows = items.join(asked.filter(pl.col("len") == len(ROLES)), on="item_id", how="inner")
    found = {test: dict(rows.filter(task=test).select("item_id", "right").iter_rows()) for test in (CONTROL, *TESTS)}
    return {test: samples for test, samples in found.items() if samples}


def search(test: str, right: Mapping[str, bool], how: SubsetSearch) -> Found:
    """The first seeded draw of a test whose score is near that of all its samples; all where there are no more."""

    def percent(chosen: Sequence[str]) -> float:
        return 100 * sum(right[item] for item in chosen) / len(chosen)

    strict = percent(list(right))
    if len(right) <= how.per_test:
        return Found(test, len(right), strict, sorted(right), strict, 0)
    nearest = Found(test, len(right), strict, [], float("inf"), 0)
    for number in range(1, how.tries + 1):
        chosen = sorted(sorted(right, key=lambda item: rank(how.seed, str(number), item))[: how.per_test])
        score = percent(chosen)
        if abs(score - strict) < abs(nearest.subset_strict - strict):
            nearest = Found(test, len(right), strict, chosen, score, number)
        if abs(score - strict) <= how.tolerance:
            return nearest
    raise UserError(
        f"subset of {test}: none of {how.tries} tries is within {how.tolerance:g} points of {strict:.2f}, the strict "
        f"score of all {len(right)} samples; the nearest has {nearest.subset_strict:.2f}. Give `subset_search:` of the "
        "suite a larger `tolerance:` or more `tries:`."
    )


def listed(items: pl.DataFrame, found: Sequence[Found]) -> list[Row]:
    chosen = {item for one in found for item in one.chosen}
    rows = []
    for item in items.filter(pl.col("item_id").is_in(chosen)).iter_rows(named=True):
        texts = {one["name"]: one["text"] for one in item["texts"]}
        names = item["item_id"].split("/")[-2].split("-")
        rows.append({
            "test_name": item["task"],
            "video_id": item["unit"],
            "event": names[0] if len(names) == 1 else json.dumps(names, separators=(",", ":")),
            "captions": captions_digest(texts["positive"], texts["negative"]),
        })  # fmt: skip
    return rows


def scores(found: Sequence[Found]) -> list[Row]:
    return [
        {
            "test_name": one.test,
            "samples": one.samples,
            "strict": f"{one.strict:.2f}",
            "subset": len(one.chosen),
            "subset_strict": f"{one.subset_strict:.2f}",
            "tries": one.tries,
        }
        for one in found
    ]

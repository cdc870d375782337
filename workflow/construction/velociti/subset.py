"""Random search for a subset of VELOCITI on which a model's strict score is that of all samples (appendix B.3).

The paper gives no further detail. Reprise searches each test separately until its score is within the tolerance.
"""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl
from human_evaluation.draws import seeded_digest
from reprise.benchmarks.velociti.subsets import captions_digest
from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.core.errors import UserError

from construction.filters import Row
from construction.settings import SubsetSearch

ROLES = ("pos", "neg")  # the roles of the requests about both captions of a sample


class Subset(NamedTuple):
    """The subset of one test, with the strict scores (in percent) on all samples and on the subset."""

    test: str
    sample_count: int  # all samples of the test
    strict: float
    item_ids: list[str]  # the samples of the subset
    subset_strict: float
    tries: int  # number of random subsets up to this one; 0 if the subset has all samples


def find_correct_samples(items: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, dict[str, bool]]:
    """Return test -> sample -> whether the model is right about both captions, for samples with two verdicts."""
    judged = verdicts.filter(pl.col("role").is_in(ROLES)).group_by("item_id").agg(pl.col("right").all(), pl.len())
    rows = items.join(judged.filter(pl.col("len") == len(ROLES)), on="item_id", how="inner")
    by_test = {test: dict(rows.filter(task=test).select("item_id", "right").iter_rows()) for test in (CONTROL, *TESTS)}
    return {test: samples for test, samples in by_test.items() if samples}


def search(test: str, is_correct: Mapping[str, bool], settings: SubsetSearch) -> Subset:
    """Return the first seeded subset of a test within the tolerance, or all samples if there are too few."""

    def percent(selected: Sequence[str]) -> float:
        return 100 * sum(is_correct[item] for item in selected) / len(selected)

    strict = percent(list(is_correct))
    if len(is_correct) <= settings.per_test:
        return Subset(test, len(is_correct), strict, sorted(is_correct), strict, 0)
    closest = Subset(test, len(is_correct), strict, [], float("inf"), 0)
    for try_number in range(1, settings.tries + 1):
        sort_keys = {item: seeded_digest(settings.seed, str(try_number), item) for item in is_correct}
        item_ids = sorted(sorted(is_correct, key=sort_keys.__getitem__)[: settings.per_test])
        score = percent(item_ids)
        if abs(score - strict) < abs(closest.subset_strict - strict):
            closest = Subset(test, len(is_correct), strict, item_ids, score, try_number)
        if abs(score - strict) <= settings.tolerance:
            return closest
    raise UserError(
        f"subset of {test}: none of {settings.tries} tries is within {settings.tolerance:g} points of {strict:.2f}, "
        f"the strict score of all {len(is_correct)} samples; the nearest has {closest.subset_strict:.2f}. "
        "Give `subset_search:` of the suite a larger `tolerance:` or more `tries:`."
    )


def subset_rows(items: pl.DataFrame, subsets: Sequence[Subset]) -> list[Row]:
    """Return the rows of the subset's list, which names each sample by its test, video, events and captions."""
    selected_ids = {item for subset in subsets for item in subset.item_ids}
    rows = []
    for item in items.filter(pl.col("item_id").is_in(selected_ids)).iter_rows(named=True):
        texts = {caption["name"]: caption["text"] for caption in item["texts"]}
        # Ids are <test>/<video>/<events>/<number>.
        _, *video_parts, event_part, _ = item["item_id"].split("/")
        events = event_part.split("-")
        rows.append({
            "test_name": item["task"],
            "video_id": "/".join(video_parts),
            "event": events[0] if len(events) == 1 else json.dumps(events, separators=(",", ":")),
            "captions": captions_digest(texts["positive"], texts["negative"]),
        })  # fmt: skip
    return rows


def score_rows(subsets: Sequence[Subset]) -> list[Row]:
    """Return a row per test with the strict scores of all samples and of the subset."""
    return [
        {
            "test_name": subset.test,
            "samples": subset.sample_count,
            "strict": f"{subset.strict:.2f}",
            "subset": len(subset.item_ids),
            "subset_strict": f"{subset.subset_strict:.2f}",
            "tries": subset.tries,
        }
        for subset in subsets
    ]

"""Measure the agreement between annotators who each answer some of the questions."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import krippendorff
import numpy as np

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]


def compute_alpha(
    vote_counts: Sequence[Mapping[str, int]], values: Sequence[str], level: Level = "nominal"
) -> float | None:
    """Return Krippendorff's alpha, or None if it is undefined.

    Alpha is undefined if no question has two answers or if all answers are equal.

    Args:
        vote_counts: For each question, the number of annotators who chose each value.
        values: All possible values of an answer. At levels other than `nominal` they must be numbers.
        level: Level of measurement.
    """
    counts = np.array([[votes.get(value, 0) for value in values] for votes in vote_counts], dtype=np.int64)
    # Alpha compares the answers to the same question, so only questions with two or more answers count.
    paired_counts = counts[counts.sum(axis=1) > 1] if counts.size else counts
    distinct_value_count = (paired_counts.sum(axis=0) > 0).sum()
    if distinct_value_count < 2:
        return None
    domain = list(values) if level == "nominal" else [float(value) for value in values]
    return float(krippendorff.alpha(value_counts=paired_counts, value_domain=domain, level_of_measurement=level))

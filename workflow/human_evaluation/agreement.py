"""How far people agree, of whom each answers some of the questions."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import krippendorff
import numpy as np

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]


def alpha(answers: Sequence[Mapping[str, int]], values: Sequence[str], level: Level = "nominal") -> float | None:
    """Krippendorff's alpha of questions, each with how many people gave each value; values of other levels are numbers.

    None where no question has two answers, or all answers are alike: nothing can be said then.
    """
    counts = np.array([[given.get(value, 0) for value in values] for given in answers], dtype=np.int64)
    paired = counts[counts.sum(axis=1) > 1] if counts.size else counts
    if (paired.sum(axis=0) > 0).sum() < 2:
        return None
    domain = list(values) if level == "nominal" else [float(value) for value in values]
    return float(krippendorff.alpha(value_counts=paired, value_domain=domain, level_of_measurement=level))

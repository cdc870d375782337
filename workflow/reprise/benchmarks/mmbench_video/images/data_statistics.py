"""Numbers of the data sets of images."""

import polars as pl

from reprise.benchmarks.mmbench_video.images.taxonomy import CIRCULAR, FORM_OF, groups_of, option_texts
from reprise.core.schemas import in_group_named
from reprise.stats.chance import chance_all_right


def statistics(items: pl.DataFrame) -> list[tuple[str, str, float]]:
    """Questions by group, and what a guesser reaches: 1/k for k options, and (1/k)^k under all their rotations."""
    found = []
    for data_set, form in FORM_OF.items():
        for group in groups_of(data_set):
            counts = [len(option_texts(item)) for item in items.filter(in_group_named(group)).iter_rows(named=True)]
            guesses = [[count] * (count if form == CIRCULAR else 1) for count in counts if count]
            chance = chance_all_right(guesses)
            if chance is not None:
                found += [("questions", group, float(len(counts))), (f"chance.{form}.accuracy", group, 100 * chance)]
    return found

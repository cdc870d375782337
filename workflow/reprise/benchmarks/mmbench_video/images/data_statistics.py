"""Numbers of the data sets of images."""

import polars as pl

from reprise.benchmarks.counting import Number
from reprise.benchmarks.mmbench_video.images.taxonomy import GROUPS_OF, MMBENCH, MMSTAR, option_texts
from reprise.benchmarks.rows import chosen_items, items_of
from reprise.stats.chance import chance_all_right


def image_numbers(items: pl.DataFrame) -> list[Number]:
    """Questions by group, and chance: 1/k for k options, and (1/k)^k under all their rotations."""
    found = []
    for data_set, form in ((MMBENCH, "circular"), (MMSTAR, "choice")):
        for group in GROUPS_OF[data_set]:
            counts = [len(option_texts(item)) for item in items_of(chosen_items(items, group))]
            guesses = [[count] * (count if form == "circular" else 1) for count in counts if count]
            chance = chance_all_right(guesses)
            if chance is not None:
                found.append(Number("questions", group, len(counts)))
                found.append(Number(f"chance.{form}.accuracy", group, 100 * chance))
    return found

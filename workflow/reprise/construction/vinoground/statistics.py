"""Numbers of the construction beside the paper's: sections 3.1 to 3.3."""

from collections import Counter
from collections.abc import Mapping, Sequence

import polars as pl

from reprise.benchmarks.vinoground.taxonomy import MAJOR, MINOR
from reprise.construction.filters import Row, beside, counts, kept
from reprise.construction.settings import VinogroundSettings
from reprise.construction.vinoground.candidates import POOL_FILTERS
from reprise.construction.vinoground.requests import PAIR_FILTERS
from reprise.construction.vinoground.review import VIDEO_FILTERS
from reprise.construction.vinoground.samples import FOUND_FILTERS

# Table 2: category -> pairs.
TABLE2 = {
    "object": 160, "action": 257, "viewpoint": 83, "interaction": 73, "cyclical": 111, "spatial": 103, "contextual": 63,
}  # fmt: skip


# Appendix L: seconds -> videos of at most so many.
LENGTHS = ((20, 992), (10, 930))
NOTE = "spans as given; a whole file is not counted"


def filter_counts(tables: Mapping[str, pl.DataFrame]) -> list[Row]:
    """What every filter of every step dropped."""
    found = kept(tables["samples"]).select("sample_id")
    steps: Sequence[tuple[str, pl.DataFrame, Sequence[str]]] = (
        ("pool", tables["pool"], POOL_FILTERS),
        ("written", tables["written"], (*PAIR_FILTERS, "enough")),
        ("samples", tables["samples"], FOUND_FILTERS),
        ("reviewed", tables["reviewed"].join(found, on="sample_id", how="semi"), VIDEO_FILTERS),
    )
    return [row for step, table, names in steps for row in counts(step, table, names)]


def statistics(tables: Mapping[str, pl.DataFrame], settings: VinogroundSettings) -> list[Row]:
    """The paper's numbers and ours."""
    pool, released = kept(tables["pool"]), kept(tables["reviewed"])
    categories = released.unique("pair", maintain_order=True)["category"].to_list()
    named = Counter(name for category in categories for name in category.split(";"))
    return [
        beside("videos of the pool", "all", 9000, pool["video"].n_unique()),
        beside("captions of the pool", "all", 45000, pool.height),
        beside("pairs of captions written", "all", 500, kept(tables["written"]).height, "candidates, before videos"),
        beside("similar captions looked at, a caption", "all", 20, _most(tables["samples"])),
        beside("pairs released", "all", 500, len(categories)),
        beside("videos and captions released", "all", 1000, released.height),
        *(
            beside("videos by length", f"{most} s or less", number, _short(released, most), NOTE)
            for most, number in LENGTHS
        ),
        *(beside("pairs (Table 2)", name, TABLE2[name], named[name]) for name in (*MAJOR, *MINOR)),
    ]


def _short(released: pl.DataFrame, most: float) -> int:
    return released.filter(pl.col("end_s") - pl.col("start_s") <= most).height


def _most(found: pl.DataFrame) -> float | None:
    return None if found.is_empty() else float(max(found["rank"].to_list()))

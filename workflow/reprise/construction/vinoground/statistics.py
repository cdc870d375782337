"""Numbers of the construction beside the paper's: sections 3.1 to 3.3."""

from collections import Counter
from collections.abc import Mapping

import polars as pl

from reprise.benchmarks.vinoground.taxonomy import MAJOR, MINOR
from reprise.construction.filters import Row, beside, kept
from reprise.construction.settings import VinogroundSettings
from reprise.construction.vinoground.candidates import POOL_FILTERS
from reprise.construction.vinoground.review import VIDEO_FILTERS
from reprise.construction.vinoground.writing import FOUND_FILTERS, PAIR_FILTERS

# Table 2: category -> pairs.
TABLE2 = {
    "object": 160, "action": 257, "viewpoint": 83, "interaction": 73, "cyclical": 111, "spatial": 103, "contextual": 63,
}  # fmt: skip
# Appendix L: seconds -> videos of at most so many.
LENGTHS = {20: 992, 10: 930}
NOTE = "spans as given; a whole file is not counted"
FILTERS = {"pool": POOL_FILTERS, "written": PAIR_FILTERS, "samples": FOUND_FILTERS, "reviewed": VIDEO_FILTERS}


def statistics(tables: Mapping[str, pl.DataFrame], settings: VinogroundSettings) -> list[Row]:
    pool, released = kept(tables["pool"]), kept(tables["reviewed"])
    categories = released.unique("pair", maintain_order=True)["category"].to_list()
    named = Counter(name for category in categories for name in category.split(";"))
    ranks = [float(rank) for rank in tables["samples"]["rank"]]
    lengths = (released["end_s"] - released["start_s"]).to_list()
    short = {most: sum(one is not None and one <= most for one in lengths) for most in LENGTHS}
    return [
        beside("videos of the pool", "all", 9000, pool["video"].n_unique()),
        beside("captions of the pool", "all", 45000, pool.height),
        beside("pairs of captions written", "all", 500, kept(tables["written"]).height, "candidates, before videos"),
        beside("similar captions looked at, a caption", "all", 20, max(ranks, default=None)),
        beside("pairs released", "all", 500, len(categories)),
        beside("videos and captions released", "all", 1000, released.height),
        *(beside("videos by length", f"{most} s or less", LENGTHS[most], short[most], NOTE) for most in LENGTHS),
        *(beside("pairs (Table 2)", name, TABLE2[name], named[name]) for name in (*MAJOR, *MINOR)),
    ]

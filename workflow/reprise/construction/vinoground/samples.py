"""Pairs of captions, and for each caption the videos of the pool that may show it."""

from collections.abc import Mapping, Sequence

import polars as pl

from reprise.benchmarks.prompts import Prompt
from reprise.benchmarks.vinoground.taxonomy import HALVES
from reprise.construction.filters import KEPT, kept
from reprise.construction.settings import VinogroundSettings
from reprise.construction.steps import Made
from reprise.construction.vinoground.requests import chosen
from reprise.construction.vinoground.retrieval import Vectors, Words, nearest

SIDES = dict(zip(HALVES, ("positive", "negative"), strict=True))
FOUND_FILTERS = ("same_video",)
PLACES = ("video", "source", "start_s", "end_s", "caption")


def samples(
    tables: Mapping[str, pl.DataFrame],
    given: Sequence[pl.DataFrame],
    prompts: Mapping[str, Prompt],
    settings: VinogroundSettings,
    vectors: Vectors | None = None,
) -> Made:
    """The most similar captions of the pool for each caption; a video that was found before is dropped."""
    written = chosen(given, prompts, settings)
    asked = [(row, half) for row in written if not row["filter"] for half in HALVES]
    pool = kept(tables["pool"]).to_dicts()
    captions = [row["caption"] for row in pool]
    encode = vectors or Words(captions).encode
    results = nearest(encode([row[SIDES[half]] for row, half in asked]), encode(captions), settings.nearest)
    found = []
    for (pair, half), places in zip(asked, results, strict=True):
        seen: set[str] = set()
        for number, (place, similarity) in enumerate(places, 1):
            one = pool[place]
            is_known = one["video"] in seen
            seen.add(one["video"])
            found.append({
                "sample_id": f"{pair['pair']}/{half}/{one['video']}{f'/{number}' if is_known else ''}",
                "pair": pair["pair"], "half": half, "text": pair[SIDES[half]], "rank": number,
                "similarity": round(similarity, 6), **{name: one[name] for name in PLACES},
                **({"filter": "same_video", "why": "found by a more similar caption"} if is_known else KEPT),
            })  # fmt: skip
    return Made(written, found)

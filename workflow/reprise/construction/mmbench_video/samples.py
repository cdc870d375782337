"""The questions that can be used, and what the guidelines say of them."""

from collections.abc import Mapping, Sequence

import polars as pl

from reprise.benchmarks.prompts import Prompt
from reprise.construction.filters import kept, sifted
from reprise.construction.mmbench_video.guidelines import filters, warnings
from reprise.construction.settings import MmbenchVideoSettings
from reprise.construction.steps import Made


def samples(
    tables: Mapping[str, pl.DataFrame],
    given: Sequence[pl.DataFrame],
    prompts: Mapping[str, Prompt],
    settings: MmbenchVideoSettings,
) -> Made:
    """Every usable row of the annotators, checked by the guidelines."""
    rows = [row | {"warnings": warnings(row)} for row in kept(tables["candidates"]).to_dicts()]
    return Made([], sifted(rows, filters(settings)))

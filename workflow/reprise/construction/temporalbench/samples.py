"""TemporalBench's samples: each negative of each caption with its category, and negatives of one negative."""

from collections.abc import Mapping, Sequence

import polars as pl

from reprise.benchmarks.prompts import Prompt
from reprise.construction.filters import Filter, Row, kept, sifted
from reprise.construction.replies import read_list
from reprise.construction.settings import TemporalBenchSettings
from reprise.construction.steps import Made
from reprise.construction.temporalbench.candidates import CATEGORY, EVENTS
from reprise.construction.temporalbench.negatives import (
    CENTRAL,
    EVENT_ORDER,
    NEGATIVE_FILTERS,
    as_negatives,
    kept_words,
    plain,
)
from reprise.construction.temporalbench.requests import CENTRAL_COUNT, Asked, central_name, examples

SAMPLE_FILTERS = (*NEGATIVE_FILTERS, "caption_again", "not_labelled")
OF_CLIP = ("dataset", "video", "start_s", "end_s")


def samples(
    tables: Mapping[str, pl.DataFrame],
    given: Sequence[pl.DataFrame],
    prompts: Mapping[str, Prompt],
    settings: TemporalBenchSettings,
) -> Made:
    """All negatives; each dropped one with its reason."""
    asked = Asked(tables, given, prompts, settings)
    clips = {row["clip"]: row for row in kept(tables["pool"]).iter_rows(named=True)}
    rows = [_labelled(row, asked.later) for row in asked.negatives]
    for clip, one in clips.items():
        own = [row for row in rows if row["clip"] == clip]
        rows += _central(clip, one["caption"], own, asked.later, examples(prompts))
    problems = {row["text_id"]: f"{row['filter']}: {row['why']}" for row in asked.written if row["filter"]}
    labelled = Filter(
        "not_labelled",
        lambda row: (
            ""
            if row["category"] or row["level"] == CENTRAL
            else problems.get(f"{CATEGORY}/{row['sample_id']}", "not asked")
        ),
    )
    return Made(asked.written, [_of(clips[row["clip"]], row) for row in sifted(rows, [labelled])])


def _labelled(row: Row, later: Mapping[str, str]) -> Row:
    category = EVENT_ORDER if row["level"] == EVENTS else later.get(f"{CATEGORY}/{row['sample_id']}", "")
    return row | {"category": category, "of": row["caption"]}


def _central(clip: str, caption: str, own: Sequence[Row], later: Mapping[str, str], known: frozenset[str]) -> list[Row]:
    """Negatives of the clip's negatives, which must not lead back to the caption or to another negative."""
    others = {plain(row["negative"]) for row in own}

    def again(row: Mapping[str, str]) -> str:
        if plain(row["negative"]) == plain(caption):
            return "the caption that the negative was made of"
        return "another negative of the caption" if plain(row["negative"]) in others else ""

    rows: list[Row] = []
    for first in (row["negative"] for row in kept_words(own)):
        name = central_name(clip, first)
        lines = read_list(later[name], "").found if name in later else []
        rows += [
            row | {"sample_id": f"{name}/{row['place']}", "caption": caption, "of": first, "category": ""}
            for row in as_negatives(clip, first, [(CENTRAL, CENTRAL_COUNT, lines)], known)
        ]
    return sifted(rows, [Filter("caption_again", again)])


def _of(clip: Row, row: Row) -> Row:
    names = ("sample_id", "clip", "level", "caption", "of", "negative", "category", "filter", "why")
    return {name: row[name] for name in names} | {name: clip[name] for name in OF_CLIP}

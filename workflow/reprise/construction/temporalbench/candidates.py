"""TemporalBench's candidates: clips that the measured filters leave, with their captions (sections 3.1 and 3.2)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reprise.construction.draws import first_of_each
from reprise.construction.filters import Filter, Row, sifted
from reprise.construction.settings import TemporalBenchSettings
from reprise.construction.sheets import has_control
from reprise.construction.steps import Candidates
from reprise.construction.temporalbench.annotated import read_clips
from reprise.construction.temporalbench.clips import ANNOTATED_FILTERS, annotated_rows
from reprise.core.errors import UserError

MEASURED_FILTERS = ("not_available", "static", "scene_transitions")
CAPTION_FILTERS = ("no_caption", "two_captions", "unprintable", "long_caption")
LONGEST_CAPTION = 2000
"""characters; the paper's have about 250"""
POOL_FILTERS = (*ANNOTATED_FILTERS, *MEASURED_FILTERS, "not_drawn", *CAPTION_FILTERS)
WORDS, EVENTS, CATEGORY = "words", "events", "category"
"""the prompts; a negative of a negative is asked for by the first one too"""


def candidates(files: Mapping[str, Path], settings: TemporalBenchSettings, facts: pl.DataFrame) -> Candidates:
    """All clips of the annotations, each dropped one with its reason, and what is asked about the others."""
    measured = {row["clip_id"]: row for row in facts.iter_rows(named=True)}
    rows = annotated_rows(read_clips(files, settings), settings)
    if wanted := [row["clip"] for row in rows if not row["filter"]]:
        _refuse_none(wanted, measured)
    rows = sifted([_measured(row, measured) for row in rows], _measured_filters(measured, settings))
    left = [row for row in rows if not row["filter"]]
    drawn = first_of_each(
        left, lambda row: row["dataset"], lambda row: row["clip"], settings.per_dataset, settings.seed
    )
    why = f"more than {settings.per_dataset} clips of this data set"
    rows = sifted(rows, [Filter("not_drawn", lambda row: "" if row["clip"] in drawn else why), *_caption_filters()])
    texts = [text for row in rows if not row["filter"] for text in texts_about(row, settings)]
    return Candidates([row | {"caption": " / ".join(row["captions"])} for row in rows], texts, [])


def _refuse_none(wanted: Sequence[str], measured: Collection[str]) -> None:
    if not any(clip in measured for clip in wanted):
        raise UserError(
            f"construction of temporalbench: not one video of its {len(wanted)} clips is available, among them "
            f"'{wanted[0]}'. `python -m reprise missing` says why; correct `route:` or the files' names."
        )


def _measured(row: Row, measured: Mapping[str, Row]) -> Row:
    found = measured.get(row["clip"])
    return (
        row
        if found is None
        else row | {"seconds": found["duration_s"], "shots": found["shots"], "motion": found["motion"]}
    )


def _measured_filters(measured: Mapping[str, Row], settings: TemporalBenchSettings) -> list[Filter]:
    def static(row: Mapping[str, Any]) -> str:
        return f"optical flow of {row['motion']:.3f} %" if measured[row["clip"]]["is_static"] else ""

    def scenes(row: Mapping[str, Any]) -> str:
        found = row["shots"] - 1
        return f"{found} transitions, more than {settings.transitions}" if found > settings.transitions else ""

    found: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "not_available": lambda row: "" if row["clip"] in measured else "see `python -m reprise missing`",
        "static": static,
        "scene_transitions": scenes,
    }
    return [Filter(name, found[name]) for name in MEASURED_FILTERS]


def _caption_filters() -> list[Filter]:
    found: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "no_caption": lambda row: "" if row["captions"] else "nobody has described it yet",
        "two_captions": lambda row: "" if len(row["captions"]) == 1 else f"{len(row['captions'])} different captions",
        "unprintable": lambda row: "control characters" if has_control(row["captions"][0]) else "",
        "long_caption": lambda row: _of(len(row["captions"][0])),
    }
    return [Filter(name, found[name]) for name in CAPTION_FILTERS]


def _of(characters: int) -> str:
    return f"{characters} characters, more than {LONGEST_CAPTION}" if characters > LONGEST_CAPTION else ""


def texts_about(row: Row, settings: TemporalBenchSettings) -> list[Row]:
    """Both lists of negatives of a caption."""
    counts = {WORDS: settings.word_negatives, EVENTS: settings.event_negatives}
    return [
        text_row(f"{kind}/{row['clip']}", kind, row["clip"], caption=row["captions"][0], count=str(count))
        for kind, count in counts.items()
    ]


def text_row(text_id: str, kind: str, clip: str, **values: str) -> Row:
    """A text that the writer is asked for."""
    return {
        "text_id": text_id,
        "kind": kind,
        "video": clip,
        "agent": "",
        "values": [{"name": name, "text": text} for name, text in values.items()],
        "known": [],
        "instead_of": "",
    }

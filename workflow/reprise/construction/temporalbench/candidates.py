"""TemporalBench's candidates: clips that the measured filters leave, with their captions (sections 3.1 and 3.2)."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from reprise.construction.filters import Candidates, Found, Row, beyond_draw, sifted
from reprise.construction.settings import TemporalBenchSettings
from reprise.construction.sheets import has_control
from reprise.construction.temporalbench.clips import ANNOTATED_FILTERS, OF_DATASET, annotated_rows, read_clips
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
    wanted = [row["clip"] for row in rows if not row["filter"]]
    if wanted and not any(clip in measured for clip in wanted):
        raise UserError(
            f"construction of temporalbench: not one video of its {len(wanted)} clips is available, among them "
            f"'{wanted[0]}'. `python -m reprise missing` says why; correct `route:` or the files' names."
        )
    for row in rows:
        if row["clip"] in measured:
            fact = measured[row["clip"]]
            row |= {"seconds": fact["duration_s"], "shots": fact["shots"], "motion": fact["motion"]}
    rows = sifted(rows, _measured_filters(measured, settings))
    beyond = beyond_draw(rows, ("dataset",), "clip", settings.per_dataset, settings.seed, OF_DATASET)
    rows = sifted(rows, {"not_drawn": beyond} | CAPTIONS)
    counts = {WORDS: settings.word_negatives, EVENTS: settings.event_negatives}
    texts = [
        text_row(f"{kind}/{row['clip']}", kind, row["clip"], caption=row["captions"][0], count=str(count))
        for row in rows
        if not row["filter"]
        for kind, count in counts.items()
    ]
    return Candidates([row | {"caption": " / ".join(row["captions"])} for row in rows], texts, [])


def _measured_filters(measured: Mapping[str, Row], settings: TemporalBenchSettings) -> Mapping[str, Found]:
    most, missing = settings.transitions, "see `python -m reprise missing`"
    found: tuple[Found, ...] = (
        lambda row: "" if row["clip"] in measured else missing,
        lambda row: f"optical flow of {row['motion']:.3f} %" if measured[row["clip"]]["is_static"] else "",
        lambda row: f"{row['shots'] - 1} transitions, more than {most}" if row["shots"] - 1 > most else "",
    )
    return dict(zip(MEASURED_FILTERS, found, strict=True))


def _too_long(caption: str) -> str:
    return f"{len(caption)} characters, more than {LONGEST_CAPTION}" if len(caption) > LONGEST_CAPTION else ""


OF_CAPTIONS: tuple[Found, ...] = (
    lambda row: "" if row["captions"] else "nobody has described it yet",
    lambda row: "" if len(row["captions"]) == 1 else f"{len(row['captions'])} different captions",
    lambda row: "control characters" if has_control(row["captions"][0]) else "",
    lambda row: _too_long(row["captions"][0]),
)
CAPTIONS = dict(zip(CAPTION_FILTERS, OF_CAPTIONS, strict=True))


def text_row(text_id: str, kind: str, clip: str, **values: str) -> Row:
    """A text that the writer is asked for."""
    return {
        "text_id": text_id, "kind": kind, "video": clip, "agent": "", "known": [], "instead_of": "",
        "values": [{"name": name, "text": text} for name, text in values.items()],
    }  # fmt: skip

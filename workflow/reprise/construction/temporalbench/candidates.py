"""TemporalBench's clips: what the annotations and people say of them, and which ones the filters leave (3.1, 3.2)."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.rows import Clip
from reprise.construction.filters import Found, Row, Rows, beyond_draw, sifted
from reprise.construction.settings import ClipColumns, TemporalBenchSettings
from reprise.construction.sheets import ENDING, NAME, has_control
from reprise.core.errors import UserError
from reprise.core.names import seconds
from reprise.core.tabular import read_own_rows, text_of

ANNOTATED_FILTERS = ("other_dataset", "other_split", "bad_name", "no_span", "too_long", "not_measured")
OF_DATASET = "clips of this data set"
MEASURED_FILTERS = ("not_available", "static", "scene_transitions")
CAPTION_FILTERS = ("not_drawn", "no_caption", "two_captions", "unprintable", "long_caption")
LONGEST_CAPTION = 2000  # characters; the paper's have about 250
POOL_FILTERS = (*ANNOTATED_FILTERS, *MEASURED_FILTERS, *CAPTION_FILTERS)
WORDS, EVENTS, CATEGORY = "words", "events", "category"
"""the prompts; a negative of a negative is asked for by the first one too"""


class Annotated(NamedTuple):
    """A clip, with all that the annotations say of it."""

    dataset: str
    split: str
    video: str
    start_s: float | None
    end_s: float | None
    descriptions: tuple[str, ...] = ()
    captions: tuple[str, ...] = ()  # different ones of several rows are a problem
    refined: tuple[str, ...] = ()

    @property
    def clip(self) -> Clip:
        """As the evaluation names it and cuts it; sound is not taken along."""
        unit, start, end = f"{self.dataset}/{self.video}", self.start_s or 0.0, self.end_s or 0.0
        return Clip(f"{unit}.short-{seconds(start)}-{seconds(end)}", unit, "trim", self.video, start, end)

    def with_texts_of(self, other: "Annotated") -> "Annotated":
        """What two rows say of one clip, each text once."""
        return self._replace(
            split=self.split or other.split,
            descriptions=tuple(dict.fromkeys((*self.descriptions, *other.descriptions))),
            captions=tuple(dict.fromkeys((*self.captions, *other.captions))),
            refined=tuple(dict.fromkeys((*self.refined, *other.refined))),
        )


def clips(files: Mapping[str, Path], settings: TemporalBenchSettings) -> list[Clip]:
    found = read_clips(files, settings)
    wanted = zip(found, annotated_rows(found, settings), strict=True)
    return list({one.clip.clip_id: one.clip for one, row in wanted if not row["filter"]}.values())


def read_clips(files: Mapping[str, Path], settings: TemporalBenchSettings) -> list[Annotated]:
    """The clips of all files; rows of one clip add up, so that captions may come in files of their own."""
    found: dict[tuple[Any, ...], Annotated] = {}
    for path in files.values():
        for one in _rows(path, settings.columns):
            name = (one.dataset, one.video, one.start_s, one.end_s)
            found[name] = found[name].with_texts_of(one) if name in found else one
    if not found:
        raise UserError(f"annotations of TemporalBench: no clips in {', '.join(sorted(files)) or 'no file'}.")
    return list(found.values())


def _rows(path: Path, columns: ClipColumns) -> Iterator[Annotated]:
    table, names = read_own_rows(path), columns.model_dump()
    missing = sorted({name for key, name in names.items() if key != "refined"} - set(table.columns))
    if missing:
        raise UserError(
            f"{path}: column '{missing[0]}' is missing. Found: {', '.join(table.columns)}. Correct `columns:` of "
            "`construction:` in the suite."
        )
    for number, row in enumerate(table.iter_rows(named=True), start=1):
        where = {key: f"{path}: row {number}: {name}" for key, name in names.items()}
        text = {key: text_of(row.get(name), where[key]) for key, name in names.items()}
        start, end = (_seconds(text[key], where[key]) for key in ("start", "end"))
        described, captions, refined = (
            tuple(filter(None, [text[key]])) for key in ("description", "caption", "refined")
        )
        video = ENDING.sub("", text["video"])
        yield Annotated(text["dataset"], text["split"], video, start, end, described, captions, refined)


def _seconds(text: str, where: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise UserError(f"{where}: should be a number of seconds, found '{text}'.") from None


def annotated_rows(found: Sequence[Annotated], settings: TemporalBenchSettings) -> list[Row]:
    """A row a clip, with the filter that drops it before it is measured."""
    rows = []
    for one in found:
        is_described = one.dataset in settings.described
        rows.append({
            "clip": one.clip.clip_id, "dataset": one.dataset, "split": one.split, "video": one.video,
            "start_s": one.start_s, "end_s": one.end_s, "description": next(iter(one.descriptions), ""),
            "captions": list(one.descriptions if is_described else one.refined or one.captions),
            "is_refined": bool(one.refined) and not is_described, "seconds": None, "shots": None, "motion": None,
        })  # fmt: skip
    rows = sifted(rows, _filters(settings))
    beyond = beyond_draw(rows, ("dataset",), "clip", settings.measured, settings.seed, OF_DATASET)
    return sifted(rows, {"not_measured": beyond})


def _filters(settings: TemporalBenchSettings) -> Mapping[str, Found]:
    def no_span(row: Mapping[str, Any]) -> str:
        start, end = row["start_s"], row["end_s"]
        return "" if start is not None and end is not None and 0 <= start < end else f"from {start} to {end}"

    def too_long(row: Mapping[str, Any]) -> str:
        length = row["end_s"] - row["start_s"]
        return f"{length:g} s, more than {settings.longest_s:g}" if length > settings.longest_s else ""

    return {
        "other_dataset": lambda row: "" if row["dataset"] in settings.datasets else f"'{row['dataset']}'",
        "other_split": lambda row: "" if row["split"] in settings.splits else f"'{row['split']}'",
        "bad_name": lambda row: "" if NAME.fullmatch(row["video"]) else f"'{row['video']}' cannot be a file's name",
        "no_span": no_span,
        "too_long": too_long,
    }


def candidates(files: Mapping[str, Path], settings: TemporalBenchSettings, facts: pl.DataFrame) -> Rows:
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
    most, missing = settings.transitions, "see `python -m reprise missing`"
    of_clips: dict[str, Found] = {
        "not_available": lambda row: "" if row["clip"] in measured else missing,
        "static": lambda row: f"optical flow of {row['motion']:.3f} %" if measured[row["clip"]]["is_static"] else "",
        "scene_transitions": lambda row: (
            f"{row['shots'] - 1} transitions, more than {most}" if row["shots"] - 1 > most else ""
        ),
    }
    rows = sifted(rows, of_clips)
    of_captions: dict[str, Found] = {
        "not_drawn": beyond_draw(rows, ("dataset",), "clip", settings.per_dataset, settings.seed, OF_DATASET),
        "no_caption": lambda row: "" if row["captions"] else "nobody has described it yet",
        "two_captions": lambda row: "" if len(row["captions"]) == 1 else f"{len(row['captions'])} different captions",
        "unprintable": lambda row: "control characters" if has_control(row["captions"][0]) else "",
        "long_caption": lambda row: (
            f"{length} characters, more than {LONGEST_CAPTION}"
            if (length := len(row["captions"][0])) > LONGEST_CAPTION
            else ""
        ),
    }
    rows = sifted(rows, of_captions)
    counts = {WORDS: settings.word_negatives, EVENTS: settings.event_negatives}
    texts = [
        text_row(f"{kind}/{row['clip']}", kind, row["clip"], caption=row["captions"][0], count=str(count))
        for row in rows
        if not row["filter"]
        for kind, count in counts.items()
    ]
    pool = [row | {"caption": " / ".join(row["captions"])} for row in rows]
    return {"pool": pool, "texts": texts, "candidates": []}


def text_row(text_id: str, kind: str, clip: str, **values: str) -> Row:
    return {
        "text_id": text_id, "kind": kind, "video": clip, "agent": "", "known": [], "instead_of": "",
        "values": [{"name": name, "text": text} for name, text in values.items()],
    }  # fmt: skip

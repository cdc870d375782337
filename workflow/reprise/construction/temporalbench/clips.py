"""Which clips of the annotations are fetched and measured: before that, what their rows alone say."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reprise.benchmarks.rows import Clip
from reprise.construction.draws import first_of_each
from reprise.construction.filters import Filter, Row, sifted
from reprise.construction.settings import TemporalBenchSettings
from reprise.construction.sheets import NAME
from reprise.construction.temporalbench.annotated import Annotated, read_clips

ANNOTATED_FILTERS = ("other_dataset", "other_split", "bad_name", "no_span", "too_long", "not_measured")


def clips(files: Mapping[str, Path], settings: TemporalBenchSettings) -> list[Clip]:
    """The clips to be fetched."""
    found = read_clips(files, settings)
    wanted = zip(found, annotated_rows(found, settings), strict=True)
    return list({one.clip.clip_id: one.clip for one, row in wanted if not row["filter"]}.values())


def annotated_rows(found: Sequence[Annotated], settings: TemporalBenchSettings) -> list[Row]:
    """A row a clip, with the filter that drops it before it is measured."""
    rows = sifted([_row(one, settings) for one in found], _filters(settings))
    left = [row for row in rows if not row["filter"]]
    drawn = first_of_each(left, lambda row: row["dataset"], lambda row: row["clip"], settings.measured, settings.seed)
    why = f"more than {settings.measured} clips of this data set"
    return sifted(rows, [Filter("not_measured", lambda row: "" if row["clip"] in drawn else why)])


def _row(one: Annotated, settings: TemporalBenchSettings) -> Row:
    captions = one.descriptions if one.dataset in settings.described else (one.refined or one.captions)
    return {
        "clip": one.clip.clip_id,
        "dataset": one.dataset,
        "split": one.split,
        "video": one.video,
        "start_s": one.start_s,
        "end_s": one.end_s,
        "description": next(iter(one.descriptions), ""),
        "captions": list(captions),
        "is_refined": bool(one.refined) and one.dataset not in settings.described,
        "seconds": None,
        "shots": None,
        "motion": None,
    }


def _filters(settings: TemporalBenchSettings) -> list[Filter]:
    def no_span(row: Mapping[str, Any]) -> str:
        start, end = row["start_s"], row["end_s"]
        return "" if start is not None and end is not None and 0 <= start < end else f"from {start} to {end}"

    def too_long(row: Mapping[str, Any]) -> str:
        length = row["end_s"] - row["start_s"]
        return f"{length:g} s, more than {settings.longest_s:g}" if length > settings.longest_s else ""

    is_own = settings.columns is None
    found: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "other_dataset": lambda row: "" if is_own or row["dataset"] in settings.datasets else f"'{row['dataset']}'",
        "other_split": lambda row: "" if is_own or row["split"] in settings.splits else f"'{row['split']}'",
        "bad_name": lambda row: "" if NAME.fullmatch(row["video"]) else f"'{row['video']}' cannot be a file's name",
        "no_span": no_span,
        "too_long": too_long,
    }
    return [Filter(name, found[name]) for name in ANNOTATED_FILTERS if name in found]

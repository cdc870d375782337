"""Raw annotations of TemporalBench: clips of the source data sets, and what people wrote of them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reprise.benchmarks.rows import Clip
from reprise.construction.review import Task, Verdict, is_exported, read_typed
from reprise.construction.settings import ClipColumns, TemporalBenchSettings
from reprise.construction.sheets import Videos, read_sheet
from reprise.core.errors import UserError
from reprise.core.tabular import read_own_rows, text_of
from reprise.core.times import seconds

OWN = "own"
"""stands for the data set of clips of one's own"""
CAPTION_TASK = "caption/"
"""what the names of tasks begin with that ask people to describe a clip"""
DESCRIBED = ("described",)
OWN_COLUMNS = ("video", "start", "end", "caption")


class Annotated(NamedTuple):
    """A clip, with all that the annotations say of it."""

    dataset: str
    split: str
    video: str
    start_s: float | None
    end_s: float | None
    descriptions: tuple[str, ...]
    captions: tuple[str, ...]
    """different ones of several rows are a problem"""
    refined: tuple[str, ...]

    @property
    def unit(self) -> str:
        """Its source video, as the evaluation names it."""
        return f"{self.dataset}/{self.video}"

    @property
    def clip(self) -> Clip:
        """As the evaluation cuts it; sound is not taken along."""
        start, end = self.start_s or 0.0, self.end_s or 0.0
        name = f"{self.unit}.short-{seconds(start)}-{seconds(end)}"
        return Clip(name, self.unit, "trim", self.video, start, end)


def read_clips(files: Mapping[str, Path], settings: TemporalBenchSettings) -> list[Annotated]:
    """The clips of all files; rows of one clip add up, so that captions may come in files of their own.

    A file may be what Label Studio exports of the review: the captions that people typed there.
    """
    found: dict[tuple[Any, ...], Annotated] = {}
    exports = [path for path in files.values() if is_exported(path)]
    for path in (path for path in files.values() if path not in exports):
        for one in _own_rows(path) if settings.columns is None else _rows(path, settings.columns):
            name = (one.dataset, one.video, one.start_s, one.end_s)
            found[name] = _both(found[name], one) if name in found else one
    if not found:
        raise UserError(f"annotations of TemporalBench: no clips in {', '.join(sorted(files)) or 'no file'}.")
    return _with_typed(list(found.values()), read_typed(exports))


def caption_task(clip: str, shown: str) -> Task:
    """People describe a clip; where captions differ, these are shown, and they write the one that holds."""
    return Task(f"{CAPTION_TASK}{clip}", DESCRIBED, {"video": clip, "option": shown})


def _with_typed(clips: list[Annotated], typed: Sequence[Verdict]) -> list[Annotated]:
    """The clips with the captions that people typed, and with those that hold in the place of several."""
    found = {one.clip.clip_id: one for one in clips}
    for said in typed:
        if not said.task_id.startswith(CAPTION_TASK):
            continue  # a remark beside another task
        clip = said.task_id.removeprefix(CAPTION_TASK)
        if clip not in found:
            raise UserError(f"{said.where}: the annotations have no clip '{clip}': an export of another project.")
        one, texts = found[clip], (" ".join(said.verdict.split()),)
        is_first = said.digest == caption_task(clip, "").digest
        found[clip] = _both(one, one._replace(captions=texts) if is_first else one._replace(refined=texts))
    return list(found.values())


def _own_rows(path: Path) -> Iterator[Annotated]:
    videos = Videos()
    for row in read_sheet(path, OWN_COLUMNS, ()):
        start, end = row.span("start", "end")
        caption = row.cells["caption"]
        yield Annotated(OWN, "", videos.name(row, "video"), start, end, (), (caption,) if caption else (), ())


def _rows(path: Path, columns: ClipColumns) -> Iterator[Annotated]:
    table = read_own_rows(path)
    names = columns.model_dump()
    needed = {name for key, name in names.items() if key != "refined"}
    missing = sorted(needed - set(table.columns))
    if missing:
        raise UserError(
            f"{path}: column '{missing[0]}' is missing. Found: {', '.join(table.columns)}. Correct `columns:` of "
            "`construction:` in the suite."
        )
    for number, row in enumerate(table.iter_rows(named=True), start=1):
        text = {key: text_of(row.get(name), f"{path}: row {number}: {name}") for key, name in names.items()}
        start, end = (_seconds(row[names[key]], f"{path}: row {number}: {names[key]}") for key in ("start", "end"))
        described, captions, refined = (
            (text[key],) if text[key] else () for key in ("description", "caption", "refined")
        )
        yield Annotated(text["dataset"], text["split"], text["video"], start, end, described, captions, refined)


def _seconds(value: object, where: str) -> float | None:
    try:
        return None if value in (None, "") else float(str(value))
    except ValueError:
        raise UserError(f"{where}: should be a number of seconds, found '{value}'.") from None


def _both(one: Annotated, other: Annotated) -> Annotated:
    """What two rows say of one clip, each text once."""
    return one._replace(
        split=one.split or other.split,
        descriptions=tuple(dict.fromkeys((*one.descriptions, *other.descriptions))),
        captions=tuple(dict.fromkeys((*one.captions, *other.captions))),
        refined=tuple(dict.fromkeys((*one.refined, *other.refined))),
    )

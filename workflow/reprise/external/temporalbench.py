"""TemporalBench's answer files: `{idx, response}` a line, one file per task, named by the model and its frames.

lmms-eval logs a task into one file too, the entry of the release in `temporalbench_score.item`.
"""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import polars as pl

from reprise.benchmarks.temporalbench.release import SPAN, VIDEO
from reprise.benchmarks.temporalbench.taxonomy import CENTRAL
from reprise.core.files import write_text
from reprise.external import AnswerFiles, lmms_eval
from reprise.external.answers import (
    NO_TRUTH,
    UNKNOWN_ID,
    ImportedAnswers,
    LookedAt,
    of_frames,
    read_jsonl,
    response_as_answer,
)
from reprise.external.matching import Said, text_of

# Form of question -> what the authors' folder of its answers, or the file's name, holds; the last two names are ours.
MARKS = {
    "short": "short_qa",
    "long": "long_qa",
    "caption": "short_caption",
    "centralized": "short_centralized",
    "decentralized": "short_decentralized",
}


def _files(mark: str, folder: Path, frames: int | None) -> list[Path]:
    """The file of the run's frames among those of the task."""
    return of_frames(_candidates(mark, folder)[0], frames, folder)


def _candidates(mark: str, folder: Path) -> list[list[Path]]:
    """Those in the authors' own folder of the task if it exists; else those named after it; else all others."""
    own = folder / f"temporalbench_{mark}"
    if own.is_dir():
        return [sorted(own.glob("*.jsonl"))]
    found = sorted(folder.glob("*.jsonl"))
    named = [path for path in found if mark in path.name]
    unnamed = [path for path in found if not any(other in path.name for other in MARKS.values())]
    return [named or unnamed]


def _read(
    task: str, looked_at: LookedAt, files: Sequence[Path], items: pl.DataFrame, requests: pl.DataFrame
) -> ImportedAnswers:
    """Answers by idx."""
    imported = ImportedAnswers()
    questions = {row["item_id"]: row for row in requests.iter_rows(named=True)}
    for path in files:
        if path.suffix != ".jsonl":
            continue
        if lmms_eval.is_log(path):
            logged = lmms_eval.Task("temporalbench", partial(_identify, task), attrgetter("clip_id"))
            lmms_eval.read_log(path, imported, items, requests, logged)
            continue
        for place, response in read_jsonl(path, imported):
            question = questions.get(f"{task}/{place.id}")
            if question is None:
                imported.note(place, UNKNOWN_ID)
                continue
            answer, problem = response_as_answer(response, looked_at)
            for one in (problem, "" if question["expected"].strip() else NO_TRUTH):
                if one:
                    imported.note(place, one)
            imported.add(question["request_id"], answer, place)
    return imported


def _identify(task: str, entry: Mapping[str, Any]) -> Said:
    """The entry of the release that a line is about, as the metric's `item` or, in older logs, as `doc` has it."""
    score = entry.get("temporalbench_score")
    said = next((one for one in (_object(score, "item"), _object(entry, "doc")) if one), {})
    question = text_of(said, "question") or text_of(entry, "input")
    return Said(f"{task}/{text_of(said, 'idx')}", question, _clip_of_video(text_of(said, "video_name"), task))


def _object(entry: object, name: str) -> Mapping[str, Any]:
    value = entry.get(name) if isinstance(entry, dict) else None
    return value if isinstance(value, dict) else {}


def _clip_of_video(name: str, task: str) -> str:
    """The id of a video's clip; empty of what names no video."""
    length = "long" if task == "long" else "short"
    video = VIDEO.match(name)
    if video is None:
        return ""
    span = SPAN.match(video["name"])
    return f"{span['source']}.{length}-{span['start']}-{span['end']}" if span else f"{video['name']}.{length}"


def _write(task: str, mark: str, folder: Path, name: str, items: pl.DataFrame, answered: pl.DataFrame) -> list[Path]:
    """One file in the authors' folder of the task; a failed answer has no line, as in the authors' runner."""
    lines = [
        json.dumps({"idx": row["item_id"].removeprefix(f"{task}/"), "response": row["text"]}, ensure_ascii=False)
        for row in answered.filter(pl.col("error") == "").iter_rows(named=True)
    ]
    path = folder / f"temporalbench_{mark}" / f"{name}.jsonl"
    write_text(path, "".join(f"{line}\n" for line in lines))
    return [path]


def _answers(form: str, task: str, looked_at: LookedAt = "element") -> AnswerFiles:
    """The files of a form, whose items belong to a task; the part of a response that the authors' scorer compares."""
    mark = MARKS[form]
    return AnswerFiles(
        partial(_files, mark),
        partial(_candidates, mark),
        partial(_read, task, looked_at),
        partial(_write, task, mark),
        beside=lmms_eval.settings_beside,
        deviations=lmms_eval.deviations,
    )


FORMS = {
    "short": _answers("short", "short"),
    "long": _answers("long", "long"),
    "caption": _answers("caption", "caption", "text"),
    # Both kinds of four options are asked about the same items.
    "centralized": _answers("centralized", CENTRAL),
    "decentralized": _answers("decentralized", CENTRAL),
}

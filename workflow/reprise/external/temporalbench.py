"""TemporalBench's answer files: `{idx, response}` a line, one file a task, named by the model and its frames."""

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from reprise.core.files import write_text
from reprise.external.answers import NO_TRUTH, UNKNOWN_ID, Given, of_frames, read_jsonl, said

# Form of question -> what the authors' folder of its answers, or the file's name, holds; the last two names are ours.
FORMS = {
    "short": "short_qa",
    "long": "long_qa",
    "caption": "short_caption",
    "centralized": "short_centralized",
    "decentralized": "short_decentralized",
}

# Both kinds of four options are asked about the same items.
ITEMS_OF = {form: form for form in FORMS} | {"centralized": "central", "decentralized": "central"}


def files(folder: Path, form: str, frames: int | None) -> list[Path]:
    """The file of the run's frames among those of the task."""
    return of_frames(candidates(folder, form)[0], frames, folder)


def candidates(folder: Path, form: str) -> list[list[Path]]:
    """Those in the authors' own folder of the task if it is there; else those named after it; else all others."""
    own = folder / f"temporalbench_{FORMS[form]}"
    if own.is_dir():
        return [sorted(own.glob("*.jsonl"))]
    found = sorted(folder.glob("*.jsonl"))
    named = [path for path in found if FORMS[form] in path.name]
    unnamed = [path for path in found if not any(mark in path.name for mark in FORMS.values())]
    return [named or unnamed]


def read(files: Sequence[Path], form: str, items: pl.DataFrame, requests: pl.DataFrame) -> Given:
    """Answers by idx."""
    given = Given()
    questions = {row["item_id"]: row for row in requests.iter_rows(named=True)}
    for path in files:
        for place, response in read_jsonl(path, given):
            question = questions.get(f"{ITEMS_OF[form]}/{place.id}")
            if question is None:
                given.complain(place, UNKNOWN_ID)
                continue
            answer, problem = said(response, "text" if form == "caption" else "element")
            for one in (problem, "" if question["expected"].strip() else NO_TRUTH):
                if one:
                    given.complain(place, one)
            given.add(question["request_id"], answer, place)
    return given


def write(folder: Path, name: str, items: pl.DataFrame, answered: pl.DataFrame) -> list[Path]:
    """One file in the authors' folder of the task; a failed answer has no line, as in the authors' runner."""
    form = answered["role"][0]
    prefix = f"{ITEMS_OF[form]}/"
    lines = [
        json.dumps({"idx": row["item_id"].removeprefix(prefix), "response": row["text"]}, ensure_ascii=False)
        for row in answered.filter(pl.col("error") == "").iter_rows(named=True)
    ]
    path = folder / f"temporalbench_{FORMS[form]}" / f"{name}.jsonl"
    write_text(path, "".join(f"{line}\n" for line in lines))
    return [path]

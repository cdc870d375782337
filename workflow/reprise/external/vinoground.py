"""Vinoground's answer files: `textscore-response.jsonl` and `videoscore-response.jsonl`, `{idx, response}` a line."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from reprise.core.files import write_text
from reprise.external import AnswerFiles
from reprise.external.answers import NO_TRUTH, UNKNOWN_ID, ImportedAnswers, of_frames, read_jsonl, response_as_answer

KINDS = {"text": "textscore", "video": "videoscore"}


def _files(folder: Path, frames: int | None) -> list[Path]:
    """One file of each kind; the authors' runners put the number of frames into the name."""
    return [path for group in _candidates(folder) for path in of_frames(group, frames, folder)]


def _candidates(folder: Path) -> list[list[Path]]:
    """The files of each kind, for any number of frames."""
    names = [re.compile(rf"{kind}(?:-frame\d+)?-response\.jsonl") for kind in KINDS.values()]
    return [[path for path in sorted(folder.iterdir()) if name.fullmatch(path.name)] for name in names]


def _read(files: Sequence[Path], items: pl.DataFrame, requests: pl.DataFrame) -> ImportedAnswers:
    """Answers by kind and idx, such as `7_pos`."""
    imported = ImportedAnswers()
    questions = {row["item_id"]: row for row in requests.iter_rows(named=True)}
    for path in files:
        task = next(task for task, kind in KINDS.items() if path.name.startswith(kind))
        for place, response in read_jsonl(path, imported):
            question = questions.get(f"{place.id}/{task}")
            if question is None:
                imported.note(place, UNKNOWN_ID)
                continue
            answer, problem = response_as_answer(response, "character")
            for one in (problem, "" if question["expected"] else NO_TRUTH):
                if one:
                    imported.note(place, one)
            imported.add(question["request_id"], answer, place)
    return imported


def _write(folder: Path, name: str, items: pl.DataFrame, answered: pl.DataFrame) -> list[Path]:
    """Both files; a failed answer has no line, as in the authors' runners."""
    paths = []
    for task, kind in KINDS.items():
        rows = answered.filter(pl.col("item_id").str.ends_with(f"/{task}") & (pl.col("error") == ""))
        lines = [
            json.dumps({"idx": row["item_id"].removesuffix(f"/{task}"), "response": row["text"]}, ensure_ascii=False)
            for row in rows.iter_rows(named=True)
        ]
        paths.append(folder / f"{kind}-response.jsonl")
        write_text(paths[-1], "".join(f"{line}\n" for line in lines))
    return paths


FORMS = {"questions": AnswerFiles(_files, _candidates, _read, _write)}

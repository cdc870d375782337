"""TemporalBench's answer files: one `{idx, response}` per line, one file per task, named by model and frames.

lmms-eval also logs a task into one file, with the entry of the release in `temporalbench_score.item`.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from reprise.benchmarks.temporalbench.taxonomy import CENTRAL
from reprise.external import AnswerFiles, lmms_eval
from reprise.external.answers import (
    ImportedAnswers,
    ScoredPart,
    get_object,
    get_text,
    read_responses,
    select_by_frame_count,
    write_responses,
)

# Form of question -> its marker in the authors' folder or file names; the last two markers are Reprise's.
MARKER_BY_FORM = {
    "short": "short_qa",
    "long": "long_qa",
    "caption": "short_caption",
    "centralized": "short_centralized",
    "decentralized": "short_decentralized",
}


def _find_candidates(marker: str, folder: Path) -> list[list[Path]]:
    """Return the files in the authors' folder of a task, or else those with its marker, or else those without any."""
    task_folder = folder / f"temporalbench_{marker}"
    if task_folder.is_dir():
        return [sorted(task_folder.glob("*.jsonl"))]
    files = sorted(folder.glob("*.jsonl"))
    marked_files = [path for path in files if marker in path.name]
    unmarked_files = [path for path in files if not any(name in path.name for name in MARKER_BY_FORM.values())]
    return [marked_files or unmarked_files]


def _read(
    task: str, scored_part: ScoredPart, files: Sequence[Path], items: pl.DataFrame, requests: pl.DataFrame
) -> ImportedAnswers:
    """Return the answers to a task from the authors' files or from logs of lmms-eval."""
    imported = ImportedAnswers()
    request_by_item = {row["item_id"]: row for row in requests.iter_rows(named=True)}
    answer_files = [path for path in files if path.suffix == ".jsonl"]  # Files `.json` are settings of lmms-eval.
    for path in answer_files:
        if b'"filtered_resps"' in path.read_bytes():
            lmms_eval.read_log(path, imported, items, requests, "temporalbench", partial(_identify, task))
        else:
            read_responses(path, imported, request_by_item, task + "/{}", scored_part)
    return imported


def _identify(task: str, entry: Mapping[str, Any]) -> tuple[str, str]:
    """Return item id and question of a line, from the entry of the release in its field `temporalbench_score`."""
    item = get_object(entry, "temporalbench_score", "item")
    return f"{task}/{get_text(item, 'idx')}", get_text(item, "question") or get_text(entry, "input")


def _create_answer_files(form: str, task: str, scored_part: ScoredPart = "element") -> AnswerFiles:
    """Return the answer files of a form, whose items have this task."""
    marker = MARKER_BY_FORM[form]

    def find(folder: Path, frame_count: int | None) -> list[Path]:
        return select_by_frame_count(_find_candidates(marker, folder)[0], frame_count, folder)

    def write(folder: Path, name: str, items: pl.DataFrame, answered_requests: pl.DataFrame) -> list[Path]:
        path = folder / f"temporalbench_{marker}" / f"{name}.jsonl"
        return [write_responses(path, answered_requests, task + "/{}")]

    return AnswerFiles(
        find,
        partial(_find_candidates, marker),
        partial(_read, task, scored_part),
        write,
        find_settings_files=lmms_eval.find_settings_files,
        find_deviations=lmms_eval.find_deviations,
    )


FORMS = {
    "short": _create_answer_files("short", "short"),
    "long": _create_answer_files("long", "long"),
    "caption": _create_answer_files("caption", "caption", "text"),
    # The two forms with four options have the same items.
    "centralized": _create_answer_files("centralized", CENTRAL),
    "decentralized": _create_answer_files("decentralized", CENTRAL),
}

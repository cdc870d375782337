"""VLMEvalKit's result folders: which file is a run's, which row is about which question, and what was done otherwise."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.core.errors import UserError
from reprise.external import load_importer
from reprise.external.answers import ImportedAnswers
from reprise.external.mmbench_video import rating_files

from tests.unit.benchmarks.releases import free_questions, requests_of
from tests.unit.external.test_imports import problems, write_table_of

NAME = "m_MMBench_Video_8frame_nopack.xlsx"
COLUMNS = ("index", "video", "question", "prediction")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "m"
    path.mkdir()
    return path


@pytest.fixture
def items(tmp_path: Path) -> pl.DataFrame:
    """Four questions `Q0?`, ... of the videos v0, v0, v1, v1."""
    return free_questions(tmp_path, 4)[0]


VIDEO, JUDGED = "m_MMBench_Video", "gpt-4-turbo"
RESULTS = (
    "status.json", NAME, f"{VIDEO}_8frame_nopack_{JUDGED}_score.xlsx", f"{VIDEO}_8frame_nopack_{JUDGED}_rating.json",
    f"{VIDEO}_8frame_pack.xlsx", f"{VIDEO}_64frame_pack.xlsx", f"{VIDEO}_1fps_nopack.xlsx", "m_MMBench_DEV_EN.xlsx",
    f"m_MMBench_DEV_EN_{JUDGED}_result.xlsx", "m_MMStar.xlsx", "m_Video-MME_8frame.xlsx", f"m_Video-MME_8frame_{JUDGED}_score.xlsx",
)  # fmt: skip


@pytest.mark.parametrize(("form", "frames", "chosen"), [
    ("unpacked", 8, NAME),
    ("packed", 8, "m_MMBench_Video_8frame_pack.xlsx"),
    ("packed", 64, "m_MMBench_Video_64frame_pack.xlsx"),
    ("unpacked", None, "m_MMBench_Video_1fps_nopack.xlsx"),
    ("circular", 1, "m_MMBench_DEV_EN.xlsx"),
    ("choice", 1, "m_MMStar.xlsx"),
])  # fmt: skip
def test_a_whole_result_folder_holds_the_file_of_each_run(
    folder: Path, form: str, frames: int | None, chosen: str
) -> None:
    for name in RESULTS:
        (folder / name).touch()
    files = load_importer("mmbench_video").FORMS[form]
    assert [path.name for path in files.find(folder, frames)] == [chosen]
    assert folder / chosen in files.candidates(folder)[0]
    assert [path.name for path in rating_files(folder)] == ["m_MMBench_Video_8frame_nopack_gpt-4-turbo_score.xlsx"]


@pytest.mark.parametrize(("name", "form", "prompt", "frames", "expected"), [
    (NAME, "unpacked", "unpacked", 8, []),
    (NAME, "unpacked", "unpacked", None, [("8 frames", "another number of frames than the sampling's")]),
    ("m_MMBench_Video_1fps_nopack.xlsx", "unpacked", "unpacked", 8, [("1fps", "another number of frames than the sampling's")]),
    ("m_MMBench_Video_8frame_pack.xlsx", "packed", "packed", 8, [("pack", "asked with another prompt")]),
    ("m_MMBench_Video_8frame_pack.xlsx", "packed", "packed.authors", 8, []),
    ("m.xlsx", "packed", "packed", 8, []),
])  # fmt: skip
def test_what_the_names_say_otherwise_is_named(
    folder: Path, items: pl.DataFrame, name: str, form: str, prompt: str, frames: int | None, expected: list[Any]
) -> None:
    (folder / name).touch()
    files = load_importer("mmbench_video").FORMS[form]
    found = files.find(folder, frames)
    requests = requests_of("mmbench_video", form, items, prompt)
    said = files.deviations(found, requests, frames)
    assert [(one.file, one.id, one.problem) for one in said] == [(str(folder / name), *one) for one in expected]


def read(folder: Path, items: pl.DataFrame) -> ImportedAnswers:
    files = load_importer("mmbench_video").FORMS["unpacked"]
    return files.read(files.find(folder, 8), items, requests_of("mmbench_video", "unpacked", items, "unpacked"))


def texts(imported: ImportedAnswers) -> list[str]:
    return [answer.text or answer.error for answer in imported.answers.values()]


def test_rows_are_checked_by_what_they_ask(folder: Path, items: pl.DataFrame) -> None:
    own = (0, "v0", ' "q0" ', "right")  # the harness's reader of tables kept other quotes
    others = (3, "v1", "Who?", "of no question"), (8, "v0", "Q3?", "of another video")
    write_table_of(folder / NAME, COLUMNS, own, *others)
    imported = read(folder, items)
    assert texts(imported) == ["right", "no_answer", "no_answer", "no_answer"]
    assert problems(imported) == [(3, "3", "another question under a known id"), (4, "8", "unknown id")]


def test_a_table_of_another_benchmark_is_refused(folder: Path, items: pl.DataFrame) -> None:
    rows = [(n, "fFjv93ACGo8", f"Which {n}?", "A") for n in range(4)]
    write_table_of(folder / "m_Video-MME_8frame.xlsx", COLUMNS, *rows)
    message = "none of its 4 rows is about a question of MMBench-Video in this suite. The first: line 2, id '0'"
    with pytest.raises(UserError, match=message):
        read(folder, items)

"""Test lmms-eval's logs: the answers of the authors' files, and named deviations of the harness."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.benchmarks.annotations import select_items
from reprise.core.errors import UserError
from reprise.external import load_importer
from reprise.external.answers import ImportedAnswers
from reprise.stages.import_answers import build_responses

from tests.unit.benchmarks import releases
from tests.unit.benchmarks.whole import BenchmarkPipeline

DATE = "20260818_101112"
SUFFIX = "\nPlease only output one English character."
Line = dict[str, Any]


# A TemporalBench release of two short videos with two questions each, one long question and two captions.
ENTRIES = {
    "short": [releases.question(releases.clip_name(v), q) for v in (0, 1) for q in (0, 1)],
    "long": [releases.question(releases.clip_name(0, "COIN", "long"), 0)],
    "captions": [releases.caption(releases.clip_name(v)) for v in (0, 1)],
}
FIRST, SECOND, *_ = (f"short/{entry['idx']}" for entry in ENTRIES["short"])
TASK = "temporalbench_short_qa"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    files = releases.temporalbench_release(tmp_path_factory.mktemp("release"), **ENTRIES)
    return BenchmarkPipeline("temporalbench").annotations(files)[1]


def make_log_lines(task: str = "short") -> list[Line]:
    """Return lines in the harness's format; the answer to question n is `answer <n>`."""
    lines: list[Line] = []
    for number, entry in enumerate(ENTRIES[task]):
        text = f"answer {number}"
        fields = {"doc_id": number, "target": entry["GT"], "filtered_resps": [text], "input": entry["question"]}
        lines.append(fields | {"temporalbench_score": {"item": entry, "pred": text}, "doc_hash": "0" * 64})
    return lines


def import_log(
    items: pl.DataFrame, folder: Path, form: str = "short", frames: int | None = 8, benchmark: str = "temporalbench"
) -> tuple[dict[str, tuple[str, str]], list[tuple[int | None, str, str]]]:
    """Return text and error by item, and the problems."""
    importer = load_importer(benchmark).FORMS[form]
    items = select_items(items, form) if benchmark == "temporalbench" else items
    requests = releases.build_request_table(benchmark, form, items).with_columns(max_tokens=pl.lit(512, pl.Int32))
    paths = importer.find(folder, frames)
    paths += importer.find_settings_files(paths)
    imported: ImportedAnswers = importer.read(paths, items, requests)
    imported.problems += importer.find_deviations(paths, requests, frames)
    table = build_responses(requests, imported, 8, "key")
    texts = {item: (text, error) for item, text, error in table.select("item_id", "text", "error").iter_rows()}
    return texts, [(line, idx, problem) for _, line, idx, problem in imported.problems]


def write_log(folder: Path, task: str, lines: list[Line], settings: object = None) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{DATE}_samples_{task}.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    if settings is not None:
        (folder / f"{DATE}_results.json").write_text(settings if isinstance(settings, str) else json.dumps(settings))
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "model"


@pytest.mark.parametrize(("form", "task"), [("short", "short_qa"), ("long", "long_qa"), ("caption", "short_caption")])
def test_lines_of_a_log_are_matched_by_their_entries(release: pl.DataFrame, folder: Path, form: str, task: str) -> None:
    entry_kind = "captions" if form == "caption" else form
    write_log(folder, f"temporalbench_{task}", make_log_lines(entry_kind), {"config": {}})
    answers = {f"{form}/{entry['idx']}": (f"answer {number}", "") for number, entry in enumerate(ENTRIES[entry_kind])}
    assert import_log(release, folder, form) == (answers, [])


def test_dropped_questions_are_missing_and_a_wrong_id_is_named(release: pl.DataFrame, folder: Path) -> None:
    lines = make_log_lines()[:3]
    lines[1]["temporalbench_score"]["item"] = ENTRIES["short"][1] | {"question": "Who?"}
    write_log(folder, TASK, lines)
    texts, problems = import_log(release, folder)
    assert [text or error for text, error in texts.values()] == ["answer 0", "no_answer", "answer 2", "no_answer"]
    assert problems == [(2, SECOND, "another question under a known id")]


def test_a_log_of_another_benchmark_is_rejected(release: pl.DataFrame, folder: Path) -> None:
    change = {"temporalbench_score": {"item": {"idx": "7", "video_name": "a.mp4", "question": "Who?"}}, "input": "Who?"}
    write_log(folder, TASK, [line | change for line in make_log_lines()])
    message = f"{DATE}_samples_temporalbench_short_qa.jsonl: none of its 4 rows matches a question of temporalbench"
    with pytest.raises(UserError, match=f"{message}.* to the folder of that benchmark"):
        import_log(release, folder)


@pytest.mark.parametrize(("change", "answer", "problem"), [
    ({"filtered_resps": ["[LMMS_EVAL_REQUEST_FAILED after 3 retries] timeout"]}, ("", "failed_elsewhere"), None),
    ({"filtered_resps": [""]}, ("", ""), "empty answer, which lmms-eval also writes after an error"),
    ({"filtered_resps": []}, ("", "no_text"), "no text"),
    ({"filtered_resps": ["B", "A"]}, ("B", ""), None),
    ({"input": "Look closely. Which?"}, ("answer 0", ""), "different prompt"),
])  # fmt: skip
def test_deviations_of_an_answer_are_named(
    release: pl.DataFrame, folder: Path, change: Line, answer: tuple[str, str], problem: str | None
) -> None:
    first, *rest = make_log_lines()
    write_log(folder, TASK, [first | change, *rest])
    texts, problems = import_log(release, folder)
    assert texts[FIRST] == answer
    assert problems == ([(1, FIRST, problem)] if problem else [])


@pytest.mark.parametrize(("settings", "expected"), [
    ({"config": {"model_args": "pretrained=a/b,max_frames_num=8"}}, []),
    ({"config": {"model_args": "pretrained=a/b,max_frames_num=32"}}, [("max_frames_num=32", "another number of frames than the sampling's")]),
    ({"config": {"limit": 100.0}}, [("limit=100.0", "partial run (--limit)")]),
    ({"configs": {"temporalbench_short_qa": {"generation_kwargs": {"max_new_tokens": 16}}}}, [("temporalbench_short_qa: 16, here 512", "answers limited to fewer tokens than here")]),
    ("{", [("", "the harness's settings are not readable")]),
])  # fmt: skip
def test_deviating_settings_of_the_harness_are_named(
    release: pl.DataFrame, folder: Path, settings: object, expected: list[tuple[str, str]]
) -> None:
    write_log(folder, TASK, make_log_lines(), settings)
    assert import_log(release, folder)[1] == [(None, detail, problem) for detail, problem in expected]
    if "max_frames_num=32" in str(settings):
        assert import_log(release, folder, frames=None)[1] == [], "frames that depend on the clip are not compared"


QUESTIONS_OF_PAIR = {
    "0_pos/text": "Which caption? A. up B. down", "0_neg/text": "Which caption? A. down B. up",
    "0_pos/video": "Which segment: up?", "0_neg/video": "Which segment: down?",
}  # fmt: skip


def test_a_log_of_vinoground_has_both_tasks_and_its_prompt_suffix_is_a_deviation(tmp_path: Path, folder: Path) -> None:
    """The order of the options distinguishes the text questions of a pair."""
    lines: list[Line] = []
    entries: dict[str, list[releases.Entry]] = {"text": [], "video": []}
    for name, question in QUESTIONS_OF_PAIR.items():
        idx, kind = name.split("/")
        entries[kind].append(releases.pair_entry(idx, "A", question=question))
        score = {"index": idx, "question_type": kind, "categories": ["all"], "pred": name}
        lines.append({"doc_id": 0, "filtered_resps": [name], "vinoground_score": score, "input": question + SUFFIX})
    columns = ("index", "major", "minor", "pos_cap", "neg_cap")
    files = releases.vinoground_release(tmp_path, [["0", "object", "", "up", "down"]], columns, **entries)
    pair, path = BenchmarkPipeline("vinoground").annotations(files)[1], write_log(folder, "vinoground", lines)
    texts, problems = import_log(pair, folder, "questions", benchmark="vinoground")
    assert texts == {name: (name, "") for name in QUESTIONS_OF_PAIR}
    assert Counter(problem for *_, problem in problems) == {"different prompt": 4}
    with_suffix = releases.build_request_table("vinoground", "questions", pair, "authors")
    assert load_importer("vinoground").FORMS["questions"].read([path], pair, with_suffix).problems == []
    (folder / "textscore-response.jsonl").touch()
    message = r"found textscore-response.jsonl, .*answers in the authors' files and in a log"
    with pytest.raises(UserError, match=message):
        import_log(pair, folder, "questions", benchmark="vinoground")

"""Test the four constructions on the toy world: kept rows agree with its scripts, and the release can be read."""

import csv
import json
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from construction.filters import kept_rows
from construction.mmbench_video.review import static
from construction.temporalbench.making import clips
from construction.temporalbench.review import TABLE1
from human_evaluation.tasks import COLUMNS, as_csv
from reprise.benchmarks.annotations import ClipSource, Item
from reprise.benchmarks.registry import load_release
from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.core.files import list_matching_files
from reprise.core.schemas import VERDICTS
from synthetic import annotators
from synthetic.reviewer import is_true, scripts, verdict
from synthetic.toyworld.annotated_clips import annotations
from synthetic.toyworld.velociti import write_release

from tests.construction import worlds as w
from tests.unit.rows import verdict_row


def read_back(files: Sequence[Path], kind: str, clips: ClipSource) -> Sequence[Item]:
    """Return the items of a written release. Check that none has a flaw or a duplicate."""
    items = load_release(kind).read_release(files, clips, {}).items
    assert len({item.item_id for item in items}) == len(items) and not any(item.flaws for item in items)
    return items


def test_velociti(tmp_path: Path) -> None:
    write_release(tmp_path)
    settings = w.suite_settings("velociti", "videos", "per_video", "excluded_verbs")
    pool = w.collect_pool({path.name: path for path in tmp_path.rglob("*.json")}, settings)
    tables = w.run_review(w.run_rounds(pool, w.toy_writer, settings), settings)
    rows, script_by_clip = w.kept_dicts(tables["samples"]), scripts()
    assert {row["test"] for row in rows} == {CONTROL, *TESTS} and len(rows) > 300
    assert all(is_true(row["positive"], script_by_clip[row["video"]]) for row in rows)
    assert not any(is_true(row["negative"], script_by_clip[row["video"]]) for row in rows)
    reviewed_rows = w.kept_dicts(tables["reviewed"])
    assert len(reviewed_rows) == len(rows) and min(row["votes"] for row in reviewed_rows) == 1
    assert len(read_back(w.write_release_files(tables, settings, tmp_path), settings.kind, "ids")) == len(reviewed_rows)
    statistics = w.statistics_by_group(tables, settings)
    assert statistics["videos with a caption", "all"] == (864, 24)
    events = tables["pool"].filter(filter="").join(tables["reviewed"], on="video", how="semi")
    share = 100 * (events["roles"].list.len() >= 4).mean()  # type: ignore[operator]
    assert statistics["roles of an event (Fig. 14c)", "4 or more, %"] == (70, pytest.approx(share))


def test_vinoground(tmp_path: Path) -> None:
    """The removal of a pair changes the letters of at most one other pair, which keeps them balanced."""
    settings = w.suite_settings("vinoground", "pairs", "rounds", "review")
    vatex = {"vatex_validation.json": w.ROOT / "resources/demo/vatex/vatex_validation.json"}
    tables = w.run_review(w.run_rounds(w.collect_pool(vatex, settings), w.toy_writer, settings), settings)
    halves = {(row["pair"], row["half"]): row for row in w.kept_dicts(tables["reviewed"])}
    assert len(halves) == len(w.kept_dicts(tables["reviewed"])) == 2 * settings.pairs
    for (pair, half), row in halves.items():
        script = scripts()[f"v_{row['source']}_seg_{row['start_s']:g}_{row['end_s']:g}"]
        other_text = halves[pair, "neg" if half == "pos" else "pos"]["text"]
        assert is_true(row["text"], script) and not is_true(other_text, script)
    files = {path.stem: path for path in w.write_release_files(tables, settings, tmp_path)}
    assert len(read_back(list(files.values()), settings.kind, "ids")) == 4 * settings.pairs
    for kind in ("textscore", "videoscore"):
        questions = json.loads(files[f"vinoground_{kind}"].read_text())
        letters = Counter((question["idx"].split("_")[1], question["GT"]) for question in questions)
        assert len(letters) == 4 and set(letters.values()) == {settings.pairs // 2}
    statistics = w.statistics_by_group(tables, settings)
    assert statistics["pairs released", "all"] == (500, 12) and statistics["videos and captions released", "all"] == (
        1000,
        24,
    )
    question_by_id = {
        entry["idx"]: entry["question"] for entry in json.loads(files["vinoground_textscore"].read_text())
    }
    removed_pair = min(kept_rows(tables["reviewed"])["pair"])
    smaller_release = w.write_release_files(
        tables | {"reviewed": tables["reviewed"].filter(pl.col("pair") != removed_pair)}, settings, tmp_path
    )
    smaller_question_by_id = {entry["idx"]: entry["question"] for entry in json.loads(smaller_release[1].read_text())}
    assert question_by_id.keys() - smaller_question_by_id.keys() == {
        f"{int(removed_pair, 16)}_pos",
        f"{int(removed_pair, 16)}_neg",
    }
    assert (
        smaller_question_by_id.keys() < question_by_id.keys()
        and sum(question_by_id[name] != text for name, text in smaller_question_by_id.items()) <= 2
    )


def test_mmbench_video(tmp_path: Path) -> None:
    """Rows with annotators' mistakes and static questions are not released."""
    settings = w.suite_settings("mmbench_video", "categories").model_copy(
        update={"static": w.construction_settings("mmbench_video", static={"model": "m"}).static}
    )
    demo = w.ROOT / w.SUITE["mmbench_video"]["annotations"]["path"]
    tables = w.run_review(
        w.run_rounds(w.collect_pool(list_matching_files(demo, settings.files), settings), lambda _: "", settings),
        settings,
    )
    for row in w.kept_dicts(tables["reviewed"]):
        assert annotators.find_true_answers(row["video"])[row["question"]] == (
            row["answer"],
            frozenset(row["dimensions"]),
        )
    indices = kept_rows(tables["reviewed"])["index"].to_list()
    assert (
        len(indices) == 30 and tables["candidates"].height == sum(map(len, annotators.questions().values())) == 30 + 14
    )
    filter_counts = Counter(
        name for table in ("candidates", "reviewed") for name in w.filter_names(tables[table]) if name
    )
    assert filter_counts == {
        "unknown_video": 1, "video_dropped": 1, "empty": 1, "no_leaf": 1, "unknown_leaf": 1, "no_annotator": 1,
        "bad_span": 2, "duplicate": 1, "timestamp": 2, "question_too_short": 1, "refused": 2,
    }  # fmt: skip
    items = read_back(
        w.write_release_files({"reviewed": tables["reviewed"]}, settings, tmp_path), settings.kind, "release"
    )
    assert {item.item_id for item in items} == set(indices)
    assert {item.task for item in items} == set(w.SUITE["mmbench_video"]["categories"])
    rating_rows = [verdict_row(f"{index}#", score=3.0 if index in indices[:3] else 0.0) for index in indices]
    result = static(tables["reviewed"], [pl.DataFrame(rating_rows, VERDICTS)] * 4, [], settings)
    static_tables = w.build_tables("mmbench_video", {"static": result.reviewed})
    [path] = w.write_release_files(static_tables, settings, tmp_path)
    assert {row["index"] for row in csv.DictReader(path.open(), delimiter="\t")} == set(indices[3:])
    statistics = w.statistics_by_group(tables | static_tables, settings)
    assert statistics["static questions removed", "all"] == (246, 3) and statistics["questions", "all"] == (1998, 27)
    assert statistics["video clips", "all"][0] == 609 and statistics["duration of a clip (s)", "mean"] == (165.4, 10)
    empty_statistics = w.statistics_by_group({name: table.clear() for name, table in tables.items()}, settings)
    assert empty_statistics["questions", "all"][1] == 0 and empty_statistics["words of a question", "mean"][1] is None


def script_of(clip: str) -> Any:
    video, _, span = clip.rpartition("/")[2].partition(".short-")
    return scripts().get("v_{}_seg_{}_{}".format(video, *span.split("-")))


def test_temporalbench(tmp_path: Path) -> None:
    """The clip metadata comes from the scripts: their cuts, and no motion in clips without a script."""
    settings = w.suite_settings("temporalbench", "other_writers", "rounds", "transitions")
    files = w.write_annotations(tmp_path / "annotations.json", annotations())
    script_by_clip = {clip.clip_id: script_of(clip.clip_id) for clip in clips(files, settings)}
    measured = w.clip_metadata(
        *(
            (clip_id, len(script.cuts()) + 1 if script else 1, script is None)
            for clip_id, script in script_by_clip.items()
        )
    )
    other_writers = {"toy-other-writer": partial(w.toy_writer, writer=w.TOY_OTHER_WRITER)}
    unreviewed = w.run_rounds(w.collect_pool(files, settings, measured), w.toy_writer, settings, **other_writers)
    verdict_rows = [
        task | {"reviewer": "script", "verdict": verdict(task)} for task in w.review(unreviewed, settings).tasks
    ]
    (tmp_path / "script.csv").write_text(
        as_csv([{name: row[name] for name in COLUMNS} for row in verdict_rows], COLUMNS)
    )
    tables = w.run_review(unreviewed, settings, tmp_path / "script.csv")

    filter_counts = Counter(tables["pool"]["filter"])
    assert filter_counts["too_long"] == 15 and filter_counts["static"] == 15 and filter_counts["other_split"] == 5
    assert filter_counts["scene_transitions"] > 10 and filter_counts[""] > 25 and "no_caption" not in filter_counts
    assert {row["dataset"] for row in w.kept_dicts(tables["pool"])} == set(TABLE1)
    rows = w.kept_dicts(tables["reviewed"])
    assert {row["level"] for row in rows} == {"words", "events", "central"} and len(rows) > 200
    assert all(is_true(row["caption"], script_of(row["clip"])) for row in rows)
    assert not any(is_true(row["negative"], script_of(row["clip"])) for row in rows)
    refused = tables["reviewed"].filter(filter="refused").to_dicts()
    assert all(is_true(row["negative"], script_of(row["clip"])) for row in refused)

    items, statistics = (
        read_back(w.write_release_files(tables, settings, tmp_path), settings.kind, "ids"),
        w.statistics_by_group(tables, settings),
    )
    assert statistics["data sets of long videos", "all"] == (4, 4) and statistics[
        "negatives of a long video", "all"
    ] == (4, 4)
    assert statistics["writer models", "all"] == (3, 2)
    for writer in ("toy-writer", "toy-other-writer"):
        released_count = (
            tables["reviewed"].filter(pl.col("level") != "central", pl.col("writer") == writer, filter="").height
        )
        assert statistics["negatives of captions released", writer][1] == released_count > 0
    tasks = Counter(item.task for item in items)
    assert tasks.keys() == {"short", "long", "caption", "central"}
    for kind in ("short", "long"):
        letters = Counter(
            question["GT"] for question in json.loads((tmp_path / f"temporalbench_{kind}_qa.json").read_text())
        )
        assert letters.total() == tasks[kind] and abs(letters["A"] - letters["B"]) <= 1
    assert "finegym" not in {group for item in items if item.task == "caption" for group in item.groups}
    original_by_negative = {(row["clip"], row["negative"]): row["of"] for row in rows if row["level"] == "central"}
    for item in (item for item in items if item.task == "central"):
        assert len(set(item.texts.values())) == 6 and item.answer == item.texts["c"]
        assert all(
            original_by_negative[item.clip_id, item.texts[name]] == item.texts["n1_c"]
            for name in ("n2_n1_c", "n3_n1_c")
        )

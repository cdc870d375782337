"""The four constructions on the toy world: what is left agrees with its scripts, and the release is read again."""

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
    """The items of a release that was written, none of them flawed or there twice."""
    items = load_release(kind).read_release(files, clips, {}).items
    assert len({item.item_id for item in items}) == len(items) and not any(item.flaws for item in items)
    return items


def test_velociti(tmp_path: Path) -> None:
    write_release(tmp_path)
    how = w.of_suite("velociti", "videos", "per_video", "verbs_left_out")
    pool = w.pool_of({path.name: path for path in tmp_path.rglob("*.json")}, how)
    toy = w.reviewed(w.written(pool, w.toy_writer, how), how)
    rows, world = w.left(toy["samples"]), scripts()
    assert {row["test"] for row in rows} == {CONTROL, *TESTS} and len(rows) > 300
    assert all(is_true(row["positive"], world[row["video"]]) for row in rows)
    assert not any(is_true(row["negative"], world[row["video"]]) for row in rows)
    left = w.left(toy["reviewed"])
    assert len(left) == len(rows) and min(row["votes"] for row in left) == 1
    assert len(read_back(w.released(toy, how, tmp_path), how.kind, "ids")) == len(left)
    found = w.numbers(toy, how)
    assert found["videos with a caption", "all"] == (864, 24)
    events = toy["pool"].filter(filter="").join(toy["reviewed"], on="video", how="semi")
    share = 100 * (events["roles"].list.len() >= 4).mean()  # type: ignore[operator]
    assert found["roles of an event (Fig. 14c)", "4 or more, %"] == (70, pytest.approx(share))


def test_vinoground(tmp_path: Path) -> None:
    """People's answers are known by the index; of the letters one other pair's may turn, which keeps them balanced."""
    how = w.of_suite("vinoground", "pairs", "rounds", "review")
    vatex = {"vatex_validation.json": w.ROOT / "resources/demo/vatex/vatex_validation.json"}
    toy = w.reviewed(w.written(w.pool_of(vatex, how), w.toy_writer, how), how)
    halves = {(row["pair"], row["half"]): row for row in w.left(toy["reviewed"])}
    assert len(halves) == len(w.left(toy["reviewed"])) == 2 * how.pairs
    for (pair, half), row in halves.items():
        script = scripts()[f"v_{row['source']}_seg_{row['start_s']:g}_{row['end_s']:g}"]
        other = halves[pair, "neg" if half == "pos" else "pos"]["text"]
        assert is_true(row["text"], script) and not is_true(other, script)
    files = {path.stem: path for path in w.released(toy, how, tmp_path)}
    assert len(read_back(list(files.values()), how.kind, "ids")) == 4 * how.pairs
    for kind in ("textscore", "videoscore"):
        asked = json.loads(files[f"vinoground_{kind}"].read_text())
        letters = Counter((one["idx"].split("_")[1], one["GT"]) for one in asked)
        assert len(letters) == 4 and set(letters.values()) == {how.pairs // 2}
    found = w.numbers(toy, how)
    assert found["pairs released", "all"] == (500, 12) and found["videos and captions released", "all"] == (1000, 24)
    before = {one["idx"]: one["question"] for one in json.loads(files["vinoground_textscore"].read_text())}
    gone = min(kept_rows(toy["reviewed"])["pair"])
    less = w.released(toy | {"reviewed": toy["reviewed"].filter(pl.col("pair") != gone)}, how, tmp_path)
    after = {one["idx"]: one["question"] for one in json.loads(less[1].read_text())}
    assert before.keys() - after.keys() == {f"{int(gone, 16)}_pos", f"{int(gone, 16)}_neg"}
    assert after.keys() < before.keys() and sum(before[name] != text for name, text in after.items()) <= 2


def test_mmbench_video(tmp_path: Path) -> None:
    """Every mistake of the annotators is dropped, and static questions leave the release."""
    how = w.of_suite("mmbench_video", "categories").model_copy(
        update={"static": w.settings("mmbench_video", static={"model": "m"}).static}
    )
    demo = w.ROOT / w.SUITE["mmbench_video"]["annotations"]["path"]
    toy = w.reviewed(w.written(w.pool_of(list_matching_files(demo, how.files), how), lambda _: "", how), how)
    for row in w.left(toy["reviewed"]):
        assert annotators.truths(row["video"])[row["question"]] == (row["answer"], frozenset(row["dimensions"]))
    indices = kept_rows(toy["reviewed"])["index"].to_list()
    assert len(indices) == 30 and toy["candidates"].height == sum(map(len, annotators.questions().values())) == 30 + 14
    dropped = Counter(name for table in ("candidates", "reviewed") for name in w.names_of(toy[table]) if name)
    assert dropped == {
        "unknown_video": 1, "video_dropped": 1, "empty": 1, "no_leaf": 1, "unknown_leaf": 1, "no_annotator": 1,
        "bad_span": 2, "duplicate": 1, "timestamp": 2, "question_too_short": 1, "refused": 2,
    }  # fmt: skip
    items = read_back(w.released({"reviewed": toy["reviewed"]}, how, tmp_path), how.kind, "release")
    assert {item.item_id for item in items} == set(indices)
    assert {item.task for item in items} == set(w.SUITE["mmbench_video"]["categories"])
    rated = [verdict_row(f"{index}#", score=3.0 if index in indices[:3] else 0.0) for index in indices]
    done = static(toy["reviewed"], [pl.DataFrame(rated, VERDICTS)] * 4, [], how)
    less = w.tables("mmbench_video", {"static": done.reviewed})
    [path] = w.released(less, how, tmp_path)
    assert {row["index"] for row in csv.DictReader(path.open(), delimiter="\t")} == set(indices[3:])
    found = w.numbers(toy | less, how)
    assert found["static questions removed", "all"] == (246, 3) and found["questions", "all"] == (1998, 27)
    assert found["video clips", "all"][0] == 609 and found["duration of a clip (s)", "mean"] == (165.4, 10)
    empty = w.numbers({name: table.clear() for name, table in toy.items()}, how)
    assert empty["questions", "all"][1] == 0 and empty["words of a question", "mean"][1] is None


def script_of(clip: str) -> Any:
    video, _, span = clip.rpartition("/")[2].partition(".short-")
    return scripts().get("v_{}_seg_{}_{}".format(video, *span.split("-")))


def test_temporalbench(tmp_path: Path) -> None:
    """Made of what the pipeline would measure: the cuts of the script, and no motion where nobody acts."""
    how = w.of_suite("temporalbench", "other_writers", "rounds", "transitions")
    files = w.saved(tmp_path / "annotations.json", annotations())
    known = {clip.clip_id: script_of(clip.clip_id) for clip in clips(files, how)}
    measured = w.clip_metadata(*((name, len(one.cuts()) + 1 if one else 1, one is None) for name, one in known.items()))
    others = {"toy-other-writer": partial(w.toy_writer, writer=w.TOY_OTHER_WRITER)}
    made = w.written(w.pool_of(files, how, measured), w.toy_writer, how, **others)
    said = [task | {"reviewer": "script", "verdict": verdict(task)} for task in w.review(made, how).tasks]
    (tmp_path / "script.csv").write_text(as_csv([{name: row[name] for name in COLUMNS} for row in said], COLUMNS))
    toy = w.reviewed(made, how, tmp_path / "script.csv")

    dropped = Counter(toy["pool"]["filter"])
    assert dropped["too_long"] == 15 and dropped["static"] == 15 and dropped["other_split"] == 5
    assert dropped["scene_transitions"] > 10 and dropped[""] > 25 and "no_caption" not in dropped
    assert {row["dataset"] for row in w.left(toy["pool"])} == set(TABLE1)
    rows = w.left(toy["reviewed"])
    assert {row["level"] for row in rows} == {"words", "events", "central"} and len(rows) > 200
    assert all(is_true(row["caption"], script_of(row["clip"])) for row in rows)
    assert not any(is_true(row["negative"], script_of(row["clip"])) for row in rows)
    refused = toy["reviewed"].filter(filter="refused").to_dicts()
    assert all(is_true(row["negative"], script_of(row["clip"])) for row in refused)

    items, found = read_back(w.released(toy, how, tmp_path), how.kind, "ids"), w.numbers(toy, how)
    assert found["data sets of long videos", "all"] == (4, 4) and found["negatives of a long video", "all"] == (4, 4)
    assert found["writer models", "all"] == (3, 2)
    for writer in ("toy-writer", "toy-other-writer"):
        shown = toy["reviewed"].filter(pl.col("level") != "central", pl.col("writer") == writer, filter="").height
        assert found["negatives of captions released", writer][1] == shown > 0
    tasks = Counter(item.task for item in items)
    assert tasks.keys() == {"short", "long", "caption", "central"}
    for kind in ("short", "long"):
        letters = Counter(one["GT"] for one in json.loads((tmp_path / f"temporalbench_{kind}_qa.json").read_text()))
        assert letters.total() == tasks[kind] and abs(letters["A"] - letters["B"]) <= 1
    assert "finegym" not in {group for item in items if item.task == "caption" for group in item.groups}
    of = {(row["clip"], row["negative"]): row["of"] for row in rows if row["level"] == "central"}
    for item in (item for item in items if item.task == "central"):
        assert len(set(item.texts.values())) == 6 and item.answer == item.texts["c"]
        assert all(of[item.clip_id, item.texts[name]] == item.texts["n1_c"] for name in ("n2_n1_c", "n3_n1_c"))

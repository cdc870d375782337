"""The whole chain on the toy world, whose truth is known: no negative is true, no positive false."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.benchmarks.temporalbench.release import read_release
from reprise.benchmarks.temporalbench.taxonomy import CATEGORIES
from reprise.construction.settings import ReviewSettings, TemporalBenchSettings
from reprise.construction.temporalbench.candidates import candidates
from reprise.construction.temporalbench.clips import clips
from reprise.construction.temporalbench.long_videos import long_videos
from reprise.construction.temporalbench.release import release
from reprise.construction.temporalbench.requests import requests
from reprise.construction.temporalbench.review import option_tasks, review
from reprise.construction.temporalbench.samples import samples
from reprise.construction.temporalbench.statistics import TABLE1, TABLE5, filter_counts, statistics
from reprise.core.yaml_files import load_yaml
from reprise.models.base import Answer, Clip, Request
from reprise.models.local.stand_ins.templates import Templates
from synthetic.reviewer import is_true, scripts, verdict
from synthetic.toyworld.annotated_clips import annotations
from synthetic.toyworld.generate import Dice, evaluation_stories, training_script

from tests.unit.asked import spec
from tests.unit.construction.temporalbench_worlds import PROMPTS, as_tables, facts, replies, settings
from tests.unit.construction.worlds import ROOT

SUITE = load_yaml(ROOT / "config/suites/construction.yaml")["benchmarks"]["temporalbench"]["construction"]
WRITER = Templates(spec(**load_yaml(ROOT / "config/models/toy-writer.yaml")["settings"]))
HOW = settings(**{name: SUITE[name] for name in ("rounds", "transitions")})
Tables = dict[str, pl.DataFrame]


def script_of(clip: str) -> Any:
    video, _, span = clip.rpartition("/")[2].partition(".short-")
    return scripts()["v_{}_seg_{}_{}".format(video, *span.split("-"))]


def measured(found: Sequence[Any]) -> pl.DataFrame:
    """What the pipeline would measure: the cuts of the script, and no motion where nobody acts."""
    known = {clip.clip_id: _events(clip.clip_id) for clip in found}
    return facts(*((name, cuts + 1, is_static) for name, (cuts, is_static) in known.items()))


def _events(clip: str) -> tuple[int, bool]:
    try:
        return len(script_of(clip).cuts()), False
    except KeyError:  # a part of the source in which nobody moves
        return 0, True


def reply(asked: dict[str, Any]) -> str:
    one = Request("r", "i", "1", "write", asked["system"], asked["prompt"], (), "", 1024)
    [answer] = WRITER.answers(Clip("c", None, (), ()), [one])
    assert isinstance(answer, Answer) and not answer.error
    return answer.text


def made_of(rows: list[dict[str, Any]], folder: Path, how: TemporalBenchSettings = HOW) -> Tables:
    path = folder / "annotations.json"
    path.write_text(json.dumps(rows))
    files = {path.name: path}
    here = as_tables(candidates(files, how, measured(clips(files, how)))._asdict())
    given: list[pl.DataFrame] = []
    for _ in range(how.rounds):
        given.append(replies(requests(here, given, PROMPTS, how), reply))
    return here | as_tables(samples(here, given, PROMPTS, how)._asdict())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return made_of(annotations(), tmp_path_factory.mktemp("toy"))


@pytest.fixture(scope="module")
def judged(made: Tables, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """Reviewed by the scripts."""
    tasks = option_tasks(made["samples"], HOW.seed)
    rows = [
        {"task_id": task.task_id, "digest": task.digest, "reviewer": "script", "verdict": verdict(task.shown)}
        for task in tasks
    ]
    path = tmp_path_factory.mktemp("verdicts") / "script.json"
    path.write_text(json.dumps(rows))
    done = review(made, [path], HOW)
    assert done.problems == []
    return made | as_tables({"reviewed": done.reviewed, "votes": done.votes})


def kept(table: pl.DataFrame) -> Iterator[dict[str, Any]]:
    return table.filter(pl.col("filter") == "").iter_rows(named=True)


def test_what_is_no_clip_of_the_paper_s_kind_is_dropped_by_name(made: Tables) -> None:
    found = Counter(made["pool"]["filter"])
    assert found["too_long"] == 23 and found["static"] == 23 and found["other_split"] == 5
    assert found["scene_transitions"] > 10 and found[""] > 30 and "no_caption" not in found
    assert {row["dataset"] for row in kept(made["pool"])} == set(TABLE1)


def test_every_sample_agrees_with_the_script(judged: Tables) -> None:
    rows = list(kept(judged["reviewed"]))
    assert Counter(row["level"] for row in rows).keys() == {"words", "events", "central"} and len(rows) > 200
    wrong = [
        row
        for row in rows
        if not is_true(row["caption"], script_of(row["clip"])) or is_true(row["negative"], script_of(row["clip"]))
    ]
    assert wrong == []
    refused = judged["reviewed"].filter(pl.col("filter") == "refused")
    assert all(is_true(row["negative"], script_of(row["clip"])) for row in refused.iter_rows(named=True))


def test_every_negative_of_a_long_video_is_false_of_it(judged: Tables) -> None:
    found = long_videos(judged["reviewed"], HOW)
    assert len(found) > 5
    for one in found:
        parts = [script_of(name) for name in one.clips]
        captions = split_captions(one.caption)
        assert len(captions) == len(parts) and all(map(is_true, captions, parts))
        assert 0 < len(one.negatives) <= HOW.long_negatives and len(set(one.negatives)) == len(one.negatives)
        for negative in one.negatives:
            said = [is_true(text, part) for text, part in zip(split_captions(negative), parts, strict=True)]
            assert said.count(False) == 1


def split_captions(text: str) -> list[str]:
    return [f"First, {one.strip()}" for one in text.split("First, ")[1:]]


def test_the_release_is_read_by_the_evaluation_and_balanced(judged: Tables, tmp_path: Path) -> None:
    files = release(judged, HOW)
    assert files == release(judged | {"reviewed": judged["reviewed"].reverse()}, HOW)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    read = read_release(sorted(tmp_path.iterdir()), "ids", {})
    tasks = Counter(item.task for item in read.items)
    assert tasks.keys() == {"short", "long", "caption", "central"} and not any(item.flaws for item in read.items)
    assert len({item.item_id for item in read.items}) == len(read.items)
    assert {clip.clip_id for clip in read.clips if clip.kind == "trim"} == {
        row["clip"] for row in kept(judged["reviewed"])
    }
    for kind in ("short", "long"):
        letters = Counter(one["GT"] for one in json.loads(files[f"temporalbench_{kind}_qa.json"]))
        assert letters.total() == tasks[kind] and abs(letters["A"] - letters["B"]) <= 1
    assert "finegym" not in {group for item in read.items if item.task == "caption" for group in item.groups}


def test_option_sets_are_those_that_were_written(judged: Tables, tmp_path: Path) -> None:
    files = release(judged, HOW)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    read = read_release(sorted(tmp_path.iterdir()), "ids", {})
    written = {
        (row["clip"], row["negative"]): row["of"] for row in kept(judged["reviewed"]) if row["level"] == "central"
    }
    sets = [item for item in read.items if item.task == "central"]
    assert sets
    for item in sets:
        assert len(set(item.texts.values())) == 6 and item.answer == item.texts["c"]
        assert all(written[item.clip_id, item.texts[name]] == item.texts["n1_c"] for name in ("n2_n1_c", "n3_n1_c"))


def test_ids_stay_when_annotations_are_added(made: Tables, tmp_path: Path) -> None:
    rows = annotations()
    fewer = made_of(rows[: len(rows) // 2][::-1], tmp_path)
    before = {row["sample_id"]: row["negative"] for row in kept(fewer["samples"])}
    after = {row["sample_id"]: row["negative"] for row in kept(made["samples"])}
    assert before and before.items() <= after.items() and len(before) < len(after)


def test_no_sample_is_in_the_training_set(made: Tables) -> None:
    stories = {script_of(row["clip"]).story_digest() for row in made["samples"].iter_rows(named=True)}
    assert stories <= evaluation_stories()
    assert all(training_script(Dice(7, number)).story_digest() not in stories for number in range(200))
    assert "train" not in {row["split"] for row in kept(made["pool"])}


def test_numbers_stand_beside_the_paper_s(judged: Tables) -> None:
    rows = {(row["what"], row["group"]): (row["paper"], row["ours"]) for row in statistics(judged, HOW)}
    videos = {row["clip"] for row in kept(judged["reviewed"])}
    assert rows["videos (Table 1)", "all"] == (2179, len(videos))
    questions = [row for row in kept(judged["reviewed"]) if row["level"] != "central"]
    assert rows["questions (Table 5)", "all"] == (9918, len(questions))
    for name in CATEGORIES:
        own = [row for row in questions if row["category"] == name]
        assert rows["questions (Table 5)", name] == (TABLE5[name], len(own))
    for name, (clips_of, original, ours) in TABLE1.items():
        numbers = [
            rows[f"{what} (Table 1)", name][0]
            for what in ("videos", "words of the original description", "words of the caption")
        ]
        assert numbers == [clips_of, original, ours]
    assert sum(TABLE5.values()) == 9918 and sum(row[0] for row in TABLE1.values()) == 2179
    assert rows["negatives of a caption as written, most", "words"][1] <= 9
    joined = Counter(one.dataset for one in long_videos(judged["reviewed"], HOW))
    assert rows["data sets of long videos", "all"] == (4, 4) and rows["negatives of a long video", "all"] == (4, 4)
    assert {name: rows["long videos", name] for name in joined} == {
        name: (None, count) for name, count in joined.items()
    }
    counts = filter_counts(judged)
    assert all(row["entered"] - row["dropped"] == row["left"] for row in counts)
    assert counts[-1]["left"] == judged["reviewed"].filter(pl.col("filter") == "").height


def test_the_verdicts_of_the_repository_are_those_of_the_scripts(made: Tables) -> None:
    tasks = {task.task_id: task for task in option_tasks(made["samples"], HOW.seed)}
    [path] = ROOT.glob(SUITE["review"]["verdicts"])
    rows = pl.read_csv(path, infer_schema=False).to_dicts()
    known = [row for row in rows if row["task_id"] in tasks]
    assert len(known) > 0.8 * len(tasks) and len(known) > 0.8 * len(rows)
    assert all(tasks[row["task_id"]].digest == row["digest"] for row in known)
    assert all(verdict(tasks[row["task_id"]].shown) == row["verdict"] for row in known)


def test_a_review_is_not_asked_for_where_nobody_is_named(made: Tables) -> None:
    done = review(made, [], HOW.model_copy(update={"review": ReviewSettings(verdicts="-")}))
    assert {row["filter"] for row in done.reviewed} <= {
        "caption_not_reviewed",
        "unchanged",
        "duplicate",
        "more_than_asked",
        "caption_again",
    }
    assert all(task["choices"] == "fits | does not fit | cannot be told" for task in done.tasks if task["option"])

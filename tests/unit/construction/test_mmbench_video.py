"""MMBench-Video's making: the collection, annotators' rows, the lint, cross-validation, static questions, the release."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.benchmarks.mmbench_video.release import read_release
from reprise.benchmarks.mmbench_video.taxonomy import GROUPS_TAKEN, L2_OF
from reprise.benchmarks.mmbench_video.video_sets import read_set
from reprise.construction.filters import kept
from reprise.construction.mmbench_video.candidates import COLUMNS, ROW_FILTERS, candidates
from reprise.construction.mmbench_video.collection import COLLECTION, POOL_FILTERS
from reprise.construction.mmbench_video.collection import COLUMNS as VIDEO_COLUMNS
from reprise.construction.mmbench_video.guidelines import GUIDELINES, LINTS, page, to_fill_in, warnings
from reprise.construction.mmbench_video.other_sets import drawn
from reprise.construction.mmbench_video.release import release
from reprise.construction.mmbench_video.review import CHOICES, review
from reprise.construction.mmbench_video.samples import samples
from reprise.construction.mmbench_video.static import static
from reprise.construction.mmbench_video.statistics import filter_counts, statistics
from reprise.construction.mmbench_video.tables import SCHEMAS
from reprise.construction.settings import MmbenchVideoSettings, ReviewSettings, StaticFilter
from reprise.core.errors import UserError
from reprise.core.files import matching_files
from reprise.core.schemas import VERDICTS, table_of
from reprise.core.yaml_files import load_yaml
from reprise.fetch.settings import ReleaseFolder
from synthetic import annotators
from synthetic.other_sets import manifest, scripts
from synthetic.toyworld.generate import Dice, evaluation_stories, training_script
from synthetic.toyworld.mmbench_video import videos

from tests.unit.construction.worlds import ROOT

SUITE = load_yaml(ROOT / "config/suites/construction.yaml")["benchmarks"]["mmbench_video"]["construction"]
DEMO = ROOT / SUITE["annotations"]["path"]
VIDEO = dict(zip(VIDEO_COLUMNS, ("v1", "source", "News", "40", "0", "10"), strict=True))
QUESTION = dict(zip(COLUMNS, ("v1", "Who runs first?", "The man in red.", "OCR; Counting", "ann", "", ""), strict=True))
Row = dict[str, str]


def settings(**changes: Any) -> MmbenchVideoSettings:
    needed: dict[str, Any] = {
        "kind": "mmbench_video",
        "annotations": ReleaseFolder(kind="folder", path="-"),
        "review": ReviewSettings(verdicts="none/*.csv"),
    }
    return MmbenchVideoSettings(**needed | changes)


def tables(found: dict[str, list[Any]]) -> dict[str, pl.DataFrame]:
    return {name: table_of(rows, SCHEMAS[name]) for name, rows in found.items()}


def written(folder: Path, name: str, rows: Sequence[Row]) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def made(folder: Path, how: MmbenchVideoSettings) -> dict[str, pl.DataFrame]:
    here = tables(candidates(matching_files(folder, how.files), how)._asdict())
    return here | tables(samples(here, [], {}, how)._asdict())


def of_rows(folder: Path, *rows: Row, **how: Any) -> dict[str, pl.DataFrame]:
    written(folder, COLLECTION, [VIDEO, VIDEO | {"video": "v2", "duration_s": "20"}])
    written(folder, "questions/a.csv", rows)
    return made(folder, settings(**how))


# --- the collection ----------------------------------------------------------------------------------------------------

COLLECTED = {
    "fits": ({}, ""),
    "a name that leaves its folder": ({"video": "../v"}, "bad_name"),
    "no name": ({"video": ""}, "bad_name"),
    "another category": ({"video_type": "Newz"}, "unknown_category"),
    "no category": ({"video_type": ""}, "unknown_category"),
    "no number": ({"duration_s": "about 40"}, "no_number"),
    "not a number": ({"duration_s": "nan"}, "no_number"),
    "29.9 seconds": ({"duration_s": "29.9"}, "too_short"),
    "30 seconds": ({"duration_s": "30"}, ""),
    "a span that ends before it starts": ({"start_s": "10", "end_s": "10"}, "bad_span"),
    "a span beyond the end": ({"end_s": "41"}, "bad_span"),
    "a clip of 6 minutes": ({"duration_s": "900", "end_s": "360"}, ""),
    "a clip of more": ({"duration_s": "900", "end_s": "360.5"}, "too_long"),
}


@pytest.mark.parametrize(("change", "dropped_by"), COLLECTED.values(), ids=COLLECTED)
def test_a_video_is_collected_or_named(tmp_path: Path, change: Row, dropped_by: str) -> None:
    path = written(tmp_path, COLLECTION, [VIDEO | change])
    [row] = candidates({COLLECTION: path}, settings(categories=["News", "Sports"])).pool
    assert row["filter"] == dropped_by in ("", *POOL_FILTERS) and bool(row["why"]) == bool(dropped_by)


def test_a_video_counts_once_and_a_collection_is_needed(tmp_path: Path) -> None:
    path = written(tmp_path, COLLECTION, [VIDEO, VIDEO | {"end_s": "20"}])
    assert [row["filter"] for row in candidates({COLLECTION: path}, settings()).pool] == ["", "duplicate"]
    with pytest.raises(UserError, match=r"no file 'collection.csv'. Found: a.csv. Put it where `annotations:`"):
        candidates({"a.csv": path}, settings())
    path.write_text("video,source\n")
    with pytest.raises(UserError, match=r"collection.csv: column 'video_type' is missing. Found: video, source."):
        candidates({COLLECTION: path}, settings())


# --- rows of annotators ------------------------------------------------------------------------------------------------

ROWS = {
    "right": ({}, ""),
    "a span in the clip": ({"start_s": "2", "end_s": "10"}, ""),
    "a video of no collection": ({"video": "v9"}, "unknown_video"),
    "a video that was dropped": ({"video": "v2"}, "video_dropped"),
    "no question": ({"question": " "}, "empty"),
    "no answer": ({"answer": ""}, "empty"),
    "no leaf": ({"dimensions": " ; "}, "no_leaf"),
    "a leaf that does not exist": ({"dimensions": "OCR; Countin"}, "unknown_leaf"),
    "a group for a leaf": ({"dimensions": "perception"}, "unknown_leaf"),
    "nobody": ({"annotator": ""}, "no_annotator"),
    "a span beyond the clip": ({"start_s": "2", "end_s": "11"}, "bad_span"),
    "half a span": ({"start_s": "2"}, "bad_span"),
    "a span that is no number": ({"start_s": "2", "end_s": "0:05"}, "bad_span"),
}


@pytest.mark.parametrize(("change", "dropped_by"), ROWS.values(), ids=ROWS)
def test_a_row_that_cannot_be_used_is_named_and_no_sample(tmp_path: Path, change: Row, dropped_by: str) -> None:
    here = of_rows(tmp_path, QUESTION | change)
    [row] = here["candidates"].to_dicts()
    assert row["filter"] == dropped_by in ("", *ROW_FILTERS) and bool(row["why"]) == bool(dropped_by)
    assert row["where"] == "questions/a.csv: row 1" and here["samples"].height == (not dropped_by)


def test_what_is_wrong_is_said_with_what_was_meant(tmp_path: Path) -> None:
    here = of_rows(tmp_path, QUESTION | {"dimensions": "Countin"}, QUESTION | {"video": "v2"})
    assert here["candidates"]["why"].to_list() == ["no leaf 'Countin'. Did you mean 'Counting'?", "too_short: 20 s"]


def test_a_question_of_a_video_counts_once(tmp_path: Path) -> None:
    bad = QUESTION | {"dimensions": ""}
    here = of_rows(tmp_path, bad, QUESTION, QUESTION | {"question": "WHO runs first?", "annotator": "bob"})
    assert here["candidates"]["filter"].to_list() == ["no_leaf", "", "duplicate"]


def test_ids_stay_when_annotations_are_added(tmp_path: Path) -> None:
    before = of_rows(tmp_path, QUESTION, QUESTION | {"question": "How does it end?"})["samples"]
    written(tmp_path, "questions/0.csv", [QUESTION | {"question": "Where are they running?"}])
    written(tmp_path, COLLECTION, [VIDEO | {"video": "v0"}, VIDEO])
    after = made(tmp_path, settings())["samples"]
    assert after.height == 3 and set(before["sample_id"]) < set(after["sample_id"])
    assert all(index.isdigit() for index in after["index"]) and after["index"].n_unique() == 3


# --- the lint ----------------------------------------------------------------------------------------------------------

LINTED = {
    "What happens at 03:20 in the video?": "timestamp",
    "What happens at 0:04?": "timestamp",
    "Who is shown at 12 seconds?": "timestamp",
    "Who is shown at about 1.5 min?": "timestamp",
    "Who is shown around the 30 s mark?": "timestamp",
    "What is written at second 14?": "timestamp",
    "What is written in the 3rd minute?": "timestamp",
    "Who is shown at the end of the video?": "",
    "What happens before the second goal?": "",
    "How many seconds does the runner need?": "",
    "What does he do for 10 seconds?": "",
    "And then?": "question_too_short",
    "Who won it?": "",
}


@pytest.mark.parametrize(("question", "dropped_by"), LINTED.items(), ids=LINTED)
def test_guidelines_that_a_text_can_break(question: str, dropped_by: str) -> None:
    row = {"question": question, "answer": "Yes."}
    assert [name for name, lint in LINTS.items() if lint(row, settings())] == ([dropped_by] if dropped_by else [])


def test_how_many_words_are_too_few_is_a_setting(tmp_path: Path) -> None:
    here = of_rows(tmp_path, QUESTION | {"answer": "A man."}, answer_words=3, question_words=1)
    assert here["samples"].select("filter", "why").rows() == [("answer_too_short", "2 of at least 3 words")]


WARNED = {
    "Is this a dog?": ["a question of the type 'is / are'"],
    "Did he win?": ["a question of the type 'does / do'"],
    "What is this?": [],
    "Tell me what it does.": [],
}


@pytest.mark.parametrize(("question", "warned"), WARNED.items(), ids=WARNED)
def test_closed_questions_and_single_words_are_warnings(question: str, warned: list[str]) -> None:
    assert warnings({"question": question, "answer": "It is."}) == warned
    assert warnings({"question": question, "answer": "Yes."}) == [*warned, "an answer of one word"]


def test_annotators_get_a_file_that_can_be_read_when_filled_in(tmp_path: Path) -> None:
    here = of_rows(tmp_path, QUESTION)
    [row] = csv.DictReader(io.StringIO(to_fill_in(here["pool"])))
    assert (row["video"], row["source"], row["question"]) == ("v1", "source", "")
    filled = row | {name: QUESTION[name] for name in ("question", "answer", "dimensions", "annotator")}
    again = of_rows(tmp_path, filled)
    assert again["samples"]["sample_id"].to_list() == here["samples"]["sample_id"].to_list()
    text = page(settings())
    assert all(one in text for one in (*GUIDELINES, *L2_OF)) and "at least 3 words" in text
    assert "conversational style [*]" in text and "[*] For example, “What is the score of the football game" in text


# --- cross-validation --------------------------------------------------------------------------------------------------


def verdicts(path: Path, tasks: Sequence[dict[str, Any]], said: str, *people: str) -> Path:
    found = [{"task_id": one["task_id"], "digest": one["digest"], "verdict": said} for one in tasks]
    return written(path.parent, path.name, [one | {"reviewer": who} for one in found for who in people])


def test_nobody_judges_an_own_question(tmp_path: Path) -> None:
    here, how = of_rows(tmp_path, QUESTION), settings(review=ReviewSettings(verdicts="-", votes=2))
    tasks = review(here, [], how).tasks
    own = verdicts(tmp_path / "1.csv", tasks, "correct", "Ann ", "bob")
    done = review(here, [own], how)
    assert [(one.problem, one.where) for one in done.problems] == [("own_question", f"{own}: row 1")]
    assert [(row["filter"], row["votes"]) for row in done.reviewed] == [("not_reviewed", 1)]
    others = verdicts(tmp_path / "2.csv", tasks, "correct", "cy")
    assert [row["filter"] for row in review(here, [own, others], how).reviewed] == [""]
    refusing = verdicts(tmp_path / "3.csv", tasks, "answer is wrong", "cy")
    assert [row["filter"] for row in review(here, [own, refusing], how).reviewed] == ["refused"]


# --- static questions --------------------------------------------------------------------------------------------------


def rated(*ratings: dict[str, float | None]) -> list[pl.DataFrame]:
    empty = {name: "" for name, kind in VERDICTS.items() if kind == pl.String}
    flags = {"right": False, "unparsed": False, "failed": False}
    return [
        pl.DataFrame(
            [empty | flags | {"item_id": name, "score": score} for name, score in one.items()], schema=VERDICTS
        )
        for one in ratings
    ]


def questions(folder: Path, *names: str) -> tuple[pl.DataFrame, dict[str, str]]:
    """Reviewed questions, and the index of each name."""
    here = of_rows(folder, *(QUESTION | {"question": f"Who runs {name}?"} for name in names))
    how = settings(review=ReviewSettings(verdicts="-", undecided="keep"))
    reviewed = tables({"reviewed": review(here, [], how).reviewed})["reviewed"]
    texts = dict(reviewed.select("question", "index").iter_rows())
    return reviewed, {name: texts[f"Who runs {name}?"] for name in names}


def test_a_mean_of_exactly_two_and_a_half_is_dropped(tmp_path: Path) -> None:
    """10/4 is 2.5; 9/4 is 2.25; 3, 3, 3 and a failure are 9/4 too; a question without a rating stays."""
    reviewed, index = questions(tmp_path, "static", "moving", "failed", "unasked")
    seeds = [(3, 3, 3), (3, 3, 3), (2, 3, 3), (2, 0, None)]
    ratings = rated(
        *(dict(zip([index[name] for name in ("static", "moving", "failed")], one, strict=True)) for one in seeds)
    )
    found = static(reviewed, ratings, [], 2.5, settings())
    assert [row["question"] for row in found.reviewed] == [task["question"] for task in found.tasks]
    got = {row["index"]: (row["mean"], row["filter"]) for row in found.reviewed}
    assert got == {
        index["static"]: (2.5, "static"), index["moving"]: (2.25, ""), index["failed"]: (2.25, ""),
        index["unasked"]: (None, ""),
    }  # fmt: skip
    assert found.reviewed[0]["why"] == "mean rating 2.5 on one frame, 2.5 or more"
    assert (found.tasks[0]["mean"], found.tasks[0]["ratings"]) == ("2.5", "3 3 2 2")
    assert found.tasks[-1]["mean"] == "-"


def test_what_people_see_by_hand_counts_more_than_ratings(tmp_path: Path) -> None:
    reviewed, index = questions(tmp_path, "static", "moving")
    ratings = rated({index["static"]: 3.0, index["moving"]: 0.0})
    listed = static(reviewed, ratings, [], 2.5, settings()).tasks
    assert [task["mean"] for task in listed] == ["3", "0"]
    checked = [
        verdicts(tmp_path / "1.csv", listed[:1], "needs the video", "ann"),
        verdicts(tmp_path / "2.csv", listed[1:], "one frame is enough", "ann"),
    ]
    found = static(reviewed, ratings, checked, 2.5, settings())
    assert {row["index"]: row["filter"] for row in found.reviewed} == {
        index["static"]: "", index["moving"]: "static_by_hand"
    }  # fmt: skip
    two = settings(review=ReviewSettings(verdicts="-", votes=2))
    assert [row["filter"] for row in static(reviewed, ratings, checked, 2.5, two).reviewed] == ["static", ""]


def test_people_who_disagree_by_hand_leave_it_to_the_ratings(tmp_path: Path) -> None:
    reviewed, index = questions(tmp_path, "static", "moving")
    ratings = rated({index["static"]: 3.0, index["moving"]: 0.0})
    listed = static(reviewed, ratings, [], 2.5, settings()).tasks
    checked = [
        verdicts(tmp_path / "1.csv", listed, "needs the video", "ann"),
        verdicts(tmp_path / "2.csv", listed, "one frame is enough", "bob"),
    ]
    found = static(reviewed, ratings, checked, 2.5, settings()).reviewed
    assert [row["filter"] for row in found] == ["static", ""]
    agreed = static(reviewed, ratings, checked[1:], 2.5, settings()).reviewed
    assert [row["filter"] for row in agreed] == ["static", "static_by_hand"], "the ratings dropped the first already"


def test_the_filter_is_that_of_the_paper() -> None:
    how = StaticFilter(model="m")
    assert how.least == 2.5 and how.runs() == [f"unpacked/still{seed}/m" for seed in range(4)]


# --- other sets --------------------------------------------------------------------------------------------------------


def test_a_draw_hangs_on_the_questions_and_not_on_their_order(tmp_path: Path) -> None:
    rows = [{"video": f"{n}.mp4", "question": "Who?", "answer": "A man.", "options": "x"} for n in range(30)]
    path = written(tmp_path, "msvd.csv", [*rows, rows[0]])
    found = drawn(path, 10, "0 to 5", 0)
    assert found.height == 10 and found.columns == ["video", "question", "answer", "options", "scoring"]
    assert set(found["scoring"]) == {"0 to 5"}
    written(tmp_path, "msvd.csv", [rows[0], *reversed(rows)])
    assert drawn(path, 10, "0 to 5", 0).equals(found) and not drawn(path, 10, "0 to 5", 1).equals(found)
    assert sorted(drawn(path, 1000, "0 to 5", 0)["video"]) == sorted(row["video"] for row in [*rows, rows[0]])
    (tmp_path / "sets").mkdir()
    found.write_csv(tmp_path / "sets/msvd.csv")
    assert len(read_set(tmp_path / "sets/msvd.csv", GROUPS_TAKEN).items) == 10


def test_a_set_needs_its_columns(tmp_path: Path) -> None:
    path = written(tmp_path, "msvd.csv", [{"video": "1.mp4", "question": "Who?"}])
    with pytest.raises(UserError, match=r"msvd.csv: column 'answer' is missing. Found: video, question."):
        drawn(path, 10, "accuracy", 0)
    path = written(tmp_path, "msvd.csv", [{"video": "1", "question": "Who?", "answer": "a", "scoring": "b"}])
    with pytest.raises(
        UserError, match=r"msvd.csv: column 'scoring' is taken: how a set is scored stands in the suite"
    ):
        drawn(path, 10, "accuracy", 0)


def test_the_toy_world_s_sets_are_what_the_module_writes() -> None:
    for name in SUITE["other_sets"]["scoring"]:
        assert (ROOT / "resources/demo/sets" / f"{name}.csv").read_text() == manifest(name)
    chosen = {video for video, _ in scripts()}
    rows = [row for name in SUITE["other_sets"]["scoring"] for row in csv.DictReader(io.StringIO(manifest(name)))]
    assert {row["video"].removesuffix(".mp4") for row in rows} <= chosen
    assert all((ROOT / "resources/demo/sets").glob(f"*/{row['video']}") for row in rows)


# --- the toy world -----------------------------------------------------------------------------------------------------

HOW = settings(categories=SUITE["categories"])


@pytest.fixture(scope="module")
def toy() -> dict[str, pl.DataFrame]:
    here = made(DEMO, HOW)
    done = review(here, sorted(ROOT.glob(SUITE["review"]["verdicts"])), HOW)
    assert done.problems == []
    return here | tables({"reviewed": done.reviewed, "votes": done.votes})


def test_the_demo_s_annotators_are_the_toy_world_s(tmp_path: Path) -> None:
    annotators.write(tmp_path)
    names = [path.relative_to(tmp_path) for path in sorted(tmp_path.rglob("*.csv"))]
    assert len(names) == 3 and all((tmp_path / name).read_text() == (DEMO / name).read_text() for name in names)


def test_every_released_answer_is_true_and_every_mistake_is_dropped(toy: dict[str, pl.DataFrame]) -> None:
    released = kept(toy["reviewed"])
    for row in released.iter_rows(named=True):
        answer, leaves = annotators.truths(row["video"])[row["question"]]
        assert row["answer"] == answer and frozenset(row["dimensions"]) == leaves
    rows = [row for one in annotators.questions().values() for row in one]
    right = annotators.VIDEOS * 5
    assert released.height == right and toy["candidates"].height == len(rows) == right + 14
    dropped = Counter(name for table in ("candidates", "reviewed") for name in toy[table]["filter"] if name)
    assert dropped == {
        "unknown_video": 1, "video_dropped": 1, "empty": 1, "no_leaf": 1, "unknown_leaf": 1, "no_annotator": 1,
        "bad_span": 2, "duplicate": 1, "timestamp": 2, "question_too_short": 1, "refused": 2,
    }  # fmt: skip


def test_the_review_knows_wrong_answers_and_wrong_abilities(toy: dict[str, pl.DataFrame]) -> None:
    tasks = review(toy, [], HOW).tasks
    assert Counter(map(annotators.verdict, tasks)) == {CHOICES[0]: 5 * annotators.VIDEOS, CHOICES[1]: 1, CHOICES[2]: 1}
    unknown = tasks[0] | {"question": "Who wrote this?"}
    assert annotators.verdict(unknown) == ""


def test_no_video_of_the_benchmark_is_in_a_training_set(toy: dict[str, pl.DataFrame]) -> None:
    stories = {videos()[name].story_digest() for name in kept(toy["pool"])["video"]}
    assert len(stories) == annotators.VIDEOS and stories <= evaluation_stories()
    assert not stories & {training_script(Dice(7, number)).story_digest() for number in range(50)}


def test_the_release_is_read_by_the_unchanged_reader(toy: dict[str, pl.DataFrame], tmp_path: Path) -> None:
    files = release({"reviewed": toy["reviewed"]}, HOW)
    assert files == release({"reviewed": toy["reviewed"].reverse()}, HOW)
    [(name, text)] = files.items()
    (tmp_path / name).write_text(text)
    read = read_release([tmp_path / name], "release", {})
    assert len(read.items) == 30 and len(read.clips) == 6 and not any(item.flaws for item in read.items)
    assert {item.item_id for item in read.items} == set(kept(toy["reviewed"])["index"])
    assert {item.task for item in read.items} == set(SUITE["categories"])


def test_static_questions_leave_the_release(toy: dict[str, pl.DataFrame]) -> None:
    indices = kept(toy["reviewed"])["index"].to_list()
    ratings = rated(*[dict.fromkeys(indices[:3], 3.0) | dict.fromkeys(indices[3:], 0.0)] * 4)
    filtered = tables({"static": static(toy["reviewed"], ratings, [], 2.5, HOW).reviewed})
    [text] = release(filtered, HOW).values()
    left = {row["index"] for row in csv.DictReader(io.StringIO(text), delimiter="\t")}
    assert left == set(indices[3:])
    numbers = {(row["what"], row["group"]): (row["paper"], row["ours"]) for row in statistics(toy | filtered, HOW)}
    assert numbers["static questions removed", "all"] == (246, 3) and numbers["questions", "all"] == (1998, 27)
    assert filter_counts(toy | filtered)[-2]["dropped"] == 3 and filter_counts(toy | filtered)[-1]["left"] == 27


def test_numbers_stand_beside_the_paper_s(toy: dict[str, pl.DataFrame]) -> None:
    numbers = {(row["what"], row["group"]): (row["paper"], row["ours"]) for row in statistics(toy, HOW)}
    assert numbers["video clips", "all"] == (609, 6) and numbers["leaf abilities", "all"] == (26, 24)
    assert numbers["duration of a clip (s)", "mean"] == (165.4, 10) and numbers["categories of videos", "all"] == (
        16,
        2,
    )
    assert numbers["duration of all clips (h)", "all"] == (28, pytest.approx(60 / 3600))
    assert numbers["static questions removed", "all"] == (246, None)
    assert numbers["words of a question", "mean"][0] == 10.9 and numbers["words of an answer", "mean"][0] == 8.4
    assert all(row["entered"] - row["dropped"] == row["left"] for row in filter_counts(toy))


def test_numbers_of_nothing_are_empty(tmp_path: Path) -> None:
    here = of_rows(tmp_path, QUESTION | {"video": "v9"})
    here |= tables({"reviewed": review(here, [], settings()).reviewed, "votes": []})
    numbers = {(row["what"], row["group"]): row["ours"] for row in statistics(here, settings())}
    assert numbers["questions", "all"] == 0 and numbers["words of a question", "mean"] is None

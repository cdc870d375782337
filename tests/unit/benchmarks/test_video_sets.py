"""Test other sets of videos with a manifest: clips, questions, and the scores of Tables 1 and 2 by hand."""

from pathlib import Path

import polars as pl
import pytest
from construction.stages.draw import draw_questions
from reprise.benchmarks.annotations import select_items
from reprise.benchmarks.mmbench_video.taxonomy import GROUP_BY_SCORING, SCORING_BY_SET
from reprise.benchmarks.question_forms import select_all_answers
from reprise.core.errors import UserError
from reprise.core.schemas import RESPONSES
from reprise.core.yaml_files import load_yaml
from reprise.extraction.extractors import SCALE_BY_MAX_RATING
from reprise.stages.judge_requests import build_judge_requests, collect_answers
from reprise.stages.judgements import extract_judgements
from reprise.stages.verdicts import extract_verdicts

from tests.unit.benchmarks.releases import mmbench_release, question_row
from tests.unit.benchmarks.whole import BenchmarkPipeline
from tests.unit.rows import request_table, response_row, response_table

mmbench_video = BenchmarkPipeline("mmbench_video")

PROTOCOLS = load_yaml(Path("config/benchmarks/mmbench_video.yaml"))["protocols"]
MANIFEST = """video,question,answer,capability,scoring
one.avi,Who acts?,a man,Who,0 to 3
one.avi,What does he do?,he runs away,What,0 to 3
two.avi,Who acts?,a dog,Who,0 to 3
"""
OPEN_QUESTIONS = "video,question,answer\n1.mp4,Who runs?,a red dog\n2.mp4,Who sits?,a cat\n3.mp4,Who sings?,a bird\n"
CHOICE_QUESTIONS = (
    "video,question,answer,A,B,C\n1.mp4,Who runs?,b,a dog,a cat,a bird\n2.mp4,Who sits?,C,a dog,a cat,a bird\n"
)


def read_release(folder: Path, manifest: str, name: str = "some") -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return clips and items of a release with one own question and another set of videos."""
    path = folder / "sets" / f"{name}.csv"
    path.parent.mkdir()
    path.write_text(manifest)
    return mmbench_video.annotations([*mmbench_release(folder, [question_row("0", "v", "['OCR']")]), path])


def read_drawn_items(folder: Path, scoring: str, text: str) -> pl.DataFrame:
    """Return the items of a set of videos that is drawn from a larger one."""
    full_set = folder / "full" / "some.csv"
    full_set.parent.mkdir()
    full_set.write_text(text)
    return select_items(
        read_release(folder, draw_questions(full_set, 1000, scoring, 0).sort("video").write_csv())[1],
        GROUP_BY_SCORING[scoring],
    )


def test_a_manifest_gives_clips_questions_and_separate_statistics(tmp_path: Path) -> None:
    """The questions have 2, 4 and 2 words: mean 8/3, deviation sqrt(24/3 - (8/3)^2). The videos have 4 and 8 s."""
    clips, items = read_release(tmp_path, MANIFEST, "msvd")
    assert clips.filter(pl.col("cluster") != "v").select("clip_id", "kind", "source_id").rows() == [
        ("msvd-one.avi.whole", "whole", "release:sets/msvd.csv#one.avi"),
        ("msvd-two.avi.whole", "whole", "release:sets/msvd.csv#two.avi"),
    ]
    assert select_items(items, "sets")["item_id"].to_list() == ["msvd/1", "msvd/2", "msvd/3"]
    assert select_items(items, "mmbench_video")["item_id"].to_list() == ["0"]
    clip_facts = [("v.whole", 60.0, 9), ("msvd-one.avi.whole", 4.0, 1), ("msvd-two.avi.whole", 8.0, 2)]
    rows = [{"clip_id": clip, "duration_s": seconds, "shots": shots} for clip, seconds, shots in clip_facts]
    statistics = mmbench_video.statistics(items, clips) | mmbench_video.video_statistics(items, rows)
    word_statistics = [statistics[f"question_words_{part}", "msvd"] for part in ("mean", "std")]
    assert word_statistics == pytest.approx([8 / 3, (24 / 3 - (8 / 3) ** 2) ** 0.5])
    assert [statistics[metric, "msvd"] for metric in ("videos", "questions", "capabilities")] == [2, 3, 2]
    assert (statistics["duration_s_mean", "msvd"], statistics["shots_mean", "msvd"]) == (6, 1.5)
    assert [statistics[metric, "all"] for metric in ("videos", "questions", "duration_s_mean")] == [1, 1, 60]


def compute_numbers(
    form: str, items: pl.DataFrame, verdicts: pl.DataFrame
) -> dict[str, tuple[float | None, int, int, int]]:
    measures = mmbench_video.numbers(form, items, verdicts)
    assert {group for _, group in measures} == {"some"}
    return {
        metric: (measure.value, measure.requested, measure.failed, measure.unparsed)
        for (metric, _), measure in measures.items()
    }


def test_ratings_from_0_to_5_by_hand(tmp_path: Path) -> None:
    """The ratings are 5, 2 and 7, which is outside the scale and unparsed: (5 + 2 + 0) / 3 = 7/3 of 5, or 46.7 of 100."""
    items = read_drawn_items(tmp_path, "0 to 5", OPEN_QUESTIONS)
    requests = request_table(mmbench_video.requests(items, "unpacked", "unpacked"), "write", 9)
    responses = response_table(requests, lambda row: {"text": "a dog"})
    answers = collect_answers(select_all_answers, items, requests, responses, "k", SCALE_BY_MAX_RATING[5])
    judge_requests = build_judge_requests(answers, items, mmbench_video.prompts[PROTOCOLS["sets.five"]["judge"]], 64)
    assert judge_requests["options"][0].to_list() == ["0", "1", "2", "3", "4", "5"]
    assert "0, 1, 2, 3, 4, or 5" in judge_requests["system"][0]
    replies = {"some/1#robust": "5", "some/2#robust": "Score: 2", "some/3#robust": "7"}
    rows = [response_row(request_id, reply) for request_id, reply in replies.items()]
    verdicts = extract_judgements(answers, pl.DataFrame(rows, schema=RESPONSES), "robust", "judge")
    assert (verdicts["score"].to_list(), verdicts["right"].to_list()) == ([5.0, 2.0, None], [True, False, False])
    assert compute_numbers("unpacked", items, verdicts) == {
        "original_score": (pytest.approx(7 / 3), 3, 0, 1),
        "normalized_score": (pytest.approx(140 / 3), 3, 0, 1),
    }
    assert mmbench_video.outcomes("unpacked", items, verdicts)["mean"]["right"].to_list() == [1.0, 0.4, 0.0]


def test_an_accuracy_by_hand(tmp_path: Path) -> None:
    """One of two letters is correct: 0.5, or 50 of 100; a text that names no option is unparsed and wrong."""
    items = read_drawn_items(tmp_path, "accuracy", CHOICE_QUESTIONS)
    rows = mmbench_video.requests(items, "set_choice", "set.choice")
    assert [(row["options"], row["expected"]) for row in rows] == [(["A", "B", "C"], "B"), (["A", "B", "C"], "C")]
    assert rows[0]["prompt"] == (
        "Question: Who runs?\nOptions:\nA. a dog\nB. a cat\nC. a bird\n"
        "Answer with the option's letter from the given choices directly."
    )
    requests = request_table(rows, "choose", 9)
    for texts, accuracy, unparsed in (
        (["B.", "B"], 0.5, 0),
        (["a cat", "nothing of that"], 0.5, 1),
        (["D", "A"], 0.0, 1),
    ):
        responses = [response_row(row["request_id"], text) for row, text in zip(rows, texts, strict=True)]
        verdicts = extract_verdicts(
            requests, pl.DataFrame(responses, schema=RESPONSES), "robust", PROTOCOLS["sets.choice"]["extraction"]
        )
        assert compute_numbers("set_choice", items, verdicts) == {
            "original_score": (accuracy, 2, 0, unparsed),
            "normalized_score": (100 * accuracy, 2, 0, unparsed),
        }


@pytest.mark.parametrize(("scoring", "text", "message"), [
    ("accuracy", OPEN_QUESTIONS, "row 1: found no options; a set that is scored by accuracy has two or more"),
    ("accuracy", CHOICE_QUESTIONS.replace("a dog,a cat", "a dog,", 1), "row 1: found options A, C"),
    ("accuracy", CHOICE_QUESTIONS.replace(",b,", ",a cat,"), "row 1: answer 'a cat' is none of A, B, C"),
    ("0 to 5", OPEN_QUESTIONS.replace("a cat", " "), "row 2: 'answer' is empty"),
])  # fmt: skip
def test_rows_that_do_not_fit_the_scoring_are_rejected(tmp_path: Path, scoring: str, text: str, message: str) -> None:
    with pytest.raises(UserError, match=r"full/some\.csv") as error:
        read_drawn_items(tmp_path, scoring, text)
    assert message in str(error.value)


MIXED_SCORINGS = MANIFEST.replace("0 to 3", "0 to 5", 1)


@pytest.mark.parametrize(("name", "text", "message"), [
    ("overall", MANIFEST, "'overall' cannot be the name of a set of videos"),
    ("ok", "video,question\na.mp4,Who?\n", "ok.csv: column 'answer' is missing. Found: video, question"),
    ("ok", MIXED_SCORINGS, "column 'scoring' has '0 to 5', '0 to 3', expected one of 0 to 3, 0 to 5, accuracy in all"),
    ("ok", MANIFEST.replace("0 to 3", "0 to 9"), "column 'scoring' has '0 to 9', expected one of"),
])  # fmt: skip
def test_a_broken_manifest_is_rejected(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(UserError, match="sets") as error:
        read_release(tmp_path, text, name)
    assert message in str(error.value)


def test_sets_of_table_2_have_the_scoring_of_the_paper() -> None:
    rows = load_yaml(Path("config/tables/mmbench_video.yaml"))["tables"]["table2"]["sections"][0]["rows"]
    group_by_set = {row["group"]: PROTOCOLS[row["protocol"]]["items"] for row in rows if row["group"] in SCORING_BY_SET}
    expected = {name: GROUP_BY_SCORING[scoring] for name, scoring in SCORING_BY_SET.items()}
    assert group_by_set == expected | {"video_mme": "video_mme"}, "video_mme has its own prompt in the harness"


def test_video_mme_has_the_prompt_of_vlmevalkit(tmp_path: Path) -> None:
    """In vlmeval/dataset/videomme.py, FRAMES_TMPL_NOSUB follows the frames, and the question has its options."""
    text = "video,question,answer,scoring,A,B,C,D\na.mp4,Who?,B,accuracy,Ann,Bob,Cid,Dan\n"
    items = read_release(tmp_path, text, "video_mme")[1]
    (request,) = mmbench_video.requests(items.filter(pl.col("task") == "video_mme"), "set_choice", "set.video_mme")
    frames = """
These are the frames of a video. \
Select the best answer to the following multiple-choice question based on the video. \
Respond with only the letter (A, B, C, or D) of the correct option.
"""
    question = "Who?" + "\n" + "\n".join(["A. Ann", "B. Bob", "C. Cid", "D. Dan"])
    assert request["prompt"] == frames + f"Question: {question}\nAnswer: "

"""Other sets of videos, each by its own scoring, from the draw to the numbers of Table 2; worked out by hand."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.answering import answers_as_given
from reprise.benchmarks.mmbench_video.release import COLUMNS
from reprise.benchmarks.mmbench_video.taxonomy import OTHER_VIDEO_SETS, SCORINGS
from reprise.benchmarks.prompts import load_prompts
from reprise.benchmarks.rows import chosen_items
from reprise.construction.mmbench_video.other_sets import drawn
from reprise.core.errors import UserError
from reprise.core.schemas import RESPONSES
from reprise.core.yaml_files import load_yaml
from reprise.reading.ratings import SCALES
from reprise.stages.judge_requests import given_answers, judge_requests
from reprise.stages.judgements import judgements
from reprise.stages.verdicts import verdicts

from tests.unit.benchmarks.whole import Whole
from tests.unit.rows import request_table, response_row

mmbench_video = Whole("mmbench_video")
PROMPTS = load_prompts(Path("resources/prompts/mmbench_video.yaml"))
PROTOCOLS = load_yaml(Path("config/benchmarks/mmbench_video.yaml"))["protocols"]
TABLE2 = load_yaml(Path("config/tables/mmbench_video.yaml"))["tables"]["table2"]
LEVEL = 0.95
OPEN = "video,question,answer\n1.mp4,Who runs?,a red dog\n2.mp4,Who sits?,a cat\n3.mp4,Who sings?,a bird\n"
LETTERS = "video,question,answer,A,B,C\n1.mp4,Who runs?,b,a dog,a cat,a bird\n2.mp4,Who sits?,C,a dog,a cat,a bird\n"


def items_of(folder: Path, scoring: str, text: str, name: str = "some") -> pl.DataFrame:
    """What a release has of a set that is drawn."""
    full = folder / "full" / f"{name}.csv"
    full.parent.mkdir()
    full.write_text(text)
    (folder / "sets").mkdir()
    drawn(full, 1000, scoring, 0).sort("video").write_csv(folder / "sets" / f"{name}.csv")
    row = ["0", "v", "News", "What is it?", "It is that.", "['OCR']", "v.mp4"]
    (folder / "MMBench-Video.tsv").write_text("\n".join("\t".join(cells) for cells in (COLUMNS, row)) + "\n")
    _, items = mmbench_video.annotations([folder / "MMBench-Video.tsv", folder / "sets" / f"{name}.csv"])
    return chosen_items(items, SCORINGS[scoring])


def answered(
    items: pl.DataFrame, said: Sequence[str], errors: Sequence[str] = ("", "", "")
) -> tuple[pl.DataFrame, ...]:
    """Answers to each question, and what a judge is asked from 0 to 5."""
    asked = request_table(mmbench_video.requests(items, "unpacked", PROMPTS["unpacked"]), "write", 9)
    names = asked.select("request_id", "item_id", "role").iter_rows()
    rows = [
        response_row(name, text, item_id=item, role=role, error=error, key="run")
        for (name, item, role), text, error in zip(names, said, errors, strict=True)
    ]
    answers = given_answers(answers_as_given, items, asked, pl.DataFrame(rows, schema=RESPONSES), "run", SCALES[5])
    return answers, judge_requests(answers, items, PROMPTS[PROTOCOLS["sets.five"]["judge"]], 64)


def judged(answers: pl.DataFrame, replies: dict[str, str]) -> pl.DataFrame:
    rows = [response_row(f"{item}#robust", text, key="judge") for item, text in replies.items()]
    return judgements(answers, pl.DataFrame(rows, schema=RESPONSES), "robust", "judge")


def numbers(form: str, items: pl.DataFrame, read: pl.DataFrame) -> dict[str, tuple[float | None, int, int, int]]:
    found = mmbench_video.measures(form, items, read, LEVEL)
    assert {one.group for one in found} == {"some"}
    return {one.metric: (one.value, one.asked, one.failed, one.unparsed) for one in found}


def test_ratings_from_0_to_5_by_hand(tmp_path: Path) -> None:
    """Rated 5, 2, and 7, which the scale lacks: (5 + 2 + 0) / 3 = 7/3 of 5, or 46.7 of 100; one is unread."""
    items = items_of(tmp_path, "0 to 5", OPEN)
    answers, requests = answered(items, ["a red dog", "a dog", "x"])
    assert set(answers["expected"]) == {"5"} and requests["options"][0].to_list() == ["0", "1", "2", "3", "4", "5"]
    assert "0, 1, 2, 3, 4, or 5" in requests["system"][0]
    read = judged(answers, {"some/1": "5", "some/2": "Score: 2", "some/3": "7"})
    assert (read["score"].to_list(), read["right"].to_list()) == ([5.0, 2.0, None], [True, False, False])
    assert numbers("unpacked", items, read) == {
        "original_score": (pytest.approx(7 / 3), 3, 0, 1),
        "normalized_score": (pytest.approx(140 / 3), 3, 0, 1),
    }
    assert mmbench_video.outcomes("unpacked", items, read)["mean"]["right"].to_list() == [1.0, 0.4, 0.0]


def test_a_failed_answer_is_not_rated_and_counts_as_0(tmp_path: Path) -> None:
    items = items_of(tmp_path, "0 to 5", OPEN)
    answers, requests = answered(items, ["a dog", "", "a bird"], ["", "timeout", ""])
    assert requests.filter(item_id="some/2").is_empty()
    read = judged(answers, {"some/1": "4", "some/3": "I'm sorry, I cannot say."})
    assert numbers("unpacked", items, read)["original_score"] == (pytest.approx(4 / 3), 3, 1, 1)


def test_an_accuracy_by_hand(tmp_path: Path) -> None:
    """One of two letters is right: 0.5 as it is, 50 of 100; prose that names none is unread and wrong."""
    items = items_of(tmp_path, "accuracy", LETTERS)
    rows = mmbench_video.requests(items, "set_choice", PROMPTS["set.choice"])
    assert [(row["options"], row["expected"]) for row in rows] == [(["A", "B", "C"], "B"), (["A", "B", "C"], "C")]
    assert rows[0]["prompt"] == (
        "Question: Who runs?\nOptions:\nA. a dog\nB. a cat\nC. a bird\n"
        "Answer with the option's letter from the given choices directly."
    )
    asked = request_table(rows, "choose", 9)
    for said, right, unparsed in ((["B.", "B"], 0.5, 0), (["a cat", "nothing of that"], 0.5, 1), (["D", "A"], 0.0, 1)):
        given = [
            response_row(row["request_id"], text, item_id=row["item_id"], role=row["role"], key="run")
            for row, text in zip(rows, said, strict=True)
        ]
        read = verdicts(asked, pl.DataFrame(given, schema=RESPONSES), "robust", PROTOCOLS["sets.choice"]["reading"])
        assert numbers("set_choice", items, read) == {
            "original_score": (right, 2, 0, unparsed),
            "normalized_score": (100 * right, 2, 0, unparsed),
        }


BROKEN = {
    "no options": ("accuracy", OPEN, "row 1: found options nowhere; a set that is scored by accuracy has two or more"),
    "a gap": ("accuracy", LETTERS.replace("a dog,a cat", "a dog,", 1), "row 1: found options A, C"),
    "a text as the answer": ("accuracy", LETTERS.replace(",b,", ",a cat,"), "row 1: answer 'a cat' is none of A, B, C"),
    "an empty answer": ("0 to 5", OPEN.replace("a cat", " "), "row 2: 'answer' is empty"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_a_scoring_cannot_use_is_refused_in_the_user_s_file(tmp_path: Path, name: str) -> None:
    scoring, text, message = BROKEN[name]
    with pytest.raises(UserError) as error:
        items_of(tmp_path, scoring, text)
    assert message in str(error.value) and "full/some.csv" in str(error.value)


def test_a_set_has_one_scoring_and_a_known_one(tmp_path: Path) -> None:
    for cells in (("0 to 5", "accuracy"), ("0 to 9", "0 to 9")):
        path = tmp_path / "some.csv"
        path.write_text("video,question,answer,scoring\n" + "".join(f"1.mp4,Who?,A dog,{one}\n" for one in cells))
        (tmp_path / "MMBench-Video.tsv").write_text("\t".join(COLUMNS) + "\n")
        with pytest.raises(
            UserError, match=r"column 'scoring' has .*, expected one of 0 to 3, 0 to 5, accuracy in all"
        ):
            mmbench_video.annotations([tmp_path / "MMBench-Video.tsv", path])


def test_a_manifest_that_does_not_say_it_is_scored_as_in_the_paper() -> None:
    rows = TABLE2["sections"][0]["rows"]
    asked = {row["group"]: PROTOCOLS[row["protocol"]]["items"] for row in rows if row["group"] in OTHER_VIDEO_SETS}
    assert asked == {name: SCORINGS[scoring] for name, scoring in OTHER_VIDEO_SETS.items()}

"""A judge that says which option an answer comes to: Vinoground's chain of thought, by the paper's appendix F."""

import shutil
from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.answering import answers_as_given
from reprise.benchmarks.prompts import load_prompts
from reprise.benchmarks.vinoground.scores import METRICS
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.core.paths import Run
from reprise.core.schemas import RESPONSES
from reprise.models.base import Clip, Request
from reprise.models.local.stand_ins.lastletter import LastLetter
from reprise.plan.keys import collect_keys
from reprise.plan.runs import Plan
from reprise.reading.ratings import RATINGS
from reprise.stages.judge_requests import given_answers, judge_requests
from reprise.stages.judgements import judgements, read_reply

from tests.unit.asked import request, spec
from tests.unit.benchmarks.test_vinoground import LEVEL, items_of
from tests.unit.benchmarks.whole import Whole
from tests.unit.rows import request_table, response_row

vinoground = Whole("vinoground")

PROMPTS = load_prompts(Path("resources/prompts/vinoground.yaml"))
LETTERS = ("A", "B")


@pytest.mark.parametrize(
    ("reply", "robust", "authors"),
    [
        ("A", "A", "A"),
        ("B.", "B", "B"),
        ("b", "B", "B"),
        ("(B)", "B", "("),
        ("Answer: B", "B", "A"),  # their scorer looks at the first character and nothing else
        ("The answer is B.", "B", "T"),
        ("A or B", "", "A"),
        ("Neither.", "", "N"),
        ("3", "", "3"),
        ("", "", ""),
        ("  ", "", " "),
    ],
)
def test_a_letter_is_read_or_it_is_not(reply: str, robust: str, authors: str) -> None:
    assert read_reply(reply, LETTERS, "robust").value == robust
    assert read_reply(reply, LETTERS, "authors").value == authors


@pytest.mark.parametrize(("reply", "value"), [("3.", "3"), ("Score: 3", "3"), ("two", "2"), ("", ""), ("B", "")])
def test_a_rating_is_still_a_rating(reply: str, value: str) -> None:
    assert read_reply(reply, RATINGS, "robust").value == value


def asked(items: pl.DataFrame, texts: dict[str, str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Answers and the judge's requests where these questions were answered so, and all others by the right letter."""
    rows = vinoground.requests(items, "questions", PROMPTS["cot"])
    requests = request_table(rows, "write", 1024)
    responses = []
    for row in requests.iter_rows(named=True):
        text = texts.get(row["item_id"], f"Step by step, it is {row['expected']}")
        known = {"text": "", "error": "timeout"} if text == "failed" else {"text": text}
        responses.append(response_row(row["request_id"], key="run", **known))
    said = pl.DataFrame(responses, schema=RESPONSES)
    answers = given_answers(answers_as_given, items, requests, said, "run")
    return answers, judge_requests(answers, items, PROMPTS["extract"], 64)


def test_the_judge_is_shown_the_response_in_the_papers_words(tmp_path: Path) -> None:
    _, requests = asked(items_of(tmp_path, 1), {"0_pos/text": "First {candidate} I see\ntwo shapes."})
    row = requests.filter(pl.col("request_id") == "0_pos/text#robust").row(0, named=True)
    assert row["prompt"].startswith("Please parse the following model response into either A or B.")
    assert row["prompt"].endswith(
        "=====):\n===== First {candidate} I see\ntwo shapes. =====\nProvide output your answer as a single character "
        "(A or B): "
    )
    assert (row["ask"], row["options"], row["expected"], row["system"]) == ("write", ["A", "B"], "", "")


def replies(requests: pl.DataFrame, judge: LastLetter, errors: tuple[str, ...] = ()) -> pl.DataFrame:
    rows = []
    for row in requests.iter_rows(named=True):
        known = {name: row[name] for name in ("request_id", "item_id", "role")}
        question = request(row["prompt"], "write", LETTERS, max_tokens=64, **known)
        error = "rate_limited" if row["item_id"] in errors else ""
        (answer,) = judge.answers(Clip("", None, (), ()), [question])
        rows.append(response_row(row["request_id"], "" if error else answer.text, error=error, key="j"))
    return pl.DataFrame(rows, schema=RESPONSES)


def extract(prompt: str) -> Request:
    return request(prompt, "write", LETTERS, max_tokens=64, request_id="0#robust", item_id="0", role="text_pos")


def last_letter() -> LastLetter:
    return LastLetter(spec())


def test_scores_of_extracted_letters_by_hand(tmp_path: Path) -> None:
    """Six pairs: a failed answer, a judgement that fails, one that says nothing, a wrong letter; two pairs all right."""
    items = items_of(tmp_path, 6)
    right = {row["item_id"]: row["answer"] for row in items.iter_rows(named=True)}
    wrong = {item: "AB"[letter == "A"] for item, letter in right.items()}
    texts = {
        "0_pos/text": "failed",
        "2_neg/text": "I see no letter here.",
        "3_pos/video": f"{right['3_pos/video']}? no: {wrong['3_pos/video']}",
    }
    answers, requests = asked(items, texts)
    assert requests.height == answers.height - 2, "a failed answer is not put to the judge, for neither reader"
    said = replies(requests, last_letter(), errors=("1_pos/text",))
    read = judgements(answers, said, "robust", "last-letter")
    assert (read["failed"].sum(), read["unparsed"].sum(), read["right"].sum()) == (1, 2, 20)
    assert read["score"].is_null().all()
    found = {one.metric: one for one in vinoground.measured("questions", items, read, LEVEL, "fixed")
             if one.group == "all"}  # type: ignore[arg-type]  # fmt: skip
    counts = {
        name: [getattr(found[name], part) for part in ("asked", "scored", "failed", "unparsed")] for name in found
    }
    assert counts == {"text": [6, 3, 1, 2], "video": [6, 6, 0, 0], "group": [6, 3, 1, 2]}
    assert [found[name].value for name in METRICS] == pytest.approx([50, 100 * 5 / 6, 100 / 3])


def test_both_readings_share_one_models_answers_and_each_kind_has_its_judges() -> None:
    plan = Plan(load(Path()))
    keys = collect_keys(plan)
    runs = [Run("vinoground", protocol, "fps1", "toy-llava-ov") for protocol in ("cot", "cot.judged")]
    assert len({keys[plan.results.run_key(run)].model_dump()["key"] for run in runs}) == 1
    assert plan.judges_of("vinoground") == ["last-letter"]
    assert plan.judges_of("mmbench_video") == ["wordmatch", "wordmatch-recall"]
    table = {scored.name for scored in plan.table_scored("vinoground", "table3")}
    assert {"vinoground/cot/fps1/toy-llava-ov", "vinoground/cot.judged/fps1/toy-llava-ov/last-letter"} <= table


def test_a_command_that_needs_a_judge_says_where_to_name_one(tmp_path: Path) -> None:
    shutil.copytree("config", tmp_path / "config")
    (tmp_path / "resources").symlink_to(Path("resources").resolve())
    suite = tmp_path / "config/suites/demo.yaml"
    suite.write_text(suite.read_text().replace("judges: [last-letter]", "judges: []"))
    with pytest.raises(
        UserError, match=r"suite 'demo': no judge of vinoground runs here, or has rated \S+\. Name one in `judges:`"
    ):
        Plan(load(tmp_path)).judge_of(Run("vinoground", "cot.judged", "fps1", "toy-llava-ov"))

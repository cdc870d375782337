"""A judge that says which option an answer comes to: Vinoground's chain of thought, by the paper's appendix F."""

import shutil
from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.asking import answers_as_given
from reprise.benchmarks.prompts import load_prompts
from reprise.benchmarks.vinoground.scores import METRICS
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.core.paths import Run
from reprise.core.schemas import RESPONSES
from reprise.models.base import Clip
from reprise.models.local.stand_ins.lastletter import LastLetter
from reprise.plan.runs import Plan
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
        ("b", "B", "B"),
        ("(B)", "B", "("),
        ("Answer: B", "B", "A"),  # their scorer looks at the first character and nothing else
        ("A or B", "", "A"),
        ("Neither.", "", "N"),
        ("", "", ""),
    ],
)
def test_a_letter_is_read_or_it_is_not(reply: str, robust: str, authors: str) -> None:
    assert read_reply(reply, LETTERS, "robust").value == robust
    assert read_reply(reply, LETTERS, "authors").value == authors


def asked(items: pl.DataFrame, texts: dict[str, str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Answers and the judge's requests where these questions were answered so, and all others by the right letter."""
    requests = request_table(vinoground.requests(items, "questions", PROMPTS["cot"]), "write", 1024)
    responses = []
    for row in requests.iter_rows(named=True):
        text = texts.get(row["item_id"], f"Step by step, it is {row['expected']}")
        known = {"text": "", "error": "timeout"} if text == "failed" else {"text": text}
        responses.append(response_row(row["request_id"], key="run", **known))
    answers = given_answers(answers_as_given, items, requests, pl.DataFrame(responses, schema=RESPONSES), "run")
    return answers, judge_requests(answers, items, PROMPTS["extract"], 64)


def last_letter(prompt: str) -> str:
    """What the local judge says to a prompt."""
    (answer,) = LastLetter(spec()).answers(Clip("", None, (), ()), [request(prompt, "write", LETTERS, max_tokens=64)])
    return answer.text


def test_the_judge_is_shown_the_response_in_the_papers_words(tmp_path: Path) -> None:
    _, requests = asked(items_of(tmp_path, 1), {"0_pos/text": "First {candidate} I see\ntwo shapes."})
    row = requests.filter(request_id="0_pos/text#robust").row(0, named=True)
    assert row["prompt"].startswith("Please parse the following model response into either A or B.")
    assert row["prompt"].endswith(
        "=====):\n===== First {candidate} I see\ntwo shapes. =====\nProvide output your answer as a single character "
        "(A or B): "
    )
    assert (row["ask"], row["options"], row["expected"], row["system"]) == ("write", ["A", "B"], "", "")


def test_scores_of_extracted_letters_by_hand(tmp_path: Path) -> None:
    """Six pairs: a failed answer, a judgement that fails, one that says nothing, a wrong letter; two pairs all right."""
    items = items_of(tmp_path, 6)
    letters = dict(items.select("item_id", "answer").iter_rows())
    last = letters["3_pos/video"]
    texts = {
        "0_pos/text": "failed",
        "2_neg/text": "I see no letter here.",
        "3_pos/video": f"{last}? no: {'AB'[last == 'A']}",
    }
    answers, requests = asked(items, texts)
    assert requests.height == answers.height - 2, "a failed answer is not put to the judge, for neither reader"
    replies = [
        response_row(row["request_id"], last_letter(row["prompt"]), key="j")
        if row["item_id"] != "1_pos/text"
        else response_row(row["request_id"], error="rate_limited", key="j")
        for row in requests.iter_rows(named=True)
    ]
    read = judgements(answers, pl.DataFrame(replies, schema=RESPONSES), "robust", "last-letter")
    assert (read["failed"].sum(), read["unparsed"].sum(), read["right"].sum()) == (1, 2, 20)
    assert read["score"].is_null().all()
    measures = vinoground.measured("questions", items, read, LEVEL, "fixed")
    found = {one.metric: one for one in measures if one.group == "all"}
    counts = {name: (one.asked, one.scored, one.failed, one.unparsed) for name, one in found.items()}
    assert counts == {"text": (6, 3, 1, 2), "video": (6, 6, 0, 0), "group": (6, 3, 1, 2)}
    assert [found[name].value for name in METRICS] == pytest.approx([50, 100 * 5 / 6, 100 / 3])


@pytest.mark.parametrize(
    ("judges", "message"),
    [
        ("last-leter", r"benchmarks\.vinoground\.judges: unknown model 'last-leter'"),
        ("", r"suite 'demo': no judge of vinoground runs here, or has rated \S+\. Name one in `judges:`"),
    ],
)
def test_a_judge_that_is_not_there_is_named(tmp_path: Path, judges: str, message: str) -> None:
    shutil.copytree("config", tmp_path / "config")
    (tmp_path / "resources").symlink_to(Path("resources").resolve())
    suite = tmp_path / "config/suites/demo.yaml"
    suite.write_text(suite.read_text().replace("judges: [last-letter]", f"judges: [{judges}]"))
    with pytest.raises(UserError, match=message):
        Plan(load(tmp_path)).judge_of(Run("vinoground", "cot.judged", "fps1", "toy-llava-ov"))

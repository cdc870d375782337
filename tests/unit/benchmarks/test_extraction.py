"""A judge that says which option an answer comes to: Vinoground's chain of thought, by the paper's appendix F."""

from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.asking import answers_as_given
from reprise.benchmarks.vinoground.scores import METRICS
from reprise.core.schemas import RESPONSES
from reprise.models.base import Clip
from reprise.models.local.stand_ins.lastletter import LastLetter
from reprise.stages.judge_requests import given_answers, judge_requests
from reprise.stages.judgements import judgements

from tests.unit.asked import request, spec
from tests.unit.benchmarks.test_vinoground import items_of, vinoground
from tests.unit.rows import Row, request_table, response_row, response_table


def asked(items: pl.DataFrame, texts: dict[str, str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Answers and the judge's requests where these questions were answered so, and all others by the right letter."""

    def say(row: Row) -> Row:
        text = texts.get(row["item_id"], f"Step by step, it is {row['expected']}")
        return {"error": "timeout", "key": "run"} if text == "failed" else {"text": text, "key": "run"}

    requests = request_table(vinoground.requests(items, "questions", "cot"), "write", 1024)
    answers = given_answers(answers_as_given, items, requests, response_table(requests, say), "run")
    return answers, judge_requests(answers, items, vinoground.prompts["extract"], 64)


def test_scores_of_extracted_letters_by_hand(tmp_path: Path) -> None:
    """Six pairs: a failed answer, a judgement that fails, one that says nothing, a wrong letter; two pairs all right."""
    items = items_of(tmp_path, 6)
    last = dict(items.select("item_id", "answer").iter_rows())["3_pos/video"]
    wrong = f"{last}? no: {'AB'[last == 'A']}"
    texts = {"0_pos/text": "failed", "2_neg/text": "I see no letter here.", "3_pos/video": wrong}
    answers, requests = asked(items, texts)
    assert requests.height == answers.height - 2, "a failed answer is not put to the judge, for neither reader"
    judge, replies = LastLetter(spec()), []
    for row in requests.iter_rows(named=True):
        question = request(row["prompt"], "write", ("A", "B"), max_tokens=64)
        (answer,) = judge.answers(Clip("", None, (), ()), [question])
        known = {"error": "rate_limited"} if row["item_id"] == "1_pos/text" else {"text": answer.text}
        replies.append(response_row(row["request_id"], key="j", **known))
    read = judgements(answers, pl.DataFrame(replies, schema=RESPONSES), "robust", "last-letter")
    assert (read["failed"].sum(), read["unparsed"].sum(), read["right"].sum()) == (1, 2, 20)
    assert read["score"].is_null().all()
    found = {name: vinoground.numbers("questions", items, read)[name, "all"] for name in METRICS}
    counts = {name: (one.asked, one.scored, one.failed, one.unparsed) for name, one in found.items()}
    assert counts == {"text": (6, 3, 1, 2), "video": (6, 6, 0, 0), "group": (6, 3, 1, 2)}
    assert [found[name].value for name in METRICS] == pytest.approx([50, 100 * 5 / 6, 100 / 3])

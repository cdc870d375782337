"""Stage `judge_requests`: the answers of a run, one an item, and what a judge is asked about each of them.

A judge is a model run over these requests: same adapters, journal, keys and budget as any other.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reprise.benchmarks.answering import FreeAnswers
from reprise.benchmarks.asking import Question, request_row
from reprise.benchmarks.prompts import Prompt
from reprise.benchmarks.registry import load_answers
from reprise.benchmarks.rows import items_of
from reprise.core.errors import run_command
from reprise.core.log import log
from reprise.core.schemas import ANSWERS, ITEMS, REQUESTS, RESPONSES, check_key, read_table, table_of, write_table
from reprise.reading.ratings import RATINGS, SCALES
from reprise.reading.readers import READERS
from reprise.stages.arguments import arguments
from reprise.stages.key_views import JudgeRequestsView, RunView, read_view


def main() -> None:
    args = arguments(
        "Derive a judge's requests from a run's answers.",
        key=Path, run_key=Path, items=Path, requests=Path, responses=Path, answers=Path, out=Path,
    )  # fmt: skip
    key, run_key = read_view(args.key, JudgeRequestsView), read_view(args.run_key, RunView).key
    responses = read_table(args.responses, RESPONSES)
    check_key(responses, run_key, args.responses)
    items = read_table(args.items, ITEMS)
    asked = read_table(args.requests, REQUESTS, without=("system", "prompt"))
    find = load_answers(key.benchmark)[key.form]
    answers = given_answers(find, items, asked, responses, run_key, SCALES[key.rated_to])
    write_table(answers, args.answers, ANSWERS, args.made_under)
    requests = judge_requests(answers, items, Prompt(**key.prompt), key.max_tokens)
    write_table(requests, args.out, REQUESTS, args.made_under)
    log.info(f"{requests.height} requests about {answers.height} answers of both readers")


def given_answers(
    find: FreeAnswers,
    items: pl.DataFrame,
    requests: pl.DataFrame,
    responses: pl.DataFrame,
    key: str,
    scale: Sequence[str] = RATINGS,
) -> pl.DataFrame:
    """What was answered to each item, as each reader takes it from the model's reply."""
    joined = responses.join(
        requests.select("request_id", "clip_id"), on="request_id", how="left", maintain_order="left"
    )
    questions = {(row["item_id"], row["role"]): row for row in requests.iter_rows(named=True)}
    rows: list[dict[str, Any]] = []
    for reader in READERS:
        for answer in find(items, joined, reader):
            known = {"request_id": f"{answer.item_id}#{reader}", "reader": reader, "key": key}
            rows.append(answer._asdict() | known | replies_to(questions.get((answer.item_id, answer.role)), scale))
    return table_of(rows, ANSWERS)


def replies_to(question: Mapping[str, Any] | None, scale: Sequence[str]) -> dict[str, Any]:
    """What a judge may reply: which option was chosen, or, where a question has none, how good the answer is."""
    if question is not None and question["options"]:
        return {"replies": question["options"], "expected": question["expected"]}
    return {"replies": list(scale), "expected": scale[-1]}


def judge_requests(answers: pl.DataFrame, items: pl.DataFrame, prompt: Prompt, max_tokens: int) -> pl.DataFrame:
    """One request per answer; what failed or could not be read is not put to the judge."""
    by_id = {item.item_id: item for item in items_of(items)}
    rows: list[dict[str, Any]] = []
    for answer in answers.filter(pl.col("error") == "").iter_rows(named=True):
        item = by_id[answer["item_id"]]
        values = {**item.texts, "reference": item.answer, "candidate": answer["text"]}
        question = Question(answer["role"], values, answer["replies"])
        rows.append(request_row(answer["request_id"], item, question, prompt, "write", max_tokens))
    return table_of(rows, REQUESTS)


if __name__ == "__main__":
    run_command(main)

"""Stage `judge_requests`: the answers of a run, one an item, and what a judge is asked about each of them.

A judge is a model run over these requests: same adapters, journal, keys and budget as any other.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from reprise.benchmarks.contract import FreeAnswers
from reprise.benchmarks.keys import JudgeRequestsKey
from reprise.benchmarks.prompts import Prompt, fill
from reprise.benchmarks.registry import load_answers
from reprise.core.errors import UserError, run_command
from reprise.core.keyfile import read_key
from reprise.core.log import log
from reprise.core.schemas import ANSWERS, ITEMS, REQUESTS, RESPONSES, check_key, read_table, table_of, write_table
from reprise.models.keys import RunKey
from reprise.reading.ratings import RATINGS
from reprise.reading.readers import READERS
from reprise.stages.arguments import arguments


def main() -> None:
    args = arguments(
        "Derive a judge's requests from a run's answers.",
        key=Path, run_key=Path, items=Path, requests=Path, responses=Path, answers=Path, out=Path,
    )  # fmt: skip
    key, run_key = read_key(args.key, JudgeRequestsKey), read_key(args.run_key, RunKey).key
    responses = read_table(args.responses, RESPONSES)
    check_key(responses, run_key, args.responses)
    items = read_table(args.items, ITEMS)
    asked = read_table(args.requests, REQUESTS, without=("system", "prompt"))
    free = load_answers(key.benchmark)
    if free is None:
        raise UserError(f"{key.benchmark}: a protocol names a judge, but the benchmark has no answers.py.")
    answers = given_answers(free, key.form, items, asked, responses, run_key)
    write_table(answers, args.answers, ANSWERS)
    requests = judge_requests(answers, items, key.prompt, key.max_tokens)
    write_table(requests, args.out, REQUESTS)
    log.info(f"{requests.height} requests about {answers.height} answers of both readers")


def given_answers(
    benchmark: FreeAnswers, form: str, items: pl.DataFrame, requests: pl.DataFrame, responses: pl.DataFrame, key: str
) -> pl.DataFrame:
    """What was answered to each item, as each reader takes it out of what the model said."""
    joined = responses.join(
        requests.select("request_id", "clip_id"), on="request_id", how="left", maintain_order="left"
    )
    questions = {(row["item_id"], row["role"]): row for row in requests.iter_rows(named=True)}
    rows: list[dict[str, Any]] = []
    for reader in READERS:
        for answer in benchmark.answers(form, items, joined, reader):
            known = {"request_id": f"{answer['item_id']}#{reader}", "reader": reader, "key": key}
            rows.append(answer | known | replies_to(questions.get((answer["item_id"], answer["role"]))))
    return table_of(rows, ANSWERS)


def replies_to(question: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a judge may reply: which option was chosen, or, where a question has none, how good the answer is."""
    if question is not None and question["options"]:
        return {"replies": question["options"], "expected": question["expected"]}
    return {"replies": list(RATINGS), "expected": RATINGS[-1]}


def judge_requests(answers: pl.DataFrame, items: pl.DataFrame, prompt: Prompt, max_tokens: int) -> pl.DataFrame:
    """One request an answer that is there; what failed or could not be read is not put to the judge."""
    by_id = {item["item_id"]: item for item in items.iter_rows(named=True)}
    rows: list[dict[str, Any]] = []
    for answer in answers.filter(pl.col("error") == "").iter_rows(named=True):
        item = by_id[answer["item_id"]]
        values = {text["name"]: text["text"] for text in item["texts"]}
        values |= {"reference": item["answer"], "candidate": answer["text"]}
        rows.append(
            {
                "request_id": answer["request_id"],
                "item_id": answer["item_id"],
                "clip_id": item["clip_id"],
                "role": answer["role"],
                "ask": "write",
                "system": fill(prompt.system, values),
                "prompt": fill(prompt.user, values),
                "options": answer["replies"],
                "option_texts": [],
                "expected": "",
                "max_tokens": max_tokens,
            }
        )
    return table_of(rows, REQUESTS)


if __name__ == "__main__":
    run_command(main)

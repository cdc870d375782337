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
from reprise.core.files import read_json
from reprise.core.log import log
from reprise.core.schemas import ANSWERS, ITEMS, REQUESTS, RESPONSES, check_key, read_table, table_of, write_table
from reprise.reading.ratings import RATINGS, SCALES
from reprise.reading.readers import READERS
from reprise.reading.table import Row, own_row
from reprise.stages.arguments import arguments
from reprise.stages.key_views import JudgeRequestsView, RunView, read_view
from reprise.stages.verdicts import verdicts

UNREAD = "unread"  # what the table could not read


def main() -> None:
    args = arguments(
        "Derive a judge's requests from a run's answers.",
        key=Path, run_key=Path, items=Path, requests=Path, responses=Path, answers=Path, out=Path,
    )  # fmt: skip
    key, run_key = read_view(args.key, JudgeRequestsView), read_view(args.run_key, RunView).key
    responses = read_table(args.responses, RESPONSES)
    check_key(responses, run_key, args.responses)
    items = read_table(args.items, ITEMS)
    prompt = Prompt(**key.prompt)
    if key.unread_only:
        asked = read_table(args.requests, REQUESTS, without=("system",))
        of_model = read_json(args.run_key).get("patterns", [])
        own = [own_row(**one) for one in (*key.patterns, *of_model)]
        answers = read_answers(asked, responses, run_key, key.reading, own)
        requests = requests_about_unread(answers, asked, items, prompt, key.max_tokens)
    else:
        asked = read_table(args.requests, REQUESTS, without=("system", "prompt"))
        find = load_answers(key.benchmark)[key.form]
        answers = given_answers(find, items, asked, responses, run_key, SCALES[key.rated_to])
        requests = judge_requests(answers, items, prompt, key.max_tokens)
    write_table(answers, args.answers, ANSWERS, args.made_under)
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
            known = {
                "request_id": f"{answer.item_id}#{reader}",
                "reader": reader,
                "key": key,
                "value": "",
                "read_by": "",
            }
            rows.append(answer._asdict() | known | replies_to(questions.get((answer.item_id, answer.role)), scale))
    return table_of(rows, ANSWERS)


def read_answers(
    requests: pl.DataFrame, responses: pl.DataFrame, key: str, reading: str, own: Sequence[Row]
) -> pl.DataFrame:
    """What each reader reads in the answers; only what `robust` leaves unread is put to a model."""
    rows: list[dict[str, Any]] = []
    for reader in READERS:
        read = verdicts(requests, responses, reader, reading, own)
        asked = requests.select("request_id", "options", "expected")
        joined = read.join(responses.select("request_id", "text", "error"), on="request_id", maintain_order="left")
        for row in joined.join(asked, on="request_id", maintain_order="left").iter_rows(named=True):
            rows.append(
                {name: row[name] for name in ("item_id", "role", "text", "value", "expected", "key")}
                | {"read_by": row["read_by"] or UNREAD}
                | {
                    "request_id": f"{row['item_id']}.{row['role']}#{reader}",
                    "reader": reader,
                    "replies": row["options"],
                }
                | {"error": row["error"] if row["failed"] else ""}
            )
    return table_of(rows, ANSWERS)


def requests_about_unread(
    answers: pl.DataFrame, asked: pl.DataFrame, items: pl.DataFrame, prompt: Prompt, max_tokens: int
) -> pl.DataFrame:
    """One request per answer that `robust` could not read; the prompt knows question, options and answer."""
    by_id = {item.item_id: item for item in items_of(items)}
    questions = {(row["item_id"], row["role"]): row for row in asked.iter_rows(named=True)}
    unread = answers.filter((pl.col("reader") == "robust") & (pl.col("error") == "") & (pl.col("value") == ""))
    rows: list[dict[str, Any]] = []
    for answer in unread.filter(pl.col("text").str.strip_chars() != "").iter_rows(named=True):
        item, question = by_id[answer["item_id"]], questions[answer["item_id"], answer["role"]]
        texts = question["option_texts"] or [""] * len(question["options"])
        named = zip(question["options"], texts, strict=True)
        listed = "\n".join(f"{one}: {text}".removesuffix(": ") for one, text in named)
        values = {**item.texts, "candidate": answer["text"], "question": question["prompt"], "options": listed}
        about = Question(answer["role"], values, answer["replies"])
        rows.append(request_row(answer["request_id"], item, about, prompt, "write", max_tokens))
    return table_of(rows, REQUESTS)


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

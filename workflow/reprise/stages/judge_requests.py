"""Stage `judge_requests`: the answers of a run, one an item, and what a judge is asked about each of them.

A judge is a model run over these requests: same adapters, journal, keys and budget as any other.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reprise.benchmarks.asking import FreeAnswers, Question, request_row
from reprise.benchmarks.keys import JudgeRequestsKey
from reprise.benchmarks.prompts import Prompt
from reprise.benchmarks.registry import load_answers
from reprise.benchmarks.rows import items_of
from reprise.core.log import log
from reprise.core.schemas import ANSWERS, ITEMS, REQUESTS, RESPONSES, read_of_key, read_table, table_of, write_table
from reprise.models.keys import RunKey
from reprise.reading.readers import RATINGS, READERS, SCALES
from reprise.reading.table import Row, own_row
from reprise.stages.command import In, Out
from reprise.stages.verdicts import verdicts

UNREAD = "unread"  # what the table could not read


def main(
    settings: JudgeRequestsKey,
    run_settings: RunKey,
    item_table: In[Path],
    requests: In[Path],
    responses: In[Path],
    answers: Out[Path],
    asked: Out[Path],
) -> None:
    given = read_of_key(responses, RESPONSES, run_settings.key)
    items = read_table(item_table, ITEMS)
    prompt = settings.prompt
    if settings.unread_only:
        questions = read_table(requests, REQUESTS, without=("system",))
        own = [own_row(**row.model_dump()) for row in (*settings.patterns, *run_settings.patterns)]
        found = read_answers(questions, given, run_settings.key, settings.reading, own)
        about = requests_about_unread(found, questions, items, prompt, settings.max_tokens)
    else:
        questions = read_table(requests, REQUESTS, without=("system", "prompt"))
        find = load_answers(settings.benchmark)[settings.form]
        found = given_answers(find, items, questions, given, run_settings.key, SCALES[settings.rated_to])
        about = judge_requests(found, items, prompt, settings.max_tokens)
    write_table(found, answers, ANSWERS)
    write_table(about, asked, REQUESTS)
    log.info(f"{about.height} requests about {found.height} answers of both readers")


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
    # Which option was chosen or, where a question has none, how good the answer is.
    chosen = {
        (row["item_id"], row["role"]): {"replies": row["options"], "expected": row["expected"]}
        for row in requests.iter_rows(named=True)
        if row["options"]
    }
    rating = {"replies": list(scale), "expected": scale[-1]}
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
            rows.append(answer._asdict() | known | chosen.get((answer.item_id, answer.role), rating))
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
    questions = {(row["item_id"], row["role"]): row for row in asked.iter_rows(named=True)}

    def texts(answer: Mapping[str, Any]) -> dict[str, str]:
        question = questions[answer["item_id"], answer["role"]]
        named = zip(question["options"], question["option_texts"] or [""] * len(question["options"]), strict=True)
        listed = "\n".join(f"{one}: {text}".removesuffix(": ") for one, text in named)
        return {"question": question["prompt"], "options": listed}

    unread = answers.filter((pl.col("reader") == "robust") & (pl.col("value") == ""))
    return judge_requests(unread.filter(pl.col("text").str.strip_chars() != ""), items, prompt, max_tokens, texts)


def judge_requests(
    answers: pl.DataFrame,
    items: pl.DataFrame,
    prompt: Prompt,
    max_tokens: int,
    texts: Callable[[Mapping[str, Any]], dict[str, str]] = lambda answer: {},
) -> pl.DataFrame:
    """One request per answer, with texts of its own beside those of its item; what failed is not put to the judge."""
    by_id = {item.item_id: item for item in items_of(items)}
    rows: list[dict[str, Any]] = []
    for answer in answers.filter(pl.col("error") == "").iter_rows(named=True):
        item = by_id[answer["item_id"]]
        values = {**item.texts, "reference": item.answer, "candidate": answer["text"], **texts(answer)}
        question = Question(answer["role"], values, answer["replies"])
        rows.append(request_row(answer["request_id"], item, question, prompt, "write", max_tokens))
    return table_of(rows, REQUESTS)

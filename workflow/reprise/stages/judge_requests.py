"""Stage `judge_requests`: extract one answer per item of a run, and write a judge's request about each.

A judge is a model run over these requests: it uses the same adapters, response cache, keys and budget as any other.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reprise.benchmarks.annotations import to_items
from reprise.benchmarks.keys import JudgeRequestsKey
from reprise.benchmarks.prompts import Prompt
from reprise.benchmarks.question_forms import AnswerSelector, Question, build_request_row
from reprise.benchmarks.registry import load_answers
from reprise.core.log import log
from reprise.core.schemas import (
    ANSWERS,
    ITEMS,
    REQUESTS,
    RESPONSES,
    build_table,
    read_table,
    read_table_of_key,
    write_table,
)
from reprise.extraction.extractors import DEFAULT_SCALE, EXTRACTORS, SCALES
from reprise.extraction.rules import Rule, custom_rule
from reprise.models.keys import RunKey
from reprise.stages.command import In, Out
from reprise.stages.verdicts import extract_verdicts

UNPARSED = "unparsed"  # No extraction rule matched.


def main(
    settings: JudgeRequestsKey,
    run_settings: RunKey,
    item_table: In[Path],
    requests: In[Path],
    responses: In[Path],
    answers: Out[Path],
    judge_requests: Out[Path],
) -> None:
    response_table = read_table_of_key(responses, RESPONSES, run_settings.key)
    items = read_table(item_table, ITEMS)
    prompt = settings.prompt
    if settings.is_unparsed_only:
        questions = read_table(requests, REQUESTS, without=("system",))
        extra_rules = [custom_rule(**row.model_dump()) for row in (*settings.patterns, *run_settings.patterns)]
        extracted = extract_answers(questions, response_table, run_settings.key, settings.extraction, extra_rules)
        judge_request_table = build_unparsed_requests(extracted, questions, items, prompt, settings.max_tokens)
    else:
        questions = read_table(requests, REQUESTS, without=("system", "prompt"))
        find_answers = load_answers(settings.benchmark)[settings.form]
        extracted = collect_answers(
            find_answers, items, questions, response_table, run_settings.key, SCALES[settings.rated_to]
        )
        judge_request_table = build_judge_requests(extracted, items, prompt, settings.max_tokens)
    write_table(extracted, answers, ANSWERS)
    write_table(judge_request_table, judge_requests, REQUESTS)
    log.info(f"{judge_request_table.height} requests about {extracted.height} answers of both extractors")


def collect_answers(
    find_answers: AnswerSelector,
    items: pl.DataFrame,
    requests: pl.DataFrame,
    responses: pl.DataFrame,
    key: str,
    scale: Sequence[str] = DEFAULT_SCALE,
) -> pl.DataFrame:
    """Return the answer to each item, as each extractor extracts it from the model's reply."""
    joined = responses.join(
        requests.select("request_id", "clip_id"), on="request_id", how="left", maintain_order="left"
    )
    # A judge names the chosen option or, if a question has no options, rates the answer.
    options_by_request = {
        (row["item_id"], row["role"]): {"replies": row["options"], "expected": row["expected"]}
        for row in requests.iter_rows(named=True)
        if row["options"]
    }
    rating = {"replies": list(scale), "expected": scale[-1]}
    rows: list[dict[str, Any]] = []
    for extractor in EXTRACTORS:
        for answer in find_answers(items, joined, extractor):
            fields = {
                "request_id": f"{answer.item_id}#{extractor}",
                "extractor": extractor,
                "key": key,
                "value": "",
                "extracted_by": "",
            }
            rows.append(answer._asdict() | fields | options_by_request.get((answer.item_id, answer.role), rating))
    return build_table(rows, ANSWERS)


def extract_answers(
    requests: pl.DataFrame, responses: pl.DataFrame, key: str, extraction_mode: str, extra_rules: Sequence[Rule]
) -> pl.DataFrame:
    """Return each extractor's extraction from the answers; a judge gets only those that `robust` cannot parse."""
    rows: list[dict[str, Any]] = []
    for extractor in EXTRACTORS:
        extracted = extract_verdicts(requests, responses, extractor, extraction_mode, extra_rules)
        questions = requests.select("request_id", "options", "expected")
        joined = extracted.join(responses.select("request_id", "text", "error"), on="request_id", maintain_order="left")
        for row in joined.join(questions, on="request_id", maintain_order="left").iter_rows(named=True):
            rows.append(
                {name: row[name] for name in ("item_id", "role", "text", "value", "expected", "key")}
                | {"extracted_by": row["extracted_by"] or UNPARSED}
                | {
                    "request_id": f"{row['item_id']}.{row['role']}#{extractor}",
                    "extractor": extractor,
                    "replies": row["options"],
                }
                | {"error": row["error"] if row["failed"] else ""}
            )
    return build_table(rows, ANSWERS)


def build_unparsed_requests(
    answers: pl.DataFrame, requests: pl.DataFrame, items: pl.DataFrame, prompt: Prompt, max_tokens: int
) -> pl.DataFrame:
    """Return one request per answer that `robust` cannot parse; its prompt has question, options and answer."""
    questions = {(row["item_id"], row["role"]): row for row in requests.iter_rows(named=True)}

    def texts(answer: Mapping[str, Any]) -> dict[str, str]:
        question = questions[answer["item_id"], answer["role"]]
        labelled = zip(question["options"], question["option_texts"] or [""] * len(question["options"]), strict=True)
        option_lines = "\n".join(f"{option}: {text}".removesuffix(": ") for option, text in labelled)
        return {"question": question["prompt"], "options": option_lines}

    unparsed = answers.filter((pl.col("extractor") == "robust") & (pl.col("value") == ""))
    return build_judge_requests(
        unparsed.filter(pl.col("text").str.strip_chars() != ""), items, prompt, max_tokens, texts
    )


def build_judge_requests(
    answers: pl.DataFrame,
    items: pl.DataFrame,
    prompt: Prompt,
    max_tokens: int,
    texts: Callable[[Mapping[str, Any]], dict[str, str]] = lambda answer: {},
) -> pl.DataFrame:
    """Return one request per answer that did not fail, with its own texts beside those of its item."""
    by_id = {item.item_id: item for item in to_items(items)}
    rows: list[dict[str, Any]] = []
    for answer in answers.filter(pl.col("error") == "").iter_rows(named=True):
        item = by_id[answer["item_id"]]
        values = {**item.texts, "reference": item.answer, "candidate": answer["text"], **texts(answer)}
        question = Question(answer["role"], values, answer["replies"])
        rows.append(build_request_row(answer["request_id"], item, question, prompt, "write", max_tokens))
    return build_table(rows, REQUESTS)

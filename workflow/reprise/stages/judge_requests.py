"""Stage `judge_requests`: collect the answers of a run, and write one request to a judge about each answer.

A judge is a model: it uses the same adapters, response cache, settings and budget as any other run.
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
    read_table_with_key,
    write_table,
)
from reprise.extraction.extractors import DEFAULT_SCALE, EXTRACTORS, SCALE_BY_MAX_RATING
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
    response_table = read_table_with_key(responses, RESPONSES, run_settings.key)
    items = read_table(item_table, ITEMS)
    prompt = settings.prompt
    if settings.is_unparsed_only:
        questions = read_table(requests, REQUESTS, skipped_columns=("system",))
        extra_rules = [custom_rule(**row.model_dump()) for row in (*settings.patterns, *run_settings.patterns)]
        extracted_answers = extract_answers(
            questions, response_table, run_settings.key, settings.extraction, extra_rules
        )
        judge_request_table = build_unparsed_requests(extracted_answers, questions, items, prompt, settings.max_tokens)
    else:
        questions = read_table(requests, REQUESTS, skipped_columns=("system", "prompt"))
        select_answers = load_answers(settings.benchmark)[settings.form]
        extracted_answers = collect_answers(
            select_answers, items, questions, response_table, run_settings.key, SCALE_BY_MAX_RATING[settings.max_rating]
        )
        judge_request_table = build_judge_requests(extracted_answers, items, prompt, settings.max_tokens)
    write_table(extracted_answers, answers, ANSWERS)
    write_table(judge_request_table, judge_requests, REQUESTS)
    log.info(f"{judge_request_table.height} requests about {extracted_answers.height} answers of both extractors")


def collect_answers(
    select_answers: AnswerSelector,
    items: pl.DataFrame,
    requests: pl.DataFrame,
    responses: pl.DataFrame,
    key: str,
    scale: Sequence[str] = DEFAULT_SCALE,
) -> pl.DataFrame:
    """Return one answer per item and extractor, from the model's responses."""
    responses_with_clips = responses.join(
        requests.select("request_id", "clip_id"), on="request_id", how="left", maintain_order="left"
    )
    # A judge replies with the chosen option or, if a question has no options, with a rating.
    options_by_request = {
        (row["item_id"], row["role"]): {"replies": row["options"], "expected": row["expected"]}
        for row in requests.iter_rows(named=True)
        if row["options"]
    }
    rating_columns = {"replies": list(scale), "expected": scale[-1]}
    rows: list[dict[str, Any]] = []
    for extractor in EXTRACTORS:
        for answer in select_answers(items, responses_with_clips, extractor):
            added_columns = {
                "request_id": f"{answer.item_id}#{extractor}",
                "extractor": extractor,
                "key": key,
                "value": "",
                "extracted_by": "",
            }
            reply_columns = options_by_request.get((answer.item_id, answer.role), rating_columns)
            rows.append(answer._asdict() | added_columns | reply_columns)
    return build_table(rows, ANSWERS)


def extract_answers(
    requests: pl.DataFrame, responses: pl.DataFrame, key: str, extraction_method: str, extra_rules: Sequence[Rule]
) -> pl.DataFrame:
    """Return the answers with the option that each extractor extracts."""
    rows: list[dict[str, Any]] = []
    for extractor in EXTRACTORS:
        verdicts = extract_verdicts(requests, responses, extractor, extraction_method, extra_rules)
        question_columns = requests.select("request_id", "options", "expected")
        joined = verdicts.join(responses.select("request_id", "text", "error"), on="request_id", maintain_order="left")
        for row in joined.join(question_columns, on="request_id", maintain_order="left").iter_rows(named=True):
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
    """Return one request per answer that `robust` cannot parse, with the question, the options and the answer."""
    request_by_question = {(row["item_id"], row["role"]): row for row in requests.iter_rows(named=True)}

    def build_question_texts(answer: Mapping[str, Any]) -> dict[str, str]:
        request = request_by_question[answer["item_id"], answer["role"]]
        labelled_options = zip(
            request["options"], request["option_texts"] or [""] * len(request["options"]), strict=True
        )
        option_lines = "\n".join(f"{option}: {text}".removesuffix(": ") for option, text in labelled_options)
        return {"question": request["prompt"], "options": option_lines}

    unparsed = answers.filter((pl.col("extractor") == "robust") & (pl.col("value") == ""))
    return build_judge_requests(
        unparsed.filter(pl.col("text").str.strip_chars() != ""), items, prompt, max_tokens, build_question_texts
    )


def build_judge_requests(
    answers: pl.DataFrame,
    items: pl.DataFrame,
    prompt: Prompt,
    max_tokens: int,
    build_extra_texts: Callable[[Mapping[str, Any]], dict[str, str]] = lambda answer: {},
) -> pl.DataFrame:
    """Return one request per answer that did not fail; its prompt gets the item's texts and the extra texts."""
    item_by_id = {item.item_id: item for item in to_items(items)}
    rows: list[dict[str, Any]] = []
    for answer in answers.filter(pl.col("error") == "").iter_rows(named=True):
        item = item_by_id[answer["item_id"]]
        values = {**item.texts, "reference": item.answer, "candidate": answer["text"], **build_extra_texts(answer)}
        question = Question(answer["role"], values, answer["replies"])
        rows.append(build_request_row(answer["request_id"], item, question, prompt, "write", max_tokens))
    return build_table(rows, REQUESTS)

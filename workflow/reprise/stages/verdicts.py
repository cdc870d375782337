"""Stage `verdicts`: extract an option from every response with each extractor, and compare it with the expected one."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from reprise.core.log import log
from reprise.core.schemas import REQUESTS, RESPONSES, VERDICTS, read_table, read_table_with_key, write_table
from reprise.core.store import Store
from reprise.extraction.extractors import (
    ACCEPTED_ERROR_BY_EXTRACTOR,
    EXTRACTORS,
    TIE_VALUE_BY_EXTRACTOR,
    extract_answer,
)
from reprise.extraction.keys import VerdictsKey
from reprise.extraction.rules import Rule, custom_rule
from reprise.models.keys import RunKey
from reprise.models.local.embeddings import compute_similarities
from reprise.stages.command import In, Out, Site


def main(
    settings: VerdictsKey,
    run_settings: RunKey,
    requests: In[Path],
    responses: In[Path],
    store: Site[Store],
    authors: Out[Path],
    robust: Out[Path],
) -> None:
    answers = read_table_with_key(responses, RESPONSES, run_settings.key)
    request_table = read_table(requests, REQUESTS, skipped_columns=("system", "prompt"))
    extra_rules = [custom_rule(**row.model_dump()) for row in (*settings.patterns, *run_settings.patterns)]
    values_by_extractor: dict[str, pl.Series] = {}
    for extractor in EXTRACTORS:
        frame = extract_verdicts(request_table, answers, extractor, settings.extraction, extra_rules)
        values_by_extractor[extractor] = frame["value"]
        if settings.embedder is not None:
            frame = add_similarity(frame, request_table, settings.embedder, store)
        write_table(frame, {"authors": authors, "robust": robust}[extractor], VERDICTS)
        log.info(
            f"{extractor}: {frame.height} answers, {frame['unparsed'].sum()} unparsed, {frame['failed'].sum()} failed"
        )
    log.info(
        f"the extractors differ on {(values_by_extractor['authors'] != values_by_extractor['robust']).sum()} answers"
    )


def extract_verdicts(
    requests: pl.DataFrame,
    responses: pl.DataFrame,
    extractor: str,
    extraction_method: str,
    extra_rules: Sequence[Rule] = (),
) -> pl.DataFrame:
    """Return one row per response: the option that the extractor extracts, and whether it is the expected one."""
    options_table = requests.select("request_id", "options", "option_texts", "expected")
    joined = responses.join(options_table, on="request_id", how="left", maintain_order="left")
    is_failed = ~pl.col("error").is_in(["", ACCEPTED_ERROR_BY_EXTRACTOR[extractor]])
    is_text = pl.col("scores").list.len() == 0
    rows = joined.with_row_index().filter(~is_failed & is_text).select("index", "text", "options", "option_texts")
    extractions = [
        extract_answer(text, options, option_texts, extractor, extraction_method, extra_rules)
        for _, text, options, option_texts in rows.iter_rows()
    ]
    # An extraction is the option and the name of the rule; other rows than the extracted ones stay empty.
    values, rule_names = (
        pl.repeat("", joined.height, eager=True).scatter(
            rows["index"], [extraction[part] for extraction in extractions]
        )
        for part in (0, 1)
    )
    # Choose the option with more than half of the sum of both scores. A tie or a NaN score is undecided. If there is a
    # single option, it is always chosen.
    first_option, second_option = (pl.col("options").list.get(position, null_on_oob=True) for position in (0, 1))
    is_first_chosen = (pl.col("options").list.len() == 1) | (first_option_share_expr() > 0.5)
    chosen_by_score = (
        pl.when(is_first_chosen)
        .then(first_option)
        .when(first_option_share_expr() < 0.5)
        .then(second_option)
        .otherwise(pl.lit(TIE_VALUE_BY_EXTRACTOR[extractor]))
    )
    value = pl.col("value")
    score_rule = pl.when(chosen_by_score != "").then(pl.lit("score")).otherwise(pl.lit(""))
    return joined.with_columns(
        value=pl.when(is_failed | is_text).then(values).otherwise(chosen_by_score),
        extracted_by=pl.when(is_failed | is_text).then(rule_names).otherwise(score_rule),
    ).select(
        "request_id",
        "item_id",
        "role",
        "value",
        "extracted_by",
        score=pl.when(~is_failed & ~is_text).then(first_option_share_expr()),
        right=((value != "") & (value == pl.col("expected"))).fill_null(False),
        unparsed=~is_failed & (value == ""),
        failed=is_failed,
        key="key",
    )


def first_option_share_expr() -> pl.Expr:
    """Return an expression for the first option's share of the sum of both options' scores (VELOCITI's equation 1).

    The share is null if the sum is 0 or NaN. A single option, such as `match` for a similarity, keeps its own score.
    """
    first, second = (pl.col("scores").list.get(position, null_on_oob=True) for position in (0, 1))
    is_alone = pl.col("options").list.len() == 1
    share = pl.when(is_alone).then(first).when(first + second > 0).then(first / (first + second))
    return share.fill_nan(None)  # polars compares NaN as the largest number.


def add_similarity(frame: pl.DataFrame, requests: pl.DataFrame, embedder: str, store: Store) -> pl.DataFrame:
    """Replace the verdicts' scores by the similarity of answer and reference text; null for a failed answer."""
    expected = requests.select("request_id", "expected")
    joined = frame.join(expected, on="request_id", how="left", maintain_order="left")
    answered_verdicts = joined.filter(~pl.col("failed"))
    values = compute_similarities(
        answered_verdicts["value"].to_list(), answered_verdicts["expected"].to_list(), embedder, store
    )
    scores = answered_verdicts.select("request_id", score=pl.Series(values, dtype=pl.Float64))
    return frame.drop("score").join(scores, on="request_id", how="left", maintain_order="left").select(list(VERDICTS))

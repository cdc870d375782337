"""Stage `verdicts`: extract an answer from every response with each extractor, and compare it with the expected one."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from reprise.core.log import log
from reprise.core.schemas import REQUESTS, RESPONSES, VERDICTS, read_table, read_table_of_key, write_table
from reprise.core.store import Store
from reprise.extraction.extractors import ACCEPTED_ERRORS, EXTRACTORS, TIE_VALUES, extract_answer
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
    answers = read_table_of_key(responses, RESPONSES, run_settings.key)
    request_table = read_table(requests, REQUESTS, without=("system", "prompt"))
    extra_rules = [custom_rule(**row.model_dump()) for row in (*settings.patterns, *run_settings.patterns)]
    extracted: dict[str, pl.Series] = {}
    for extractor in EXTRACTORS:
        frame = extract_verdicts(request_table, answers, extractor, settings.extraction, extra_rules)
        extracted[extractor] = frame["value"]
        if settings.embedder is not None:
            frame = add_similarity(frame, request_table, settings.embedder, store)
        write_table(frame, {"authors": authors, "robust": robust}[extractor], VERDICTS)
        log.info(
            f"{extractor}: {frame.height} answers, {frame['unparsed'].sum()} unparsed, {frame['failed'].sum()} failed"
        )
    log.info(f"the extractors differ on {(extracted['authors'] != extracted['robust']).sum()} answers")


def extract_verdicts(
    requests: pl.DataFrame,
    responses: pl.DataFrame,
    extractor: str,
    extraction_mode: str,
    extra_rules: Sequence[Rule] = (),
) -> pl.DataFrame:
    """Return one row per response: the option that the extractor extracts, and whether it is the expected one."""
    options_table = requests.select("request_id", "options", "option_texts", "expected")
    joined = responses.join(options_table, on="request_id", how="left", maintain_order="left")
    failed, is_text = ~pl.col("error").is_in(["", ACCEPTED_ERRORS[extractor]]), pl.col("scores").list.len() == 0
    rows = joined.with_row_index().filter(~failed & is_text).select("index", "text", "options", "option_texts")
    extractions = [
        extract_answer(text, options, option_texts, extractor, extraction_mode, extra_rules)
        for _, text, options, option_texts in rows.iter_rows()
    ]
    texts, rule_names = (
        pl.repeat("", joined.height, eager=True).scatter(
            rows["index"], [extraction[part] for extraction in extractions]
        )
        for part in (0, 1)
    )
    # Choose the option above one half. A tie or a score that is NaN is undecided; a single option is always chosen.
    first, second = (pl.col("options").list.get(position, null_on_oob=True) for position in (0, 1))
    is_first = (pl.col("options").list.len() == 1) | (first_option_share() > 0.5)
    chosen_by_score = (
        pl.when(is_first)
        .then(first)
        .when(first_option_share() < 0.5)
        .then(second)
        .otherwise(pl.lit(TIE_VALUES[extractor]))
    )
    value = pl.col("value")
    score_rule = pl.when(chosen_by_score != "").then(pl.lit("score")).otherwise(pl.lit(""))
    return joined.with_columns(
        value=pl.when(failed | is_text).then(texts).otherwise(chosen_by_score),
        extracted_by=pl.when(failed | is_text).then(rule_names).otherwise(score_rule),
    ).select(
        "request_id",
        "item_id",
        "role",
        "value",
        "extracted_by",
        score=pl.when(~failed & ~is_text).then(first_option_share()),
        right=((value != "") & (value == pl.col("expected"))).fill_null(False),
        unparsed=~failed & (value == ""),
        failed=failed,
        key="key",
    )


def first_option_share() -> pl.Expr:
    """Return the first option's share of the two options' mass (paper, eq. 1); null without mass or for NaN.

    A single option, such as a text and a clip that match, keeps its own score.
    """
    first, second = (pl.col("scores").list.get(position, null_on_oob=True) for position in (0, 1))
    is_alone = pl.col("options").list.len() == 1
    share = pl.when(is_alone).then(first).when(first + second > 0).then(first / (first + second))
    return share.fill_nan(None)  # polars would sort NaN as the largest number.


def add_similarity(frame: pl.DataFrame, requests: pl.DataFrame, embedder: str, store: Store) -> pl.DataFrame:
    """Return verdicts whose score is the similarity of answer and reference; null for a failed answer."""
    expected = requests.select("request_id", "expected")
    joined = frame.join(expected, on="request_id", how="left", maintain_order="left")
    valid = joined.filter(~pl.col("failed"))
    values = compute_similarities(valid["value"].to_list(), valid["expected"].to_list(), embedder, store)
    scores = valid.select("request_id", score=pl.Series(values, dtype=pl.Float64))
    return frame.drop("score").join(scores, on="request_id", how="left", maintain_order="left").select(list(VERDICTS))

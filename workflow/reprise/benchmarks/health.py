"""Compute health metrics of a run, which describe its answers regardless of correctness, and detect broken runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from reprise.core.notation import format_percentage
from reprise.models.inference.reasons import FAILURE_REASONS

# Names of metrics, as in the tables of results; some are shorter than the terms used here.
HEALTH_PREFIX = "health_"
OPTION, RIGHT_OPTION = f"{HEALTH_PREFIX}option", f"{HEALTH_PREFIX}right_option"
MOST_FREQUENT_TEXT, DEGENERATE, SPREAD = f"{HEALTH_PREFIX}alike", f"{HEALTH_PREFIX}degenerate", f"{HEALTH_PREFIX}spread"
OPTIONS_PROBABILITY = f"{HEALTH_PREFIX}share"
EXTRACTED_BY = f"{HEALTH_PREFIX}read_by"
UNPARSED, FAILED, TRUNCATED, CONTEXT_EXCEEDED = (
    f"{HEALTH_PREFIX}unparsed",
    f"{HEALTH_PREFIX}failed",
    f"{HEALTH_PREFIX}cut",
    f"{HEALTH_PREFIX}context",
)
# Groups of the health metrics: a model's answers, and a judge's replies to them.
ANSWERS, REPLIES = "answers", "replies"
GROUP_SEPARATOR = ": "  # between a group and its option

# A run looks broken beyond these thresholds. Shares are in percent.
MIN_ANSWERS = 20  # A run with fewer answers is not checked.
# Share of one option among the answers, and its excess over the share of questions where the option is right.
MAX_OPTION_SHARE, MIN_OPTION_EXCESS = 95.0, 20.0
MIN_SPREAD = 1e-6  # standard deviation of scores
MIN_OPTIONS_PROBABILITY = 50.0  # total probability of the options


class HealthLimit(NamedTuple):
    """The share of answers above which a run looks broken."""

    max_share: float
    reason: str
    """predicate of the sentence that reports the problem, such as `failed`; {note} is the metric row's note"""
    summary: str
    """label of the share in a run's summary"""


HEALTH_LIMITS = {
    UNPARSED: HealthLimit(20.0, "could not be parsed", "unparsed"),
    FAILED: HealthLimit(5.0, "failed", "failed"),
    TRUNCATED: HealthLimit(10.0, "reached the token limit", "truncated at the token limit"),
    CONTEXT_EXCEEDED: HealthLimit(1.0, "had a prompt longer than the context", "with a prompt longer than the context"),
    DEGENERATE: HealthLimit(5.0, "have no words or repeat themselves", "degenerate"),
    MOST_FREQUENT_TEXT: HealthLimit(50.0, 'are "{note}"', "with the most frequent text"),
}
"""metric -> limit of its share"""

MIN_REPEATS = 4  # repetitions of the only character or the only word of an answer
MIN_LOOP_WORDS = 20  # minimum number of words of a loop
MIN_LOOP_REPEATS = 5  # minimum number of occurrences of each word of a loop, on average
MAX_NOTE_CHARS = 30  # characters of the most frequent answer that a note quotes
# Error classes of responses: the token limit ended the answer within its chain of thought, or the prompt was too long.
STILL_THINKING, BEYOND_CONTEXT = "still_thinking", "beyond_context"
TEXT_ENCODER_TOKENS = 77  # context length of the text encoders of CLIP-like models, which truncate longer captions


def compute_health_metrics(
    requests: pl.DataFrame, responses: pl.DataFrame, verdicts: pl.DataFrame | None, group: str = ANSWERS
) -> Iterator[dict[str, Any]]:
    """Yield the health metrics of a run's answers, or of a judge's replies.

    Without verdicts, only metrics that need no extracted answer are computed.
    """
    answers = _join_answers(requests, responses, verdicts, group)
    successful_answers = answers.filter(~pl.col("failed"))
    nonempty_answers = successful_answers.filter(pl.col("text").str.strip_chars() != "")
    yield _share_row(FAILED, group, answers["failed"])
    # Models refuse a prompt beyond the context; CLIP-like models truncate the caption instead.
    is_caption_truncated = (pl.col("request_type") == "similarity") & (pl.col("tokens_in") >= TEXT_ENCODER_TOKENS)
    yield _share_row(
        CONTEXT_EXCEEDED,
        group,
        answers.select((pl.col("error") == BEYOND_CONTEXT) | is_caption_truncated.fill_null(False)).to_series(),
    )
    # A limit of one token truncates nothing. An answer with more tokens than `max_tokens` is not counted, because its
    # limit was another one, in the model's settings.
    is_thinking = pl.col("error") == STILL_THINKING
    token_limited_answers = answers.filter(is_thinking | ((pl.col("tokens_out") > 0) & (pl.col("max_tokens") > 1)))
    yield _share_row(
        TRUNCATED,
        group,
        token_limited_answers.select(is_thinking | (pl.col("tokens_out") == pl.col("max_tokens"))).to_series(),
    )
    yield _share_row(DEGENERATE, group, nonempty_answers.select(is_degenerate(pl.col("text"))).to_series())
    if group == ANSWERS:
        written_texts = nonempty_answers.filter(request_type="write")["text"].str.strip_chars()
        text_counts = written_texts.alias("text").value_counts().sort(["count", "text"], descending=[True, False])
        text, count = text_counts.row(0) if text_counts.height else ("", 0)
        note = text if len(text) <= MAX_NOTE_CHARS else f"{text[:MAX_NOTE_CHARS]}..."
        share = 100 * count / len(written_texts) if count else None
        yield _metric_row(MOST_FREQUENT_TEXT, group, share, len(written_texts), note if count else None)
    if verdicts is not None:
        yield _share_row(UNPARSED, group, answers["is_unparsed"])
        # The options' total share of the first token's probability.
        option_scores = successful_answers.filter(
            (pl.col("request_type") == "score") & (pl.col("scores").list.len() > 1)
        )["scores"]
        mean_total = option_scores.list.sum().mean()
        yield _metric_row(
            OPTIONS_PROBABILITY, group, 100 * mean_total if isinstance(mean_total, float) else None, len(option_scores)
        )
        scores = successful_answers.filter(pl.col("scores").list.len() > 0)["score"].drop_nulls()
        yield _metric_row(SPREAD, group, scores.std(), len(scores))
        yield from _option_rows(successful_answers.filter(pl.col("value") != ""), group)


def compute_extractor_shares(verdicts: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield, for each extraction rule or judge, the share of the answers from which it extracted an option."""
    successful_verdicts = verdicts.filter(~pl.col("failed"))
    extractor_counts = (
        successful_verdicts["extracted_by"]
        .replace("", "unparsed")
        .value_counts()
        .sort(["count", "extracted_by"], descending=[True, False])
    )
    for extractor, count in extractor_counts.iter_rows():
        yield _metric_row(
            EXTRACTED_BY,
            f"{ANSWERS}{GROUP_SEPARATOR}{extractor}",
            100 * count / successful_verdicts.height,
            successful_verdicts.height,
        )


def _join_answers(
    requests: pl.DataFrame, responses: pl.DataFrame, verdicts: pl.DataFrame | None, group: str
) -> pl.DataFrame:
    """Join each response with its request and with the answer extracted from it.

    With verdicts, replies without a verdict are dropped: `verdicts` are those of one extractor, and a judge may also
    reply to requests about the answers of the other extractor.
    """
    request_columns = requests.select("request_id", "request_type", "options", "expected", "max_tokens")
    joined = responses.join(request_columns, on="request_id", how="left", maintain_order="left")
    did_request_fail = pl.col("error").is_in(list(FAILURE_REASONS))
    if verdicts is None:
        return joined.with_columns(failed=did_request_fail)
    verdict_columns = verdicts.select("request_id", "value", "score", "unparsed", is_verdict_failed="failed")
    rows = joined.join(verdict_columns, on="request_id", how="inner", maintain_order="left")
    rows = rows.with_columns(failed=did_request_fail if group == REPLIES else pl.col("is_verdict_failed"))
    return rows.with_columns(is_unparsed=pl.col("unparsed") & ~pl.col("failed"))


def _metric_row(metric: str, group: str, value: Any, count: int, note: str | None = None) -> dict[str, Any]:
    """Return one row of the metrics table."""
    counts = {"requested": count, "scored": count} | dict.fromkeys(("failed", "unparsed", "missing"), 0)
    return {"metric": metric, "group": group, "value": value, "note": note, **counts}


def _share_row(metric: str, group: str, flags: pl.Series) -> dict[str, Any]:
    """Return a row with the percentage of true flags; its value is None if there are no flags."""
    return _metric_row(metric, group, 100 * int(flags.sum()) / len(flags) if len(flags) else None, len(flags))


def is_degenerate(text: pl.Expr) -> pl.Expr:
    """Return an expression that is true for texts without words, of one repeated character or word, or with a loop."""
    chars = text.str.replace_all(r"\s", "")
    words = text.str.to_lowercase().str.extract_all(r"[\p{L}\p{N}]+")
    word_count, distinct_count = words.list.len(), words.list.n_unique()
    is_one_char = (chars.str.len_chars() >= MIN_REPEATS) & (chars.str.strip_chars(chars.str.slice(0, 1)) == "")
    is_one_word = (word_count >= MIN_REPEATS) & (distinct_count == 1)
    is_loop = (word_count >= MIN_LOOP_WORDS) & (distinct_count * MIN_LOOP_REPEATS <= word_count)
    return (word_count == 0) | is_one_char | is_one_word | is_loop


def _option_rows(answers: pl.DataFrame, group: str) -> Iterator[dict[str, Any]]:
    """Yield, for each option, how often it was chosen and how often it is right among the questions that offer it.

    A judge's possible replies are unknown here, so each distinct reply counts as an option of every question.
    """
    if group == REPLIES:
        replies = answers["value"].unique().sort().to_list()
        answers = answers.with_columns(options=pl.lit(replies, pl.List(pl.String)), expected=pl.lit(""))
    min_options = 1 if group == REPLIES else 2  # A judge whose replies are all equal has a single option.
    option_answers = answers.filter(pl.col("options").list.len() >= min_options).select("options", "value", "expected")
    counts_by_option = option_answers.explode("options").group_by("options").agg(
        pl.len(), (pl.col("value") == pl.col("options")).sum().alias("chosen"),
        (pl.col("expected") == pl.col("options")).sum().alias("right"),
        (pl.col("expected") != "").sum().alias("with_expected"),
    )  # fmt: skip
    option_counts = counts_by_option.sort("options").iter_rows()
    for option, offered_count, chosen_count, right_count, expected_count in option_counts:
        option_group = f"{group}{GROUP_SEPARATOR}{option}"
        yield _metric_row(OPTION, option_group, 100 * chosen_count / offered_count, offered_count)
        if expected_count:
            yield _metric_row(RIGHT_OPTION, option_group, 100 * right_count / expected_count, expected_count)


# Interpretation of the health metrics


def find_problems(metric_rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the problems that a run's health metrics show; an empty list if the run looks healthy."""
    row_by_metric_and_group = {
        (row["metric"], row["group"]): row for row in metric_rows if row["metric"].startswith(HEALTH_PREFIX)
    }
    problems = [_describe_problem(row, row_by_metric_and_group) for row in row_by_metric_and_group.values()]
    return list(dict.fromkeys(filter(None, problems)))


def _describe_problem(
    row: Mapping[str, Any], row_by_metric_and_group: Mapping[tuple[str, str], Mapping[str, Any]]
) -> str:
    """Return the problem that a health metric shows, or an empty text if it looks healthy."""
    metric, value, count = row["metric"], row["value"], row["requested"]
    answer_kind, _, option = row["group"].partition(GROUP_SEPARATOR)
    has_all_failed = metric == FAILED and value == 100
    if value is None or (count < MIN_ANSWERS and not has_all_failed):
        return ""
    if metric == SPREAD:
        return f"its {count} scores are all equal" if value < MIN_SPREAD else ""
    if metric == OPTIONS_PROBABILITY:
        reason = (
            f"the options have only {format_percentage(value, 1)} of the probability of an answer's first token, "
            f"less than {MIN_OPTIONS_PROBABILITY:g} %"
        )
        return reason if value < MIN_OPTIONS_PROBABILITY else ""
    if metric == OPTION:  # Nearly all answers are one option although it is right much less often.
        right_share = row_by_metric_and_group.get((RIGHT_OPTION, row["group"]), {}).get("value")
        is_broken = value >= MAX_OPTION_SHARE and (right_share is None or value - right_share >= MIN_OPTION_EXCESS)
        right_note = f", which is right for {format_percentage(right_share, 1)}" if right_share is not None else ""
        return f'{format_percentage(value, 1)} of {count} {answer_kind} are "{option}"{right_note}' if is_broken else ""
    if metric in HEALTH_LIMITS and value > HEALTH_LIMITS[metric].max_share:
        reason = HEALTH_LIMITS[metric].reason.format(note=row["note"])
        return f"{format_percentage(value, 1)} of {count} {answer_kind} {reason}"
    return ""


def summarize_health(metric_rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a one-line summary of a run's health metrics."""
    option_shares = [
        f"{row['group'].partition(GROUP_SEPARATOR)[2]} {format_percentage(row['value'], 1)}"
        for row in metric_rows
        if row["metric"] == OPTION
    ]
    problem_shares = [
        f"{format_percentage(row['value'], 1)} {HEALTH_LIMITS[row['metric']].summary}"
        for row in metric_rows
        if row["metric"] in HEALTH_LIMITS and row["value"]
    ]
    score_spread = [
        f"scores spread by {row['value']:.3g}" for row in metric_rows if row["metric"] == SPREAD and row["value"]
    ]
    extractor_shares = [
        f"{row['group'].partition(GROUP_SEPARATOR)[2]} {format_percentage(row['value'], 1)}"
        for row in metric_rows
        if row["metric"] == EXTRACTED_BY
    ]
    sections = [
        ", ".join([*option_shares, *score_spread, *problem_shares]),
        f"extracted by: {', '.join(extractor_shares)}" if extractor_shares else "",
    ]
    return "; ".join(filter(None, sections))

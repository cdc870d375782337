"""The health of a run: what its answers look like, whether they are right or not, and when they look broken."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from reprise.models.asking.reasons import REASONS

PREFIX = "health_"
OPTION, RIGHT_OPTION = f"{PREFIX}option", f"{PREFIX}right_option"
ALIKE, DEGENERATE, SPREAD = f"{PREFIX}alike", f"{PREFIX}degenerate", f"{PREFIX}spread"
SHARE = f"{PREFIX}share"
READ_BY = f"{PREFIX}read_by"
UNREAD, FAILED, CUT, CONTEXT = f"{PREFIX}unread", f"{PREFIX}failed", f"{PREFIX}cut", f"{PREFIX}context"
ANSWERS, REPLIES = "answers", "replies"
BETWEEN = ": "  # a group and an option of it

# When a run looks broken. Shares are in percent.
FEWEST = 20  # of fewer answers no share is judged
OPTION_MOST, OPTION_EXCESS = 95.0, 20.0  # one option, and by how much more often than it is right
SPREAD_LEAST = 1e-6  # standard deviation of scores
SHARE_LEAST = 50.0  # of the probability, what the options hold together


class Limit(NamedTuple):
    """The share of answers above which a run looks broken, and what a reason and a summary say of them."""

    most: float
    reason: str
    summary: str


LIMITS = {
    UNREAD: Limit(20.0, "could not be read", "unread"),
    FAILED: Limit(5.0, "failed", "failed"),
    CUT: Limit(10.0, "reached the limit of tokens", "cut at the limit of tokens"),
    CONTEXT: Limit(1.0, "had a prompt longer than the context", "with too long a prompt"),
    DEGENERATE: Limit(5.0, "say nothing or repeat themselves", "saying nothing"),
    ALIKE: Limit(50.0, 'are "{note}"', "with the most frequent text"),
}

REPEATS = 4  # times that a sign or a word stands in an answer of nothing else
LOOP_WORDS, LOOP_TIMES = 20, 5  # an answer of so many words, each of which stands in it so many times on average
SHOWN_SIGNS = 30  # of the most frequent answer
STILL_THINKING, BEYOND_CONTEXT = "still_thinking", "beyond_context"
CAPTION_TOKENS = 77  # what the text side of CLIP and its relatives reads; they cut longer captions


def health(
    requests: pl.DataFrame, responses: pl.DataFrame, verdicts: pl.DataFrame | None, group: str = ANSWERS
) -> Iterator[dict[str, Any]]:
    """The numbers of a run's answers, or of a judge's replies; without verdicts, those that need none."""
    answers = _joined(requests, responses, verdicts, group)
    answered = answers.filter(~pl.col("failed"))
    texts = answered.filter(pl.col("text").str.strip_chars() != "")
    yield _share(FAILED, group, answers["failed"])
    # Refused, or cut as CLIP and its relatives cut captions.
    is_cut = (pl.col("ask") == "similarity") & (pl.col("tokens_in") >= CAPTION_TOKENS)
    yield _share(
        CONTEXT, group, answers.select((pl.col("error") == BEYOND_CONTEXT) | is_cut.fill_null(False)).to_series()
    )
    # A limit of one token cuts nothing, and a model that writes more than the limit has one of its own.
    is_thinking = pl.col("error") == STILL_THINKING
    counted = answers.filter(is_thinking | ((pl.col("tokens_out") > 0) & (pl.col("max_tokens") > 1)))
    yield _share(CUT, group, counted.select(is_thinking | (pl.col("tokens_out") == pl.col("max_tokens"))).to_series())
    yield _share(DEGENERATE, group, texts.select(is_degenerate(pl.col("text"))).to_series())
    if group == ANSWERS:
        own_words = texts.filter(ask="write")["text"].str.strip_chars()
        counts = own_words.alias("text").value_counts().sort(["count", "text"], descending=[True, False])
        text, count = counts.row(0) if counts.height else ("", 0)
        note = text if len(text) <= SHOWN_SIGNS else f"{text[:SHOWN_SIGNS]}..."
        share = 100 * count / len(own_words) if count else None
        yield _numbers(ALIKE, group, share, len(own_words), note if count else None)
    if verdicts is not None:
        yield _share(UNREAD, group, answers["unread"])
        # What the options hold together of the probability of an answer's first token.
        several = answered.filter((pl.col("ask") == "score") & (pl.col("scores").list.len() > 1))["scores"]
        held = several.list.sum().mean()
        yield _numbers(SHARE, group, 100 * held if isinstance(held, float) else None, len(several))
        scores = answered.filter(pl.col("scores").list.len() > 0)["score"].drop_nulls()
        yield _numbers(SPREAD, group, scores.std(), len(scores))
        yield from _options(answered.filter(pl.col("value") != ""), group)


def read_by(verdicts: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """By which row of the table, or by which model, how many percent of the answers were read."""
    answered = verdicts.filter(~pl.col("failed"))
    counts = (
        answered["read_by"].replace("", "unread").value_counts().sort(["count", "read_by"], descending=[True, False])
    )
    for name, count in counts.iter_rows():
        yield _numbers(READ_BY, f"{ANSWERS}{BETWEEN}{name}", 100 * count / answered.height, answered.height)


def _joined(requests: pl.DataFrame, responses: pl.DataFrame, verdicts: pl.DataFrame | None, group: str) -> pl.DataFrame:
    """A row per answer with what was asked and what the reader made of it.

    Of a judge's replies only those that the verdicts were read in: a judge is asked for every reader.
    """
    asked = requests.select("request_id", "ask", "options", "expected", "max_tokens")
    joined = responses.join(asked, on="request_id", how="left", maintain_order="left")
    did_fail = pl.col("error").is_in(list(REASONS))
    if verdicts is None:
        return joined.with_columns(failed=did_fail)
    read = verdicts.select("request_id", "value", "score", "unparsed", is_failed="failed")
    known = joined.join(read, on="request_id", how="inner", maintain_order="left")
    known = known.with_columns(failed=did_fail if group == REPLIES else pl.col("is_failed"))
    return known.with_columns(unread=pl.col("unparsed") & ~pl.col("failed"))


def _numbers(metric: str, group: str, value: Any, asked: int, note: str | None = None) -> dict[str, Any]:
    counts = {"asked": asked, "scored": asked} | dict.fromkeys(("failed", "unparsed", "missing"), 0)
    return {"metric": metric, "group": group, "value": value, "note": note, **counts}


def _share(metric: str, group: str, holds: pl.Series) -> dict[str, Any]:
    """Of how many percent it holds; none of nothing."""
    return _numbers(metric, group, 100 * int(holds.sum()) / len(holds) if len(holds) else None, len(holds))


def is_degenerate(text: pl.Expr) -> pl.Expr:
    """Whether a text has no word, is one sign or word again and again, or goes round in a loop."""
    signs = text.str.replace_all(r"\s", "")
    words = text.str.to_lowercase().str.extract_all(r"[\p{L}\p{N}]+")
    number, different = words.list.len(), words.list.n_unique()
    is_one_sign = (signs.str.len_chars() >= REPEATS) & (signs.str.strip_chars(signs.str.slice(0, 1)) == "")
    is_one_word = (number >= REPEATS) & (different == 1)
    is_loop = (number >= LOOP_WORDS) & (different * LOOP_TIMES <= number)
    return (number == 0) | is_one_sign | is_one_word | is_loop


def _options(read: pl.DataFrame, group: str) -> Iterator[dict[str, Any]]:
    """For each option, in how many percent of the answers that offer it it was chosen, and in how many it is right.

    What a judge may reply is not known here: each of its replies counts as one that offers all.
    """
    if group == REPLIES:
        replies = read["value"].unique().sort().to_list()
        read = read.with_columns(options=pl.lit(replies, pl.List(pl.String)), expected=pl.lit(""))
    fewest = 1 if group == REPLIES else 2  # a judge whose replies are all alike offers one
    chosen = read.filter(pl.col("options").list.len() >= fewest).select("options", "value", "expected")
    offered = chosen.explode("options").group_by("options").agg(
        pl.len(), (pl.col("value") == pl.col("options")).sum().alias("chosen"),
        (pl.col("expected") == pl.col("options")).sum().alias("right"), (pl.col("expected") != "").sum().alias("known"),
    )  # fmt: skip
    for option, number, times, right, known in offered.sort("options").iter_rows():
        yield _numbers(OPTION, f"{group}{BETWEEN}{option}", 100 * times / number, number)
        if known:
            yield _numbers(RIGHT_OPTION, f"{group}{BETWEEN}{option}", 100 * right / known, known)


# What the numbers say


def reasons(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Why a run looks broken, by its numbers of health; nothing where it does not."""
    known = {(row["metric"], row["group"]): row for row in rows if row["metric"].startswith(PREFIX)}
    return list(dict.fromkeys(reason for row in known.values() if (reason := _reason(row, known))))


def _reason(row: Mapping[str, Any], known: Mapping[tuple[str, str], Mapping[str, Any]]) -> str:
    """Why a number looks broken; empty where it does not."""
    metric, value, number = row["metric"], row["value"], row["asked"]
    what, _, option = row["group"].partition(BETWEEN)
    if value is None or (number < FEWEST and not (metric == FAILED and value == 100)):
        return ""
    if metric == SPREAD:
        return f"its {number} scores are all alike" if value < SPREAD_LEAST else ""
    if metric == SHARE:
        least = f"of the probability of an answer's first token is the options', at least {SHARE_LEAST:g} % are wanted"
        return f"{value:.1f} % {least}" if value < SHARE_LEAST else ""
    if metric == OPTION:  # nearly all answers are one option although it is not nearly always right
        right = known.get((RIGHT_OPTION, row["group"]), {}).get("value")
        is_broken = value >= OPTION_MOST and (right is None or value - right >= OPTION_EXCESS)
        due = f", which is right for {right:.1f} %" if right is not None else ""
        return f'{value:.1f} % of {number} {what} are "{option}"{due}' if is_broken else ""
    if metric in LIMITS and value > LIMITS[metric].most:
        return f"{value:.1f} % of {number} {what} {LIMITS[metric].reason.format(note=row['note'])}"
    return ""


def summary(rows: Sequence[Mapping[str, Any]]) -> str:
    options = [f"{row['group'].partition(BETWEEN)[2]} {row['value']:.1f} %" for row in rows if row["metric"] == OPTION]
    shares = [
        f"{row['value']:.1f} % {LIMITS[row['metric']].summary}"
        for row in rows
        if row["metric"] in LIMITS and row["value"]
    ]
    spread = [f"scores spread by {row['value']:.3g}" for row in rows if row["metric"] == SPREAD and row["value"]]
    by = [f"{row['group'].partition(BETWEEN)[2]} {row['value']:.1f} %" for row in rows if row["metric"] == READ_BY]
    said = [", ".join([*options, *spread, *shares]), f"read by: {', '.join(by)}" if by else ""]
    return "; ".join(filter(None, said))

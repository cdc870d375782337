"""A run's answers, item by item, with what each reader or judge makes of them."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from reprise.report.runs import RunTables
from reprise.report.scripts import ENCODE, finite, shown, without_empty

DIGITS = 6
PLACE = ["item_id", "role"]
ANSWER = ("role", "text", "scores", "error", "message", "frames_shown", "tokens_in", "tokens_out")
VERDICT = ("value", "score", "right", "unparsed", "failed", "read_by")


def encoded_answers(numbers: Mapping[str, int], run: RunTables, judge: str) -> dict[int, str]:
    """Item number -> its answers as JSON."""
    names = (judge, f"{judge}.authors") if judge else ("robust", "authors")
    rows = run.responses.select("item_id", *ANSWER)
    for place, verdicts in enumerate((run.robust, run.authors)):
        rows = rows.join(_read(verdicts, run.replies, place), on=PLACE, how="left", maintain_order="left")
    found: dict[int, list[dict[str, Any]]] = {}
    for item, *answer in rows.iter_rows():
        found.setdefault(numbers[item], []).append(_answer(answer, names))
    return {number: ENCODE(answers) for number, answers in found.items()}


def _read(verdicts: pl.DataFrame, replies: pl.DataFrame | None, place: int) -> pl.DataFrame:
    """What a reader makes of each answer, with the judge's reply that it read."""
    if replies is None:
        verdicts = verdicts.with_columns(reply=pl.lit(""))
    else:
        verdicts = verdicts.join(replies.select("request_id", reply="text"), on="request_id", how="left")
    return verdicts.select(*PLACE, *(pl.col(name).alias(f"{name}_{place}") for name in (*VERDICT, "reply")))


def _answer(row: list[Any], names: tuple[str, str]) -> dict[str, Any]:
    role, text, scores, error, message, frames, tokens_in, tokens_out, *read = row
    half = len(read) // 2
    return without_empty(
        {
            "role": role,
            "text": shown(text),
            "scores": [_rounded(score) for score in scores or ()],
            "error": error,
            "message": shown(message),
            "frames": frames,
            "tokens_in": tokens_in,
            "tokens_out": tokens_out,
            "read": dict(_readings(names, (_verdict(*read[:half]), _verdict(*read[half:])))),
        }
    )


def _readings(names: tuple[str, str], verdicts: tuple[Any, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Both readings by name; the authors' only where it is another one."""
    if verdicts[0] is not None:
        yield names[0], verdicts[0]
    if verdicts[1] is not None and verdicts[1] != verdicts[0]:
        yield names[1], verdicts[1]


def _verdict(
    value: str | None,
    score: float | None,
    right: bool,
    unparsed: bool,
    failed: bool,
    by: str | None,
    reply: str | None,
) -> dict[str, Any] | None:
    """What says something of a reading; None where there is none."""
    if value is None:
        return None
    return without_empty(
        {
            "value": shown(value),
            "score": _rounded(score),
            "right": right,
            "unparsed": unparsed,
            "failed": failed,
            "by": "" if by in ("score", "authors") else by,
            "reply": shown(reply),
        }
    )


def _rounded(number: float | None) -> float | None:
    """A number of as many digits as anybody reads; null for what is no number."""
    known = finite(number)
    return None if known is None else round(known, DIGITS)

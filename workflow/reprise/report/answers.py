"""A run's answers, item by item, with what each reader or judge makes of them."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from reprise.report.runs import RunTables
from reprise.report.scripts import ENCODE, finite, shown, without_empty

DIGITS = 6
PLACE = ["item_id", "role"]
ANSWER = ("role", "text", "scores", "error", "message", "frames_shown", "tokens_in", "tokens_out")
# Of what read an answer, these say nothing that the page does not.
READ_BY = pl.col("read_by").replace(["score", "authors"], "").alias("by")
VERDICT = ("value", "score", "right", "unparsed", "failed", "by", "reply")


def encoded_answers(numbers: Mapping[str, int], run: RunTables, judge: str) -> dict[int, str]:
    """Item number -> its answers as JSON."""
    names = (judge, f"{judge}.authors") if judge else ("robust", "authors")
    rows = run.responses.select("item_id", *ANSWER)
    for name, verdicts in zip(names, (run.robust, run.authors), strict=True):
        if run.replies is None:
            verdicts = verdicts.with_columns(reply=pl.lit(""))
        else:  # the judge's reply that was read
            verdicts = verdicts.join(run.replies.select("request_id", reply="text"), on="request_id", how="left")
        reading = verdicts.with_columns(READ_BY).select(*PLACE, *VERDICT)
        rows = rows.join(reading, on=PLACE, how="left", maintain_order="left", suffix=name)
    found: dict[int, list[dict[str, Any]]] = {}
    for item, role, text, scores, error, message, frames, tokens_in, tokens_out, *read_by in rows.iter_rows():
        robust, authors = (_reading(*read_by[at : at + len(VERDICT)]) for at in (0, len(VERDICT)))
        # What the authors make of it stands only where it is something else.
        readings = {names[0]: robust, names[1]: None if authors == robust else authors}
        answer = {
            "role": role,
            "text": shown(text),
            "scores": [_rounded(score) for score in scores or ()],
            "error": error,
            "message": shown(message),
            "frames": frames,
            "tokens_in": tokens_in,
            "tokens_out": tokens_out,
            "read": {name: one for name, one in readings.items() if one is not None},
        }
        found.setdefault(numbers[item], []).append(without_empty(answer))
    return {number: ENCODE(answers) for number, answers in found.items()}


def _reading(value: str | None, score: float | None, *others: Any) -> dict[str, Any] | None:
    """What says something of a reading; None where there is none."""
    if value is None:
        return None
    *known, reply = others
    return without_empty(dict(zip(VERDICT, (shown(value), _rounded(score), *known, shown(reply)), strict=True)))


def _rounded(number: float | None) -> float | None:
    """A number of as many digits as anybody reads; null for what is no number."""
    known = finite(number)
    return None if known is None else round(known, DIGITS)

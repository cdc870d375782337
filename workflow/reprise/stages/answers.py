"""The tables of a run's answers: written in one order, whichever job asked for them, and said in one line."""

from argparse import Namespace
from collections import Counter

import polars as pl

from reprise.core.log import log
from reprise.core.schemas import RESPONSES, TIMINGS, write_table

PLACE = "place"


def write_answers(responses: pl.DataFrame, timings: pl.DataFrame, requests: pl.DataFrame, args: Namespace) -> None:
    """Write answers in the order of their questions, and timings in that of their clips, to the job's `--out` and
    `--timings`."""
    clips = requests.select(pl.col("clip_id").unique(maintain_order=True)).with_row_index(PLACE)
    timed = timings.join(clips, on="clip_id", how="left", maintain_order="left").sort(PLACE, maintain_order=True)
    order = requests.select("request_id").with_row_index(PLACE)
    table = responses.join(order, on="request_id", how="left").sort(PLACE)
    write_table(timed, args.timings, TIMINGS, args.made_under)
    write_table(table, args.out, RESPONSES, args.made_under)
    reasons = Counter(table.filter(pl.col("error") != "")["error"])
    listed = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    log.info(
        f"{table.height} answers, {reasons.total()} failed{f' ({listed})' if listed else ''}, "
        f"{requests.height - table.height} questions without a clip{' or of other pieces' if args.piece else ''}"
    )

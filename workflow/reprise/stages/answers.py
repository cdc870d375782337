"""Write and log the tables of a run's answers, in the same order whichever job produced them."""

from collections import Counter
from pathlib import Path

import polars as pl

from reprise.core.log import log
from reprise.core.schemas import RESPONSES, TIMINGS, write_table
from reprise.models.inference.partitions import WHOLE_RUN, Partition

POSITION = "position"


def write_answers(
    responses: pl.DataFrame,
    timings: pl.DataFrame,
    requests: pl.DataFrame,
    files: tuple[Path, Path],
    partition: Partition = WHOLE_RUN,
) -> None:
    """Write answers in the order of their requests and timings in the order of their clips, each to its file."""
    clips = requests.select(pl.col("clip_id").unique(maintain_order=True)).with_row_index(POSITION)
    ordered_timings = timings.join(clips, on="clip_id", how="left", maintain_order="left").sort(
        POSITION, maintain_order=True
    )
    order = requests.select("request_id").with_row_index(POSITION)
    table = responses.join(order, on="request_id", how="left").sort(POSITION)
    write_table(ordered_timings, files[1], TIMINGS)
    write_table(table, files[0], RESPONSES)
    reasons = Counter(table.filter(pl.col("error") != "")["error"])
    breakdown = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    log.info(
        f"{table.height} answers, {reasons.total()} failed{f' ({breakdown})' if breakdown else ''}, "
        f"{requests.height - table.height} requests without a clip"
        f"{'' if partition == WHOLE_RUN else ' or of other partitions'}"
    )

"""Write and log the responses and timings of a run, in an order that does not depend on the job that produced them."""

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
    output_paths: tuple[Path, Path],
    partition: Partition = WHOLE_RUN,
) -> None:
    """Write responses in the order of their requests, and timings in the order of their clips.

    Args:
        responses: The responses of a run or of a partition.
        timings: The timings of the clips.
        requests: All requests of the run, which define the order.
        output_paths: The files of the responses and of the timings.
        partition: The partition that the job answered.
    """
    clip_positions = requests.select(pl.col("clip_id").unique(maintain_order=True)).with_row_index(POSITION)
    ordered_timings = timings.join(clip_positions, on="clip_id", how="left", maintain_order="left").sort(
        POSITION, maintain_order=True
    )
    request_positions = requests.select("request_id").with_row_index(POSITION)
    ordered_responses = responses.join(request_positions, on="request_id", how="left").sort(POSITION)
    write_table(ordered_timings, output_paths[1], TIMINGS)
    write_table(ordered_responses, output_paths[0], RESPONSES)
    reasons = Counter(ordered_responses.filter(pl.col("error") != "")["error"])
    breakdown = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    log.info(
        f"{ordered_responses.height} answers, {reasons.total()} failed{f' ({breakdown})' if breakdown else ''}, "
        f"{requests.height - ordered_responses.height} requests without a clip"
        f"{'' if partition == WHOLE_RUN else ' or of other partitions'}"
    )

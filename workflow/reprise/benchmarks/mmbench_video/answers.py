"""What was answered to MMBench-Video's questions, for a judge."""

import polars as pl

from reprise.benchmarks.contract import plain_answers
from reprise.benchmarks.mmbench_video.complete import complete_items
from reprise.benchmarks.mmbench_video.packed import PACKED_READERS

UNREADABLE = "unreadable"


def answers(form: str, items: pl.DataFrame, responses: pl.DataFrame, reader: str) -> list[dict[str, str]]:
    """One answer an item that was asked; a packed answer is split to its questions."""
    if form == "unpacked":
        return plain_answers(responses)
    by_clip = {row["clip_id"]: row for row in responses.iter_rows(named=True)}
    found = []
    asked = complete_items(items.filter(pl.col("clip_id").is_in(list(by_clip))))
    for group in asked.partition_by("clip_id", maintain_order=True):
        response = by_clip[group["clip_id"][0]]
        indices = group["item_id"].to_list()
        texts = {} if response["error"] else PACKED_READERS[reader](response["text"], indices)
        found += [
            {
                "item_id": index,
                "role": form,
                "text": texts.get(index, ""),
                "error": response["error"] or ("" if index in texts else UNREADABLE),
            }
            for index in indices
        ]
    return found

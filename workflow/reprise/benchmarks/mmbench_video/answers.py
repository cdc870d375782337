"""MMBench-Video's answers as a judge sees them: one per question, even if one reply answers several."""

import polars as pl

from reprise.benchmarks.answering import UNREADABLE, FreeAnswer, answers_as_given
from reprise.benchmarks.mmbench_video.packed import PACKED_READERS
from reprise.benchmarks.mmbench_video.taxonomy import is_complete
from reprise.benchmarks.rows import items_of


def unpack(items: pl.DataFrame, responses: pl.DataFrame, reader: str) -> list[FreeAnswer]:
    """Each reply, split into the answers to its video's questions."""
    by_clip = {row["clip_id"]: row for row in responses.iter_rows(named=True)}
    asked: dict[str, list[str]] = {}
    for item in filter(is_complete, items_of(items.filter(pl.col("clip_id").is_in(list(by_clip))))):
        asked.setdefault(item.clip_id, []).append(item.item_id)
    found = []
    for clip_id, indices in asked.items():
        reply, error = by_clip[clip_id]["text"], by_clip[clip_id]["error"]
        texts = {} if error else PACKED_READERS[reader](reply, indices)
        for index in indices:
            unread = "" if index in texts else UNREADABLE
            found.append(FreeAnswer(index, "packed", texts.get(index, ""), error or unread))
    return found


ANSWERS = {"unpacked": answers_as_given, "packed": unpack}

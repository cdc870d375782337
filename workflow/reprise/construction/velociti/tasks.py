"""What people review: each sample (Fig. 18), and a draw of single captions against their dictionaries (Fig. 17)."""

from collections.abc import Mapping

import polars as pl

from reprise.construction.draws import rank
from reprise.construction.filters import kept
from reprise.construction.review import Task
from reprise.construction.settings import VelocitiSettings
from reprise.construction.velociti.dictionaries import CAPTION

OF_SAMPLES = ("both fit", "positive is wrong", "negative is wrong", "both are wrong")
OF_CAPTIONS = ("positive", "neutral", "negative")
CAPTIONS_VERIFIED = 380
"""captions that the authors checked against their dictionaries"""


def sample_tasks(samples: pl.DataFrame) -> list[Task]:
    """Whether the positive caption is true of the video and the negative one false."""
    return [
        Task(
            row["sample_id"],
            OF_SAMPLES,
            {"video": row["video"], "event": row["event"], "positive": row["positive"], "negative": row["negative"]},
        )
        for row in kept(samples).iter_rows(named=True)
    ]


def caption_tasks(tables: Mapping[str, pl.DataFrame], settings: VelocitiSettings) -> list[Task]:
    """Whether a caption says what its dictionary says."""
    written = kept(tables["written"]).filter(pl.col("kind") == CAPTION)
    texts = written.join(tables["texts"].select("text_id", "video", "values"), on="text_id", maintain_order="left")
    rows = sorted(texts.to_dicts(), key=lambda row: rank(settings.seed, row["text_id"]))[:CAPTIONS_VERIFIED]
    return [
        Task(
            row["text_id"],
            OF_CAPTIONS,
            {"video": row["video"], "event": row["values"][0]["text"], "positive": row["text"], "negative": ""},
        )
        for row in rows
    ]

"""What people review of VELOCITI: each sample (Fig. 18), and a draw of captions (Fig. 17); and the release."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.construction.filters import kept, shuffled
from reprise.construction.review import Reviewed, Task, as_csv, counted, decided, judged, read_verdicts, task_rows
from reprise.construction.settings import VelocitiSettings
from reprise.construction.velociti.candidates import CAPTION

OF_SAMPLES = ("both fit", "positive is wrong", "negative is wrong", "both are wrong")
OF_CAPTIONS = ("positive", "neutral", "negative")
CAPTIONS_VERIFIED = 380  # captions that the authors checked against their dictionaries
SHOWN = ("video", "event", "positive", "negative")
FILE = "velociti.csv"
RELEASED = {"test_name": "test", "video_id": "video", "event": "event", "pos": "positive", "neg": "negative"}
"""column of the release -> of the samples"""


def review(tables: Mapping[str, pl.DataFrame], verdicts: list[Path], settings: VelocitiSettings) -> Reviewed:
    """The samples with what people said of them, kept only if both captions fit, and what is left for people to do."""
    of_samples = [
        Task(row["sample_id"], OF_SAMPLES, {name: row[name] for name in SHOWN})
        for row in kept(tables["samples"]).iter_rows(named=True)
    ]
    written = kept(tables["written"]).filter(pl.col("kind") == CAPTION)
    texts = written.join(tables["texts"].select("text_id", "video", "values"), on="text_id", maintain_order="left")
    by_name = {row["text_id"]: row for row in texts.iter_rows(named=True)}
    of_captions = []
    for name in shuffled(by_name, settings.seed)[:CAPTIONS_VERIFIED]:
        row = by_name[name]
        shown = {"video": row["video"], "event": row["values"][0]["text"], "positive": row["text"], "negative": ""}
        of_captions.append(Task(name, OF_CAPTIONS, shown))
    tasks = [*of_samples, *of_captions]
    votes = counted(tasks, read_verdicts(verdicts))
    rows = judged(tables["samples"], decided(of_samples, votes, settings.review))
    said = votes.said(task.task_id for task in of_captions)
    return Reviewed(rows, said, task_rows(tasks, votes, settings.review.votes), SHOWN, votes.problems)


def release(tables: Mapping[str, pl.DataFrame], settings: VelocitiSettings) -> dict[str, str]:
    """File -> content. The rows are in the order of the tests, then of their ids, so that a file stays the same."""
    order = {test: place for place, test in enumerate((CONTROL, *TESTS))}
    rows = sorted(kept(tables["reviewed"]).to_dicts(), key=lambda row: (order[row["test"]], row["sample_id"]))
    return {FILE: as_csv([{name: row[of] for name, of in RELEASED.items()} for row in rows], list(RELEASED))}

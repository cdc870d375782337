"""VELOCITI's review of samples (Fig. 18) and sampled captions (Fig. 17), its release and its statistics."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import polars as pl
from human_evaluation.draws import shuffled
from human_evaluation.tasks import Task, as_csv, count_votes, read_verdicts
from reprise.benchmarks.annotations import group_by_key
from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS

from construction.filters import Row, kept_rows, statistic_row
from construction.review import ReviewResult, apply_decisions, decide, task_rows
from construction.settings import VelocitiSettings
from construction.velociti.events import normalize_name
from construction.velociti.making import CAPTION_PROMPT

SAMPLE_VERDICTS = ("both fit", "positive is wrong", "negative is wrong", "both are wrong")
CAPTION_VERDICTS = ("positive", "neutral", "negative")  # how well a written caption matches its annotated event
VERIFIED_CAPTION_COUNT = 380  # The authors checked this number of captions against their dictionaries.
SHOWN_COLUMNS = ("video", "event", "positive", "negative")
RELEASE_COLUMNS = {"test_name": "test", "video_id": "video", "event": "event", "pos": "positive", "neg": "negative"}
"""Column of the release -> column of the samples."""


def review(tables: Mapping[str, pl.DataFrame], verdicts: list[Path], settings: VelocitiSettings) -> ReviewResult:
    """Return the samples with their verdicts, and the open tasks. A sample is kept only if both captions fit."""
    sample_tasks = [
        Task(row["sample_id"], SAMPLE_VERDICTS, {name: row[name] for name in SHOWN_COLUMNS})
        for row in kept_rows(tables["samples"]).iter_rows(named=True)
    ]
    written = kept_rows(tables["written"]).filter(pl.col("kind") == CAPTION_PROMPT)
    texts = written.join(tables["texts"].select("text_id", "video", "values"), on="text_id", maintain_order="left")
    row_by_id = {row["text_id"]: row for row in texts.iter_rows(named=True)}
    caption_tasks = []
    for text_id in shuffled(row_by_id, settings.seed)[:VERIFIED_CAPTION_COUNT]:
        row = row_by_id[text_id]
        texts_shown = {
            "video": row["video"],
            "event": row["values"][0]["text"],
            "positive": row["text"],
            "negative": "",
        }
        caption_tasks.append(Task(text_id, CAPTION_VERDICTS, texts_shown))
    tasks = [*sample_tasks, *caption_tasks]
    votes = count_votes(tasks, read_verdicts(verdicts))
    rows = apply_decisions(tables["samples"], decide(sample_tasks, votes, settings.review))
    caption_votes = votes.verdict_rows(task.task_id for task in caption_tasks)
    return ReviewResult(
        rows, caption_votes, task_rows(tasks, votes, settings.review.votes), SHOWN_COLUMNS, votes.problems
    )


def release(tables: Mapping[str, pl.DataFrame], settings: VelocitiSettings) -> dict[str, str]:
    """Return the content of the release file, ordered by test and id to make it reproducible."""
    order = {test: place for place, test in enumerate((CONTROL, *TESTS))}
    rows = sorted(kept_rows(tables["reviewed"]).to_dicts(), key=lambda row: (order[row["test"]], row["sample_id"]))
    return {
        "velociti.csv": as_csv(
            [{name: row[column] for name, column in RELEASE_COLUMNS.items()} for row in rows], list(RELEASE_COLUMNS)
        )
    }


# Table 11: test -> (videos, samples).
TABLE11 = {
    CONTROL: (850, 2635), "agent_random": (588, 873), "agent_bind": (615, 1459), "coref": (183, 339),
    "action_adv": (355, 438), "action_manner": (378, 458), "action_bind": (540, 1356), "chrono": (521, 1234),
}  # fmt: skip
PAPER_CAPTION_VERDICTS = {"positive": 356, "neutral": 21, "negative": 3}  # verdict -> number of captions


def statistics(tables: Mapping[str, pl.DataFrame], settings: VelocitiSettings) -> list[Row]:
    """Return the paper's statistics of the data set with the same counts of this construction."""
    released = kept_rows(tables["reviewed"])
    # The paper counts the events with a written caption, before samples are formed and reviewed.
    written = kept_rows(tables["written"]).filter(pl.col("kind") == CAPTION_PROMPT)
    single_caption = kept_rows(tables["candidates"]).filter(pl.col("positive").list.len() == 1)
    used_captions = single_caption.select("video", "event", pl.col("positive").list.first().alias("text_id")).unique()
    described_events = used_captions.join(written, on="text_id", how="semi")
    rows = [
        statistic_row("videos with a caption", "all", 864, described_events["video"].n_unique()),
        statistic_row("videos and captions, before the tests", "all", 3101, described_events.height),
    ]
    for test, (videos, samples) in TABLE11.items():
        test_samples = released.filter(pl.col("test") == test)
        rows.append(statistic_row("videos (Table 11)", test, videos, test_samples["video"].n_unique()))
        rows.append(statistic_row("samples (Table 11)", test, samples, test_samples.height))
    verdict_counts = Counter(tables["votes"]["verdict"])
    note = "of 380 captions checked against their dictionaries"
    rows += [
        statistic_row("captions judged", choice, PAPER_CAPTION_VERDICTS[choice], verdict_counts[choice], note)
        for choice in CAPTION_VERDICTS
    ]
    good_count = verdict_counts["positive"] + verdict_counts["neutral"]
    judged_count = sum(verdict_counts[choice] for choice in CAPTION_VERDICTS)
    good_share = 100 * good_count / judged_count if judged_count else None
    rows.append(statistic_row("captions judged", "positive or neutral, %", 99.2, good_share))
    rows.append(statistic_row("captions judged", "all", 380, judged_count, "verdicts"))
    # Fig. 14 counts verbs and agents per video, roles per event, and events per agent in its video.
    event_rows = kept_rows(tables["pool"]).join(released, on="video", how="semi", maintain_order="left").to_dicts()
    by_video = group_by_key(event_rows, lambda row: row["video"]).values()
    verb_counts, agent_counts = (
        [len({normalize_name(row[column]) for row in video_rows}) for video_rows in by_video]
        for column in ("verb_id", "agent")
    )
    # The verb is no role: the paper's examples of roles are agent, patient and manner.
    role_counts = [len(row["roles"]) for row in event_rows]
    event_counts = Counter((row["video"], normalize_name(row["agent"])) for row in event_rows)
    # (measure, a value per video, event or agent, the paper's threshold, its percentage of values at or above it)
    distributions = (
        ("unique verbs of a video (Fig. 14a)", verb_counts, 4, 87.0),
        ("unique agents of a video (Fig. 14b)", agent_counts, 2, 85.0),
        ("roles of an event (Fig. 14c)", role_counts, 4, 70.0),
        ("events of an agent in its video (Fig. 14d)", list(event_counts.values()), 2, 72.0),
    )
    for measure, values, minimum, paper_share in distributions:
        reproduced_share = 100 * sum(value >= minimum for value in values) / len(values) if values else None
        rows.append(
            statistic_row(
                measure, f"{minimum} or more, %", paper_share, reproduced_share, "the paper states about, or more than"
            )
        )
        rows += [statistic_row(measure, str(value), None, count) for value, count in sorted(Counter(values).items())]
    return rows

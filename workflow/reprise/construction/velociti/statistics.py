"""Numbers of the construction beside the paper's: section 3.1, Fig. 14, Table 11, appendix B.5."""

from collections import Counter
from collections.abc import Iterator, Mapping

import polars as pl

from reprise.benchmarks.velociti.taxonomy import CONTROL
from reprise.construction.filters import Row, beside, grouped, kept
from reprise.construction.review import REVIEW_FILTERS
from reprise.construction.settings import VelocitiSettings
from reprise.construction.velociti.candidates import CANDIDATE_FILTERS, CAPTION, EVENT_FILTERS
from reprise.construction.velociti.events import plain_name
from reprise.construction.velociti.review import OF_CAPTIONS
from reprise.construction.velociti.writing import SAMPLE_FILTERS, WRITTEN_FILTERS

# Table 11: test -> videos, samples.
TABLE11 = {
    CONTROL: (850, 2635), "agent_random": (588, 873), "agent_bind": (615, 1459), "coref": (183, 339),
    "action_adv": (355, 438), "action_manner": (378, 458), "action_bind": (540, 1356), "chrono": (521, 1234),
}  # fmt: skip
VERIFIED = {"positive": 356, "neutral": 21, "negative": 3}
FILTERS = {
    "pool": EVENT_FILTERS, "candidates": CANDIDATE_FILTERS, "written": WRITTEN_FILTERS, "samples": SAMPLE_FILTERS,
    "reviewed": REVIEW_FILTERS,
}  # fmt: skip


def statistics(tables: Mapping[str, pl.DataFrame], settings: VelocitiSettings) -> list[Row]:
    released = kept(tables["reviewed"])
    # Video and event of each caption that was written, before samples are made of them and reviewed.
    written = kept(tables["written"]).filter(pl.col("kind") == CAPTION)
    single = kept(tables["candidates"]).filter(pl.col("positive").list.len() == 1)
    used = single.select("video", "event", pl.col("positive").list.first().alias("text_id")).unique()
    described = used.join(written, on="text_id", how="semi")
    rows = [
        beside("videos with a caption", "all", 864, described["video"].n_unique()),
        beside("videos and captions, before the tests", "all", 3101, described.height),
    ]
    for test, (videos, samples) in TABLE11.items():
        of_test = released.filter(pl.col("test") == test)
        rows.append(beside("videos (Table 11)", test, videos, of_test["video"].n_unique()))
        rows.append(beside("samples (Table 11)", test, samples, of_test.height))
    verdicts = Counter(tables["votes"]["verdict"])
    note = "of 380 captions checked against their dictionaries"
    rows += [beside("captions judged", one, VERIFIED[one], verdicts[one], note) for one in OF_CAPTIONS]
    good, judged = verdicts["positive"] + verdicts["neutral"], sum(verdicts[one] for one in OF_CAPTIONS)
    rows.append(beside("captions judged", "positive or neutral, %", 99.2, 100 * good / judged if judged else None))
    rows.append(beside("captions judged", "all", 380, judged, "verdicts"))
    return [*rows, *_figure14(tables["pool"], set(released["video"]))]


def _figure14(events: pl.DataFrame, videos: set[str]) -> Iterator[Row]:
    """Fig. 14: verbs and agents of each video, roles of each event, how often an agent occurs in its video."""
    chosen = [row for row in kept(events).iter_rows(named=True) if row["video"] in videos]
    by_video = grouped(chosen, lambda row: row["video"]).values()
    verbs, agents = (
        [len({plain_name(row[column]) for row in own}) for own in by_video] for column in ("verb_id", "agent")
    )
    roles = [len(row["roles"]) for row in chosen]  # the verb is none: the paper's examples are agent, patient, manner
    occurring = Counter((row["video"], plain_name(row["agent"])) for row in chosen)
    figures = (
        ("unique verbs of a video (Fig. 14a)", verbs, 4, 87.0),
        ("unique agents of a video (Fig. 14b)", agents, 2, 85.0),
        ("roles of an event (Fig. 14c)", roles, 4, 70.0),
        ("events of an agent in its video (Fig. 14d)", list(occurring.values()), 2, 72.0),
    )
    for what, values, least, share in figures:
        ours = 100 * sum(value >= least for value in values) / len(values) if values else None
        yield beside(what, f"{least} or more, %", share, ours, "the paper says about, or more than")
        yield from (beside(what, str(value), None, number) for value, number in sorted(Counter(values).items()))

"""Numbers of the construction beside the paper's: section 3.1, Fig. 14, Table 11, appendix B.5."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from reprise.benchmarks.velociti.taxonomy import CONTROL
from reprise.construction.filters import Row, beside, counts, kept
from reprise.construction.review import REVIEW_FILTERS
from reprise.construction.settings import VelocitiSettings
from reprise.construction.velociti.candidates import CANDIDATE_FILTERS, EVENT_FILTERS
from reprise.construction.velociti.captions import WRITTEN_FILTERS
from reprise.construction.velociti.dictionaries import CAPTION
from reprise.construction.velociti.samples import SAMPLE_FILTERS
from reprise.construction.velociti.tasks import OF_CAPTIONS
from reprise.construction.velociti.vidsitu import plain_name

# Table 11: test -> videos, samples.
TABLE11 = {
    CONTROL: (850, 2635), "agent_random": (588, 873), "agent_bind": (615, 1459), "coref": (183, 339),
    "action_adv": (355, 438), "action_manner": (378, 458), "action_bind": (540, 1356), "chrono": (521, 1234),
}  # fmt: skip
VERIFIED = {"positive": 356, "neutral": 21, "negative": 3}


def filter_counts(tables: Mapping[str, pl.DataFrame]) -> list[Row]:
    """What every filter of every step dropped."""
    reviewed = kept(tables["samples"]).join(
        tables["reviewed"].select("sample_id", pl.col("filter").alias("now")), on="sample_id"
    )
    steps: Sequence[tuple[str, pl.DataFrame, Sequence[str]]] = (
        ("pool", tables["pool"], EVENT_FILTERS),
        ("candidates", tables["candidates"], CANDIDATE_FILTERS),
        ("written", tables["written"], WRITTEN_FILTERS),
        ("samples", tables["samples"], SAMPLE_FILTERS),
        ("reviewed", reviewed.drop("filter").rename({"now": "filter"}), REVIEW_FILTERS),
    )
    return [row for step, table, names in steps for row in counts(step, table, names)]


def statistics(tables: Mapping[str, pl.DataFrame], settings: VelocitiSettings) -> list[Row]:
    """The paper's numbers and ours."""
    released = kept(tables["reviewed"])
    described = _described(tables)
    rows = [
        beside("videos with a caption", "all", 864, described["video"].n_unique()),
        beside("videos and captions, before the tests", "all", 3101, described.height),
    ]
    for test, (videos, samples) in TABLE11.items():
        of_test = released.filter(pl.col("test") == test)
        rows.append(beside("videos (Table 11)", test, videos, of_test["video"].n_unique()))
        rows.append(beside("samples (Table 11)", test, samples, of_test.height))
    verdicts = Counter(tables["votes"]["verdict"])
    for verdict in OF_CAPTIONS:
        note = "of 380 captions checked against their dictionaries"
        rows.append(beside("captions judged", verdict, VERIFIED[verdict], verdicts[verdict], note))
    good, judged = verdicts["positive"] + verdicts["neutral"], sum(verdicts[one] for one in OF_CAPTIONS)
    rows.append(beside("captions judged", "positive or neutral, %", 99.2, 100 * good / judged if judged else None))
    rows.append(beside("captions judged", "all", 380, judged, "verdicts"))
    return [*rows, *_figure14(tables["pool"], set(released["video"]))]


def _described(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Video and event of each caption that was written, before samples are made of them and reviewed."""
    written = kept(tables["written"]).filter(pl.col("kind") == CAPTION)
    single = kept(tables["candidates"]).filter(pl.col("positive").list.len() == 1)
    used = single.select("video", "event", pl.col("positive").list.first().alias("text_id")).unique()
    return used.join(written, on="text_id", how="semi")


def _figure14(events: pl.DataFrame, videos: set[str]) -> list[Row]:
    """Fig. 14: verbs and agents of each video, roles of each event, how often an agent occurs in its video."""
    chosen = [row for row in kept(events).iter_rows(named=True) if row["video"] in videos]
    verbs, agents = _distinct(chosen, "verb_id"), _distinct(chosen, "agent")
    roles = [
        len(row["roles"]) for row in chosen
    ]  # the verb is none, as the paper's examples are agent, patient, manner
    occurring = Counter((row["video"], plain_name(row["agent"])) for row in chosen)
    figures = (
        ("unique verbs of a video (Fig. 14a)", verbs, 4, 87.0),
        ("unique agents of a video (Fig. 14b)", agents, 2, 85.0),
        ("roles of an event (Fig. 14c)", roles, 4, 70.0),
        ("events of an agent in its video (Fig. 14d)", list(occurring.values()), 2, 72.0),
    )
    rows = []
    for what, values, least, share in figures:
        ours = 100 * sum(value >= least for value in values) / len(values) if values else None
        rows.append(beside(what, f"{least} or more, %", share, ours, "the paper says about, or more than"))
        rows += [beside(what, str(value), None, number) for value, number in sorted(Counter(values).items())]
    return rows


def _distinct(rows: Iterable[Row], column: str) -> list[int]:
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row["video"], set()).add(plain_name(row[column]))
    return [len(values) for values in found.values()]

"""What the first page opens on."""

from pathlib import Path
from typing import Any

import polars as pl
from reprise.report.first_page import Leads, Ranking, compared, ranking
from reprise.report.keys import ReportedBenchmark
from reprise.stats.paired import PairedComparison
from reprise.tables.reproduction import SCHEMA

MAIN = {"metric": "mean", "group": "overall", "title": "Mean", "decimals": 2, "table": "table3", "protocol": "unpacked"}
MMBENCH = ReportedBenchmark.model_validate(
    {"name": "mmbench_video", "title": "MMBench-Video", "has_clips": True, "rated_to": {"unpacked": 3}, "headline": MAIN | {"sampling": "fps1"}}
)  # fmt: skip
VELOCITI = ReportedBenchmark(name="velociti", title="VELOCITI", has_clips=True)


def row(model: str, value: float | None, judge: str = "wordmatch", **changes: Any) -> dict[str, Any]:
    run = f"mmbench_video/unpacked/fps1/{model}" if model else None
    named = {"table": "mmbench_video/overview", "row": model or "Paper's", "metric": "mean", "group": "overall"}
    ends = {"low": None, "high": None} if value is None else {"low": value - 0.25, "high": value + 0.25}
    known = {"run": run, "judge": judge, "value": value, "convention": "fixed", "published": None}
    return named | ends | known | changes


def ranked(*rows: dict[str, Any], leads: Leads | None = None) -> Ranking | None:
    return ranking(MMBENCH, rows, 0.6, {"random"}, lambda run, metric, group: f"{run}?{metric}", leads or {})


def test_the_best_model_comes_first_and_baselines_and_papers_are_not_the_best() -> None:
    others = [row("late", 1.0, convention="authors"), row("none", None), row("late", 3.0, metric="other")]
    found = ranked(row("early", 0.5), row("late", 2.0), row("random", 2.5), row("", 3.0, judge=""), *others)
    assert found is not None
    assert [(one.label, one.is_best) for one in found.places] == [
        ("Paper's", False), ("random", False), ("late", True), ("early", False)
    ]  # fmt: skip
    assert [one.page for one in found.places] == ["", *(f"models/{one}.html" for one in ("random", "late", "early"))]
    assert found.places[2].link == "mmbench_video/unpacked/fps1/late/wordmatch?mean"
    assert found.words == "late is 1.50 above early."
    assert (found.across(1.5), found.across(-1), found.across(9)) == (50, 0, 100), "its scale ends at the best rating"
    assert ranked() is None, "a benchmark without a number has no picture"


def test_how_sure_the_lead_is_stands_where_the_pair_was_compared() -> None:
    """A quarter to three quarters of a scale from 0 to 3."""
    for second, p, words in (("early", 0.0301, " [0.75, 2.25], p = 0.030"), ("early", 1e-9, " [0.75, 2.25], p < 0.001"), ("another", 0.03, "")):  # fmt: skip
        names = [f"mmbench_video/unpacked/fps1/{one}/wordmatch" for one in ("late", second)]
        leads = {(names[0], names[1]): PairedComparison(9, 9, 0.5, 0.25, 0.75, p)}
        found = ranked(row("early", 0.5), row("late", 2.0), leads=leads)
        assert found and found.words.replace("\N{NO-BREAK SPACE}", " ") == f"late is 1.50 above early{words}."
    others = ranked(row("early", 0.5, run="mmbench_video/packed/fps1/early"), row("late", 2.0))
    assert others and others.words.endswith("above early, which was asked other questions or shown other frames.")
    alone, none = ranked(row("late", 2.0), row("random", 0.5)), ranked(row("random", 0.5))
    assert alone and alone.words == "Only late was asked."
    assert none and none.words.startswith("No model of this suite was asked here")


def test_ours_stand_beside_the_papers_on_the_scale_of_their_benchmark(tmp_path: Path) -> None:
    rows = [
        {"table": "mmbench_video/table3", "metric": "mean", "ours": 1.5, "published": 0.75, "verdict": "differs"},
        {"table": "mmbench_video/table1", "metric": "videos", "ours": 609.0, "published": 609.0, "verdict": "agrees"},
        {"table": "velociti/table2", "metric": "strict", "ours": 40.0, "published": 41.0, "verdict": "not comparable"},
        {"table": "velociti/table2", "metric": "strict", "ours": None, "published": 41.0, "verdict": "not comparable"},
    ]
    path = tmp_path / "reproduction.csv"
    pl.DataFrame(rows, schema=SCHEMA).write_csv(path)
    mmbench, velociti = compared(path, [MMBENCH, VELOCITI])
    assert mmbench.points == [(25.0, 50.0, "differs")], "a count is on no such scale"
    assert mmbench.counts == {"agrees": 1, "differs": 1}
    assert (velociti.title, velociti.points) == ("VELOCITI", [(41.0, 40.0, "not-comparable")])

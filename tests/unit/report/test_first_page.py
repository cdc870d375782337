"""Test the rankings and comparisons of the first page."""

from pathlib import Path
from typing import Any

import polars as pl
from reprise.report.first_page import PairedComparisons, Ranking, build_ranking, compare_with_papers
from reprise.report.keys import ReportedBenchmark
from reprise.stats.paired import PairedComparison
from reprise.tables.reproduction import REPRODUCTION_SCHEMA

HEADLINE = {
    "metric": "mean",
    "group": "overall",
    "title": "Mean",
    "decimals": 2,
    "table": "table3",
    "protocol": "unpacked",
}
MMBENCH = ReportedBenchmark.model_validate(
    {"name": "mmbench_video", "title": "MMBench-Video", "has_clips": True, "max_rating": {"unpacked": 3}, "headline": HEADLINE | {"sampling": "fps1"}}
)  # fmt: skip
VELOCITI = ReportedBenchmark(name="velociti", title="VELOCITI", has_clips=True)


def make_row(model: str, value: float | None, judge: str = "wordmatch", **changes: Any) -> dict[str, Any]:
    run = f"mmbench_video/unpacked/fps1/{model}" if model else None
    identity = {"table": "mmbench_video/overview", "row": model or "Paper's", "metric": "mean", "group": "overall"}
    interval = {"low": None, "high": None} if value is None else {"low": value - 0.25, "high": value + 0.25}
    values = {"run": run, "judge": judge, "value": value, "convention": "fixed", "published": None}
    return identity | interval | values | changes


def rank(*rows: dict[str, Any], leads: PairedComparisons | None = None) -> Ranking | None:
    return build_ranking(MMBENCH, rows, 0.6, {"random"}, lambda run, metric, group: f"{run}?{metric}", leads or {})


def test_baselines_and_published_numbers_are_never_the_best() -> None:
    other_rows = [
        make_row("late", 1.0, convention="authors"),
        make_row("none", None),
        make_row("late", 3.0, metric="other"),
    ]
    result = rank(
        make_row("early", 0.5), make_row("late", 2.0), make_row("random", 2.5), make_row("", 3.0, judge=""), *other_rows
    )
    assert result is not None
    assert [(entry.label, entry.is_best) for entry in result.entries] == [
        ("Paper's", False), ("random", False), ("late", True), ("early", False)
    ]  # fmt: skip
    assert [entry.page for entry in result.entries] == [
        "",
        *(f"models/{name}.html" for name in ("random", "late", "early")),
    ]
    assert result.entries[2].link == "mmbench_video/unpacked/fps1/late/wordmatch?mean"
    assert result.summary == "late is 1.50 above early."
    assert (result.percent(1.5), result.percent(-1), result.percent(9)) == (50, 0, 100), (
        "the scale ends at the best rating"
    )
    assert rank() is None, "a benchmark without numbers has no chart"


def test_the_lead_has_an_interval_if_the_runs_were_compared() -> None:
    """The interval is from a quarter to three quarters of a scale from 0 to 3."""
    for second_model, p, suffix in (("early", 0.0301, " [0.75, 2.25], p = 0.0301"), ("early", 1e-9, " [0.75, 2.25], p < 0.0001"), ("another", 0.03, "")):  # fmt: skip
        names = [f"mmbench_video/unpacked/fps1/{name}/wordmatch" for name in ("late", second_model)]
        leads = {(names[0], names[1]): PairedComparison(9, 9, 1.5, 0.75, 2.25, p)}
        result = rank(make_row("early", 0.5), make_row("late", 2.0), leads=leads)
        assert result and result.summary.replace("\N{NO-BREAK SPACE}", " ") == f"late is 1.50 above early{suffix}."
    other_protocol = rank(make_row("early", 0.5, run="mmbench_video/packed/fps1/early"), make_row("late", 2.0))
    assert other_protocol and other_protocol.summary.endswith(
        "above early, which was evaluated with another protocol or sampling."
    )
    single_model, only_baseline = rank(make_row("late", 2.0), make_row("random", 0.5)), rank(make_row("random", 0.5))
    assert single_model and single_model.summary == "Only late was evaluated."
    assert only_baseline and only_baseline.summary.startswith("No model of this suite has been evaluated")


def test_our_numbers_are_compared_on_the_scale_of_their_benchmark(tmp_path: Path) -> None:
    rows = [
        {"table": "mmbench_video/table3", "metric": "mean", "ours": 1.5, "published": 0.75, "verdict": "differs"},
        {
            "table": "mmbench_video/table1",
            "metric": "videos",
            "ours": 609.0,
            "published": 609.0,
            "verdict": "within margin",
        },
        {"table": "velociti/table2", "metric": "strict", "ours": 40.0, "published": 41.0, "verdict": "not comparable"},
        {"table": "velociti/table2", "metric": "strict", "ours": None, "published": 41.0, "verdict": "not comparable"},
    ]
    path = tmp_path / "reproduction.csv"
    pl.DataFrame(rows, schema=REPRODUCTION_SCHEMA).write_csv(path)
    mmbench, velociti = compare_with_papers(path, [MMBENCH, VELOCITI])
    assert mmbench.points == [(25.0, 50.0, "differs")], "a count does not fit the scale"
    assert mmbench.counts == {"within margin": 1, "differs": 1}
    assert (velociti.title, velociti.points) == ("VELOCITI", [(41.0, 40.0, "not-comparable")])

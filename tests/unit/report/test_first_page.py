"""Test the comparisons of the first page with published numbers."""

from pathlib import Path

import polars as pl
from reprise.report.first_page import compare_with_papers
from reprise.report.keys import ReportedBenchmark
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

"""Check the stage commands that `bench.scoring` measures."""

from pathlib import Path

import pytest

from bench import scoring


@pytest.mark.parametrize(("benchmark", "stages"), [
    ("vinoground", ["verdicts", "metrics"]), ("mmbench_video", ["judge_requests", "judgements", "metrics"]),
])  # fmt: skip
def test_stages_accept_the_measured_commands(benchmark: str, stages: list[str], tmp_path: Path) -> None:
    workload = next(workload for workload in scoring.WORKLOADS if workload.benchmark == benchmark)
    setup = scoring.ScoringSetup(tmp_path, workload, scoring._items(tmp_path, benchmark))
    assert [cost.stage for cost in setup.score(0)] == stages

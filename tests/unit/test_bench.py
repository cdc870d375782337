"""The commands whose speed is measured."""

from pathlib import Path

import pytest

from bench import scoring


@pytest.mark.parametrize(("benchmark", "stages"), [
    ("vinoground", ["verdicts", "metrics"]), ("mmbench_video", ["judge_requests", "judgements", "metrics"]),
])  # fmt: skip
def test_the_stages_take_the_commands_that_are_measured(benchmark: str, stages: list[str], tmp_path: Path) -> None:
    asked = next(one for one in scoring.ASKED if one.benchmark == benchmark)
    setting = scoring.Setting(tmp_path, asked, scoring._items(tmp_path, benchmark))
    assert [one.stage for one in setting.score(0)] == stages

"""Every figure of the papers is drawn, or listed once as not drawn, with the reason."""

import re
from pathlib import Path

import pytest
from reprise.config.load import load

ROOT = Path(__file__).parents[3]
PARTLY = {"vinoground": {1}}  # its right half is
FIGURES = {
    "velociti": ("VELOCITI", 18),
    "vinoground": ("Vinoground", 13),
    "temporalbench": ("TemporalBench", 7),
    "mmbench_video": ("MMBench-Video", 10),
}


@pytest.mark.parametrize("benchmark", FIGURES)
def test_a_figure_is_drawn_or_listed_with_the_reason(benchmark: str) -> None:
    title, count = FIGURES[benchmark]
    names = {name for suite in ("paper", "construction")
             for name in getattr(load(ROOT, {"suite": suite}).figures.get(benchmark), "figures", ())}  # fmt: skip
    drawn = {int(name.removeprefix("fig")) for name in names if name.startswith("fig")}
    page = (ROOT / "docs/reference/figures.md").read_text().partition("## What is not drawn")[2]
    missing: list[int] = []
    for cells in re.findall(rf"^\| {title} \| ([^|]+) \| [^|]+ \|$", page, re.MULTILINE):
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", cells):
            missing += range(int(first), int(last or first) + 1)
    assert len(missing) == len(set(missing))
    assert set(missing) & drawn == PARTLY.get(benchmark, set()) and set(missing) | drawn == set(range(1, count + 1))

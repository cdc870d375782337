"""Every figure of the papers is drawn, or listed once as not drawn, with the reason."""

import re
from pathlib import Path

import pytest
from reprise.config.load import load

ROOT = Path(__file__).parents[3]
FIGURES = {"velociti": 18, "vinoground": 13, "temporalbench": 7, "mmbench_video": 10}
TITLES = {
    "velociti": "VELOCITI",
    "vinoground": "Vinoground",
    "temporalbench": "TemporalBench",
    "mmbench_video": "MMBench-Video",
}
PARTLY = {"vinoground": {1}}  # its right half is


def listed(title: str) -> list[int]:
    """The numbers in the page's list of what is not drawn."""
    page = (ROOT / "docs/reference/figures.md").read_text().partition("## What is not drawn")[2]
    found: list[int] = []
    for cells in re.findall(rf"^\| {title} \| ([^|]+) \| [^|]+ \|$", page, re.MULTILINE):
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", cells):
            found += range(int(first), int(last or first) + 1)
    return found


@pytest.mark.parametrize("benchmark", FIGURES)
def test_a_figure_is_drawn_or_listed_with_the_reason(benchmark: str) -> None:
    names = {name for suite in ("paper", "construction")
             for name in getattr(load(ROOT, {"suite": suite}).figures.get(benchmark), "figures", ())}  # fmt: skip
    drawn = {int(name.removeprefix("fig")) for name in names if name.startswith("fig")}
    missing = listed(TITLES[benchmark])
    assert len(missing) == len(set(missing))
    assert set(missing) & drawn == PARTLY.get(benchmark, set())
    assert set(missing) | drawn == set(range(1, FIGURES[benchmark] + 1))

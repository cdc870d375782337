"""The synthetic releases: as many of everything as the papers print, and nothing that a table names left empty."""

import csv
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.mmbench_video.taxonomy import OTHER_VIDEO_SETS
from reprise.benchmarks.rows import flaws_of, is_in
from reprise.config.load import load
from reprise.core.errors import UserError
from synthetic.rehearsal import temporalbench
from synthetic.rehearsal.plugin import WRITERS, write_release

from tests.unit.benchmarks.whole import Whole

ROOT = Path(__file__).parents[4]
OPTIONS = {"velociti": {"subset": {"per_test": 150, "seed": 0}}}
Release = tuple[pl.DataFrame, pl.DataFrame]


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Release]:
    """Clips and items of every release, as the authors' layouts are read."""
    found = {}
    for name in WRITERS:
        folder = tmp_path_factory.mktemp(name)
        write_release(name, folder)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        found[name] = Whole(name).annotations(files, "release", OPTIONS.get(name, {}))
    return found


def printed(benchmark: str, table: str) -> dict[tuple[str, str], float]:
    """Metric and group of every number of a printed table of counts."""
    with (ROOT / f"resources/published/{benchmark}.csv").open() as stream:
        return {(r["metric"], r["group"]): float(r["value"]) for r in csv.DictReader(stream) if r["table"] == table}


@pytest.mark.parametrize(("benchmark", "tables", "renamed"), [
    ("velociti", {"table11": {"videos", "samples", "subset"}}, {}),
    ("vinoground", {"table2": {"pairs"}}, {"total": "all"}),
    ("temporalbench", {"table1": {"samples"}, "table5": {"questions"}}, {}),
])  # fmt: skip
def test_counts_are_the_printed_ones(
    releases: dict[str, Release], benchmark: str, tables: dict[str, set[str]], renamed: dict[str, str]
) -> None:
    clips, items = releases[benchmark]
    ours = Whole(benchmark).statistics(items, clips)
    for table, metrics in tables.items():
        wanted = {(m, renamed.get(g, g)): v for (m, g), v in printed(benchmark, table).items() if m in metrics}
        assert len(wanted) >= 8
        assert {place: ours[place] for place in wanted} == wanted


def test_counts_that_no_table_prints(releases: dict[str, Release]) -> None:
    clips, items = releases["mmbench_video"]
    own = items.filter(is_in("mmbench_video"))
    assert (own["clip_id"].n_unique(), own.height) == (609, 1998), "section 3"
    beside = Counter(items.filter(~is_in("mmbench_video"))["task"])
    assert beside == {"mmbench": 1292, "mmstar": 1500} | dict.fromkeys(OTHER_VIDEO_SETS, 1000), "sections 3.2 and 4.2"
    assert clips.filter(pl.col("kind") == "images").height == 1292 // 2 + 1500
    tasks = Counter(releases["temporalbench"][1]["task"])
    assert (tasks["long"], tasks["caption"]) == (5485, 2179 - 288), "no captions of FineGym"
    long_clips = releases["temporalbench"][1].filter(pl.col("task") == "long")["clip_id"].n_unique()
    assert long_clips == temporalbench.LONG_VIDEOS
    assert releases["velociti"][0].height == 864, "section 3 of the paper"


@pytest.mark.parametrize("benchmark", list(WRITERS))
def test_no_group_that_a_table_names_is_empty(releases: dict[str, Release], benchmark: str) -> None:
    """But for those that are other data sets' numbers, and the choices that answers are compared with."""
    module, items = Whole(benchmark), releases[benchmark][1]
    tables = load(ROOT, {"suite": "rehearsal"}).tables[benchmark].tables.values()
    named = {group for spec in tables for c in spec.columns for r in spec.rows() if (group := r.group or c.group)}
    empty = {group for group in named if module.in_group(items, group).is_empty()}
    assert named and not empty


def test_answers_are_balanced_and_nothing_is_flawed(releases: dict[str, Release]) -> None:
    short = releases["temporalbench"][1].filter(pl.col("task") == "short")
    assert abs((short["answer"] == "A").mean() - 0.5) < 0.02
    assert flaws_of(releases["temporalbench"][1]) == []
    vinoground = releases["vinoground"][1]
    for task in ("text", "video"):
        answers = vinoground.filter(pl.col("task") == task)["answer"]
        assert Counter(answers) == {"A": 500, "B": 500}


def test_a_release_is_the_same_every_time(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        write_release("vinoground", tmp_path / folder)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_a_benchmark_that_has_no_release_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"unknown benchmark of the rehearsal 'velocity'. Did you mean 'velociti'"):
        write_release("velocity", tmp_path)

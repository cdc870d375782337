"""Cards of time and parts of a suite, by their rules: what is asked, what is not asked again, what is said."""

import csv
import json
from pathlib import Path

import polars as pl
from reprise.core.store import read_lines

from tests.workflow.conftest import TABLES, Project, make_video

OVERVIEW = """\
overview:
  protocol: entail
  sampling: fps1
  columns: [{title: Strict, metrics: [strict], group: average}]
"""
VIEWS = ("none", "fps1.middle", "fps1.first", "fps1.shuffled", "fps1.reversed", "fps1.another")


def with_overview(project: Project) -> None:
    project.write("config/tables/small.yaml", TABLES + OVERVIEW)
    project.edit("config/suites/small.yaml", "shards: 2", "overview: [oracle, random]\nshards: 2")


def entries(project: Project) -> list[str]:
    """The questions whose answers were ever written down, of each key."""
    journals = sorted((project.root / "resources/store/journal").rglob("*.jsonl"))
    return [f"{path.stem} {line[0]}" for path in journals for line in read_lines(path)]


def cells(path: Path) -> list[dict[str, str]]:
    with path.open() as stream:
        return list(csv.DictReader(stream))


def test_cards_ask_every_view_once_and_nothing_that_a_table_asked(small: Project) -> None:
    with_overview(small)
    asked = entries(small)
    small.edit("config/suites/small.yaml", "shards: 2", "time: [all]\nshards: 2")
    jobs = small.planned()
    assert (jobs.count("time_card"), jobs.count("time_all")) == (2, 1)
    small.edit("config/suites/small.yaml", "time: [all]", "time: [oracle]")
    jobs = small.made("results/time/all.html")
    assert (jobs.count("infer"), jobs.count("time_card"), jobs.count("time_all")) == (len(VIEWS), 1, 1)
    assert jobs.count("frames") == len(VIEWS)
    assert set(asked) < set(entries(small)) and len(set(entries(small))) == len(entries(small))
    for kind in ("html", "md", "tex", "csv", "png", "svg", "pdf"):
        for name in ("oracle", "all"):
            assert (small.root / f"results/time/{name}.{kind}").stat().st_size > 0
    card = json.loads((small.root / "results/small/keys/time/oracle.json").read_text())
    (of_velociti,) = card["benchmarks"]
    assert list(of_velociti["views"]) and not of_velociti["missing"]
    frames = {
        view: pl.read_parquet(small.root / f"results/small/frames/velociti/{view}.parquet") for view in ("fps1", *VIEWS)
    }
    own, shuffled = frames["fps1"]["indices"].to_list(), frames["fps1.shuffled"]["indices"].to_list()
    assert all(one != other and sorted(one) == sorted(other) for one, other in zip(own, shuffled, strict=True))
    shown = dict(frames["fps1.another"].select("clip_id", "shown_clip").iter_rows())
    assert all(clip[:11] != other[:11] for clip, other in shown.items())
    assert small.made("results/time/all.html") == [] == small.made("results/time/oracle.pdf")
    done = small.reprise(
        "reprise", "item", "velociti/entail/fps1.shuffled/oracle", "control/v_aaaaaaaaaaa_seg_0_10/Ev1/1"
    )
    assert "note: in a shuffled order, drawn by clip" in done.stdout, done.stdout + done.stderr


def test_a_part_says_so_and_the_whole_asks_only_the_rest(small: Project) -> None:
    with_overview(small)
    rows = [["control", "v_ccccccccccc_seg_0_10", "Ev1", "this holds", "this fails"]]
    with (small.root / "release/rows.csv").open("a", newline="") as stream:
        csv.writer(stream).writerows(rows)
    make_video(small.root / "videos/ccccccccccc.mp4", 11)
    target = "results/tables/overview.md"
    done = small.reprise("reprise", "eval", "random", "--benchmarks", "velociti", "--limit", "2", "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "A part only: at most 2 units" in done.stdout
    for name in (target, target.replace(".md", ".tex"), target.replace(".md", ".html")):
        assert "A part only: at most 2 units" in (small.root / name).read_text()
    rows = cells(small.root / target.replace(".md", ".csv"))
    assert {row["suite"] for row in rows} == {"small-limit2"}
    (of_part,) = [int(row["asked"]) for row in rows if row["metric"] == "strict" and row["convention"] == "fixed"
                  and row["row"].startswith("Random")]  # fmt: skip
    asked = entries(small)
    assert 0 < of_part < 33
    small.made(target)
    assert "A part only" not in (small.root / target).read_text()
    assert set(asked) < set(entries(small)) and len(set(entries(small))) == len(entries(small)), "only the rest"
    rows = cells(small.root / target.replace(".md", ".csv"))
    assert {row["suite"] for row in rows} == {"small"}

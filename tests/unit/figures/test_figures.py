"""Figures: what is in them, what is said where there is nothing, that their bytes do not change, and which of the papers' are drawn."""

import hashlib
import math
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from matplotlib.text import Text
from reprise.config.load import load
from reprise.core.files import verify_sealed_text
from reprise.core.schemas import CLIP_METADATA, CONSTRUCTION_STATISTICS, ITEMS, METRICS, VERDICTS, write_table
from reprise.core.settings_text import settings_text
from reprise.figures.canvas import apply_style, create_canvas, save_figure
from reprise.figures.distribution import Count, bin_values, draw_distribution
from reprise.figures.draw import draw_figure
from reprise.figures.keys import FigureKey
from reprise.tables.builder import TableBuilder
from reprise.tables.published import PublishedTable

from tests.unit.rows import item_row, verdict_row
from tests.unit.tables.world import metric_row, published, table_key

RUN = "velociti/entail/fps1/ov"
HOSTILE = "$x_{1}$ \\frac{a <b> & \u202e\x00 \u0645\u0631\u062d\u0628\u0627"
ROWS = [{"label": "Ours", "model": "ov", "frames": "8"}, {"label": HOSTILE, "model": "other", "frames": "1fps"}]
SPECS: dict[str, dict[str, Any]] = {
    "bars": {"kind": "bars", "along": "rows"},
    "lines": {"kind": "lines"},
    "frames": {"kind": "lines", "along": "frames"},
    "radar": {"kind": "radar", "top": 100},
    "scatter": {"kind": "scatter", "across": "pos", "up": "neg"},
}
COLUMNS_OF = [{"title": name, "group": group} for name, group in (("A", "control"), ("B", "chrono"), ("C", "coref"))]


def figure_key(spec: Mapping[str, Any], columns: Sequence[Any] = COLUMNS_OF, **changes: Any) -> FigureKey:
    """A figure of a table of two rows; `changes` are those of the table."""
    section = {"protocol": "entail", "sampling": "fps1", "rows": ROWS}
    known = {"metrics": ["strict"], "best": False, "intervals": True, "columns": columns, "sections": [section]}
    shares = {"missing_share_max": 1.0, "failed_share_max": 1.0, "runs": [RUN]}
    table = table_key(known | changes.pop("of_spec", {}), **shares)
    of = {} if spec["kind"] == "distribution" else {"of": [{"table": "table2"}]}
    return FigureKey.model_validate(
        {
            "suite": "s", "notice": "Toy numbers.", "benchmark": "velociti", "benchmark_title": "VELOCITI", "figure": "fig3",
            "spec": {"title": "Title", "caption": "Caption.", **spec, **of}, "parts": [table | changes] if of else [],
            "show_published": True,
        }
    )  # fmt: skip


def measured(group: str, value: float | None) -> dict[str, Any]:
    return metric_row(RUN, "strict", group, value, requested=4, scored=4, key="k")


ITEMS_OF = pl.DataFrame([item_row(name, task="control") for name in "abcde"], schema=ITEMS)


def drawn(
    key: FigureKey,
    rows: Sequence[Mapping[str, Any]] = (),
    numbers: PublishedTable | None = None,
    verdicts: pl.DataFrame | None = None,
    items: pl.DataFrame = ITEMS_OF,
    made: Sequence[tuple[Any, ...]] = (),
) -> tuple[Any, pl.DataFrame]:
    numbers = numbers or PublishedTable(None, "table2")
    builders = [TableBuilder(part, pl.DataFrame(rows, schema=METRICS), numbers) for part in key.parts]
    found = {} if verdicts is None else {RUN: verdicts}
    counted = pl.DataFrame(made, schema=CONSTRUCTION_STATISTICS, orient="row")
    return draw_figure(key, builders, items, pl.DataFrame(schema=CLIP_METADATA), found, numbers, counted)


def words_of(figure: Any) -> str:
    return " ".join(text.get_text() for text in figure.findobj(Text)).replace("\n", " ")


GAP = [measured("control", None), measured("chrono", 50.0)]
CASES: dict[str, list[dict[str, Any]]] = {
    "nothing scored": [],
    "all wrong": [measured("control", 0.0), measured("chrono", 0.0)],
    "one cluster": [measured("control", 50.0) | {"low": None, "high": None}],
    "a gap": GAP,
    "no number": [measured("control", math.nan), measured("chrono", 50.0)],
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", SPECS)
def test_numbers_are_drawn_and_gaps_are_named(kind: str, case: str, tmp_path: Path) -> None:
    figure, rows = drawn(figure_key(SPECS[kind]), CASES[case])
    words = words_of(figure)
    if CASES[case] is GAP:
        save_figure(figure, tmp_path / "figure.png", {"title": "T", "caption": "C"})
        assert all((tmp_path / f"figure.{suffix}").stat().st_size > 1000 for suffix in ("png", "svg", "pdf"))
        assert not {"\u202e", "\x00"} & set(words_of(figure)), "signs that hide or reorder others are code points"
        assert b"\x00" not in (tmp_path / "figure.svg").read_bytes(), "a comment of XML may not hold it either"
    assert "Toy numbers." in words and "VELOCITI, Figure 3." in words
    if kind == "scatter":
        assert words.count("not run here") == 2, "each of two rows without points is a line of words"
        return
    values = {row["group"]: row["value"] for row in rows.iter_rows(named=True)}
    known = {row["group"]: row["value"] for row in CASES[case]}
    assert values == {group: None if value is None or math.isnan(value) else value for group, value in known.items()}
    assert ("Nothing to show" in words) == (not known) and "Not run here, and not published: " in words
    assert "$x_{1}$ \\frac{a <b> &" in words and "[U+202E]" in words


def test_published_numbers_replace_runs_and_are_marked(tmp_path: Path) -> None:
    numbers = published(tmp_path, "velociti,table2,Ours,8,control,strict,81.6")
    figure, rows = drawn(figure_key(SPECS["bars"], runs=()), [], numbers)
    assert rows.select("row", "value", "source").rows() == [("Ours", 81.6, "published")]
    words = words_of(figure)
    assert "published by the paper" in words and "All numbers are published ones" in words
    assert "Without any number: B, C." in words and "Not run here, and not published: $x_{1}$" in words


def test_points_are_in_the_regions_of_the_metrics() -> None:
    """Strict by both answers, classic by a higher score, wrong at a tie, nothing without a score."""
    scores = {"a": (0.9, 0.1), "b": (0.9, 0.6), "c": (0.5, 0.5), "d": (None, 0.2), "e": (float("nan"), 0.2)}
    verdicts = [
        verdict_row(f"{name}#{role}", score=one, right=one is not None and (one > 0.5 if role == "pos" else one < 0.5))
        for name, pair in scores.items()
        for role, one in zip(("pos", "neg"), pair, strict=True)
    ]
    table = pl.DataFrame(verdicts, schema=VERDICTS)
    figure, rows = drawn(figure_key(SPECS["scatter"]), verdicts=table)
    mine = rows.filter(row="Ours", group="control")
    assert mine["region"].to_list() == ["strict", "classic only", "wrong", "no score", "no score"]
    assert "A: 1 1 1 (+2)" in words_of(figure) and "no requests" in words_of(figure), "of coref there is no item"
    without = pl.DataFrame([row | {"score": None} for row in verdicts], schema=VERDICTS)
    assert "answers without scores" in words_of(drawn(figure_key(SPECS["scatter"]), verdicts=without)[0])
    of_subset = figure_key(SPECS["scatter"] | {"items": "subset"})
    assert "none of the subset" in words_of(drawn(of_subset, verdicts=table)[0])
    some = pl.DataFrame(
        [item_row(one, task="control", groups=["subset"] * (one in "ac")) for one in scores], schema=ITEMS
    )
    points = drawn(of_subset, verdicts=table, items=some)[1].filter(row="Ours", group="control")
    assert points["item_id"].to_list() == ["a", "c"], "a run of all items contains those of the subset"


def test_values_are_counted_in_ranges() -> None:
    """Vinoground's appendix L counts videos of at most 10 s and of at most 20 s."""
    assert bin_values([0.5, 2.0, 2.9], 1) == [Count("0-1", 1), Count("1-2", 0), Count("2-3", 2)]
    assert bin_values([0.3], 0.1) == [Count("0.3-0.4", 1)] and bin_values([], 1) == []
    found = bin_values([0.0, 0.5, 1.0, 9.5, 10.0, 10.001, 20.0], 1, is_right_closed=True)
    assert {one.name: one.value for one in found if one.value} == {"0-1": 3, "9-10": 2, "10-11": 1, "19-20": 1}


def test_numbers_from_the_text_of_the_paper_are_beside_ours(tmp_path: Path) -> None:
    stated = {"published": {"stated": {"Ours": 49.2}}}
    key = figure_key(SPECS["bars"], [one | stated for one in COLUMNS_OF[:2]])
    figure, rows = drawn(key, [measured("control", 50.0)], published(tmp_path))
    assert rows.select("group", "value", "published", "source").rows() == [
        ("control", 50.0, 49.2, "reproduced"), ("chrono", 49.2, 49.2, "published")
    ]  # fmt: skip
    assert "published, beside ours" in words_of(figure)


def test_a_figure_shows_the_counts_of_a_construction() -> None:
    counts = [{"title": "(a) verbs", "what": "verbs"}, {"title": "(b)", "what": "agents"}]
    key = figure_key({"kind": "distribution", "made": counts})
    of_verbs = [("verbs", "4 or more, %", 87.0, 50.0), ("verbs", "2", None, 1.0), ("verbs", "4", None, 1.0)]
    figure, rows = drawn(key, made=[(*row, "") for row in (*of_verbs, ("x", "1", None, 9.0))])
    assert rows.select("metric", "group", "published", "value").rows() == of_verbs
    words = words_of(figure)
    assert "(a) verbs, 4 or more: 50 % here, about 87 % in the paper." in words and "nothing to show" in words
    assert "the benchmark is not constructed here" in words_of(drawn(key)[0])


def test_two_draws_have_the_same_bytes(tmp_path: Path) -> None:
    """In two processes that order sets differently, in another time zone."""
    settings = settings_text("figures/velociti/fig3", figure_key(SPECS["scatter"]).model_dump(mode="json"))
    assert '"sha256"' not in settings, "short enough for a job without a configuration"
    verdicts = Path("results/s/verdicts", RUN, "robust.parquet")
    rows = [verdict_row(f"{name}#{role}", score=0.3, right=False) for name in "abcde" for role in ("pos", "neg")]
    write_table(pl.DataFrame([measured("control", 50.0)], schema=METRICS), tmp_path / "metrics.parquet", METRICS)
    write_table(pl.DataFrame(rows, schema=VERDICTS), tmp_path / verdicts, VERDICTS)
    write_table(ITEMS_OF, tmp_path / "items.parquet", ITEMS)
    given = {"settings": settings, "metrics": "metrics.parquet", "item-table": "items.parquet", "verdicts": verdicts}
    digests = []
    for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo")):
        out = tmp_path / seed / "fig3.png"
        options = [str(word) for name, value in (given | {"png": out}).items() for word in (f"--{name}", value)]
        command = [sys.executable, "-m", "reprise.stages", "--store", "store", "figure", *options]
        subprocess.run(command, check=True, cwd=tmp_path, env=os.environ | {"PYTHONHASHSEED": seed, "TZ": zone})
        files = sorted(path for path in out.parent.iterdir() if not path.name.startswith("."))
        assert all(verify_sealed_text(path).with_name(f".{path.name}.sum").is_file() for path in files), (
            "all carry a checksum"
        )
        digests.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files})
    assert digests[0] == digests[1] and set(digests[0]) == {"fig3.pdf", "fig3.svg", "fig3.png", "fig3.csv"}
    points = pl.read_csv(tmp_path / "1/fig3.csv").filter(pl.col("row") == "Ours", pl.col("group") == "control")
    assert points.select("item_id", "across", "region").rows() == [(name, 0.3, "wrong") for name in "abcde"]


def test_matplotlib_is_imported_by_figures_alone() -> None:
    code = "import sys, reprise.plan.suite, reprise.stages.metrics, reprise.stages.table; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "False\n"


def test_groups_have_panels_and_missing_ones_are_named() -> None:
    known = {"kind": "distribution", "axis": "questions", "groups": [{"title": "All", "group": "control"}]}
    beside = [{"title": "Others", "group": "control"}, {"title": "Nowhere", "group": "chrono"}]
    figure, rows = drawn(figure_key(known | {"beside": beside}))
    assert rows.select("row", "group", "value").rows() == [("", "All", 5.0), ("Others", "All", 5.0)]
    words = words_of(figure)
    assert "VELOCITI" in words and "Others" in words and "Data not available: Nowhere." in words


def test_a_single_count_is_written_as_text() -> None:
    apply_style()
    for counts, words in (
        ([Count("0-10", 0), Count("10-12", 24)], "All 24 videos: 10 to 12 seconds"),
        ([Count("Animation", 3), Count("News", 0)], "All 3 videos: Animation"),
    ):
        made = create_canvas(4.4, 0.5, "Title", "Origin", [])
        draw_distribution(made, [("", counts)], "seconds", "videos", [])
        assert words in words_of(made.figure) and not made.body.axes[0].patches
    made = create_canvas(4.4, 2.2, "Title", "Origin", [])
    draw_distribution(made, [("", [Count("10-12", 24)])], "seconds", "videos", [Count("mean", 9.0)])
    assert made.body.axes[0].patches, "a published number is held against a bar"


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

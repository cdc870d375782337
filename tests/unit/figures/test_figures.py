"""Test figures: their content, messages about missing numbers, identical bytes, and the list of drawn figures."""

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
from reprise.core.settings_text import format_settings_line
from reprise.figures.canvas import apply_style, create_canvas, save_figure
from reprise.figures.distribution import Count, bin_values, draw_distribution
from reprise.figures.draw import draw_figure
from reprise.figures.keys import FigureKey
from reprise.figures.series import PUBLISHED_LABEL
from reprise.figures.styles import assign_styles
from reprise.tables.builder import TableBuilder
from reprise.tables.published import PublishedTable

from tests.unit.rows import item_row, verdict_row
from tests.unit.tables.world import metric_row, published, table_key

RUN = "velociti/entail/fps1/ov"
HOSTILE = "$x_{1}$ \\frac{a <b> & \u202e\x00 \u0645\u0631\u062d\u0628\u0627"
ROWS = [{"label": "Ours", "model": "ov", "frames": "8"}, {"label": HOSTILE, "model": "other", "frames": "1fps"}]
STYLES = assign_styles(["ov", "other"], ["ov", "other"], [])
WIDTH = 5.5
SPECS: dict[str, dict[str, Any]] = {
    "points": {"kind": "points", "along": "rows"},
    "points of columns": {"kind": "points"},
    "lines": {"kind": "lines"},
    "frames": {"kind": "lines", "along": "frames"},
    "scatter": {"kind": "scatter", "across": "pos", "up": "neg"},
}
COLUMNS = [{"title": name, "group": group} for name, group in (("A", "control"), ("B", "chrono"), ("C", "coref"))]


def make_figure_key(spec: Mapping[str, Any], columns: Sequence[Any] = COLUMNS, **changes: Any) -> FigureKey:
    """Return the key of a figure of a table with two rows; `changes` are changes of the table's key."""
    section = {"protocol": "entail", "sampling": "fps1", "rows": ROWS}
    table_spec = {"metrics": ["strict"], "best": False, "intervals": True, "columns": columns, "sections": [section]}
    table_settings = {"missing_share_max": 1.0, "failed_share_max": 1.0, "runs": [RUN]}
    table = table_key(table_spec | changes.pop("of_spec", {}), **table_settings)
    tables = {} if spec["kind"] == "distribution" else {"of": [{"table": "table2"}]}
    return FigureKey.model_validate(
        {
            "suite": "s", "notice": "Toy numbers.", "benchmark": "velociti", "benchmark_title": "VELOCITI", "figure": "fig3",
            "spec": {"title": "Title", "caption": "Caption.", **spec, **tables}, "parts": [table | changes] if tables else [],
            "show_published": True, "width": WIDTH, "styles": STYLES,
        }
    )  # fmt: skip


def make_metric(group: str, value: float | None) -> dict[str, Any]:
    return metric_row(RUN, "strict", group, value, requested=4, scored=4, key="k")


CONTROL_ITEMS = pl.DataFrame([item_row(name, task="control") for name in "abcde"], schema=ITEMS)


def draw(
    key: FigureKey,
    rows: Sequence[Mapping[str, Any]] = (),
    published_table: PublishedTable | None = None,
    verdicts: pl.DataFrame | None = None,
    items: pl.DataFrame = CONTROL_ITEMS,
    statistics: Sequence[tuple[Any, ...]] = (),
) -> tuple[Any, pl.DataFrame]:
    published_table = published_table or PublishedTable(None, "table2")
    builders = [TableBuilder(part, pl.DataFrame(rows, schema=METRICS), published_table) for part in key.parts]
    verdicts_by_run = {} if verdicts is None else {RUN: verdicts}
    statistics_table = pl.DataFrame(statistics, schema=CONSTRUCTION_STATISTICS, orient="row")
    return draw_figure(
        key, builders, items, pl.DataFrame(schema=CLIP_METADATA), verdicts_by_run, published_table, statistics_table
    )


def list_axes(figure: Any) -> list[Any]:
    """Return all panels of a figure, including those of its parts."""
    return [*figure.axes, *(axes for part in figure.subfigs for axes in list_axes(part) if axes not in figure.axes)]


def read_text(figure: Any) -> str:
    return " ".join(text.get_text() for text in figure.findobj(Text)).replace("\n", " ")


ROWS_WITH_GAP = [make_metric("control", None), make_metric("chrono", 50.0)]
ROWS_BY_CASE: dict[str, list[dict[str, Any]]] = {
    "nothing scored": [],
    "all wrong": [make_metric("control", 0.0), make_metric("chrono", 0.0)],
    "one cluster": [make_metric("control", 50.0) | {"low": None, "high": None}],
    "a gap": ROWS_WITH_GAP,
    "no number": [make_metric("control", math.nan), make_metric("chrono", 50.0)],
}


@pytest.mark.parametrize("case", ROWS_BY_CASE)
@pytest.mark.parametrize("kind", SPECS)
def test_numbers_are_drawn_and_gaps_are_named(kind: str, case: str, tmp_path: Path) -> None:
    figure, rows = draw(make_figure_key(SPECS[kind]), ROWS_BY_CASE[case])
    text = read_text(figure)
    if ROWS_BY_CASE[case] is ROWS_WITH_GAP:
        save_figure(figure, tmp_path / "figure.png", {"title": "T", "caption": "C"})
        assert all((tmp_path / f"figure.{suffix}").stat().st_size > 1000 for suffix in ("png", "svg", "pdf"))
        assert not {"\u202e", "\x00"} & set(read_text(figure)), "invisible and reordering characters are code points"
        assert b"\x00" not in (tmp_path / "figure.svg").read_bytes(), "XML comments have no NUL character either"
    assert "Toy numbers." in text and "VELOCITI, Figure 3." in text
    if kind == "scatter":
        assert text.count("(not run here)") == 2 and not list_axes(figure), "rows without points are named"
        return
    values = {row["group"]: row["value"] for row in rows.iter_rows(named=True)}
    expected = {row["group"]: row["value"] for row in ROWS_BY_CASE[case]}
    assert values == {group: None if value is None or math.isnan(value) else value for group, value in expected.items()}
    assert ("Nothing to show" in text) == (not expected) and "Not run here, and not published: " in text
    assert "$x_{1}$ \\frac{a <b> &" in text and "[U+202E]" in text


def test_lines_over_a_single_position_are_points() -> None:
    columns = [
        {"title": title, "span": span, "group": group}
        for title, span, group in (
            ("to 5", "seconds", "control"),
            ("to 9", "seconds", "chrono"),
            ("1", "shots", "coref"),
        )
    ]
    key = make_figure_key(SPECS["lines"], columns)
    figure, _ = draw(key, [make_metric("control", 50.0)])
    (axes,) = list_axes(figure)
    assert axes.get_title() == "seconds: to 5" and [label.get_text() for label in axes.get_yticklabels()] == ["Ours"]
    text = read_text(figure)
    assert "Without any number (seconds): to 9." in text and "Without any number: shots." in text
    figure, _ = draw(key, [make_metric("control", 50.0), make_metric("chrono", 50.0)])
    assert [axes.get_title() for axes in list_axes(figure)] == ["seconds"], "two positions are joined by a line"


def test_rows_with_equal_labels_are_distinguished_in_words() -> None:
    rows = [{"label": "Ours", "model": "ov", "frames": frames} for frames in ("1fps", "1", "0")]
    key = make_figure_key(
        SPECS["points"], of_spec={"sections": [{"protocol": "entail", "sampling": "fps1", "rows": rows}]}
    )
    text = read_text(draw(key, [make_metric("control", 50.0)])[0])
    assert all(label in text for label in ("Ours (1 fps)", "Ours (1 frame)", "Ours (0 frames)"))


def test_published_numbers_replace_runs_and_are_marked(tmp_path: Path) -> None:
    published_table = published(tmp_path, "velociti,table2,Ours,8,control,strict,81.6")
    figure, rows = draw(make_figure_key(SPECS["points of columns"], runs=()), [], published_table)
    assert rows.select("row", "value", "source").rows() == [("Ours", 81.6, "published")]
    text = read_text(figure)
    assert "published by the paper" in text and "All numbers are published ones" in text
    assert "Without any number: B, C." in text and "Not run here, and not published: $x_{1}$" in text


def test_points_are_in_the_regions_of_the_metrics() -> None:
    """Strict needs two correct answers, classic a higher score; a tie is wrong; an item without a score has no region."""
    scores = {"a": (0.9, 0.1), "b": (0.9, 0.6), "c": (0.5, 0.5), "d": (None, 0.2), "e": (float("nan"), 0.2)}
    verdicts = [
        verdict_row(
            f"{name}#{role}", score=score, right=score is not None and (score > 0.5 if role == "pos" else score < 0.5)
        )
        for name, pair in scores.items()
        for role, score in zip(("pos", "neg"), pair, strict=True)
    ]
    table = pl.DataFrame(verdicts, schema=VERDICTS)
    figure, rows = draw(make_figure_key(SPECS["scatter"]), verdicts=table)
    points = rows.filter(row="Ours", group="control")
    assert points["region"].to_list() == ["strict", "classic only", "wrong", "no score", "no score"]
    text = read_text(figure)
    assert "A 1 1 1 (+2)" in text and "No panel: Ours, B, C (no requests)." in text, "there are no items of coref"
    assert len(list_axes(figure)) == 1
    without_scores = pl.DataFrame([row | {"score": None} for row in verdicts], schema=VERDICTS)
    assert "answers without scores" in read_text(draw(make_figure_key(SPECS["scatter"]), verdicts=without_scores)[0])
    subset_key = make_figure_key(SPECS["scatter"] | {"items": "subset"})
    assert "none of the subset" in read_text(draw(subset_key, verdicts=table)[0])
    items = pl.DataFrame(
        [item_row(name, task="control", groups=["subset"] * (name in "ac")) for name in scores], schema=ITEMS
    )
    points = draw(subset_key, verdicts=table, items=items)[1].filter(row="Ours", group="control")
    assert points["item_id"].to_list() == ["a", "c"], "a run of all items contains those of the subset"


def test_values_are_counted_in_ranges() -> None:
    """Vinoground's appendix L counts videos of at most 10 s and of at most 20 s."""
    assert bin_values([0.5, 2.0, 2.9], 1) == [Count("0-1", 1), Count("1-2", 0), Count("2-3", 2)]
    assert bin_values([0.3], 0.1) == [Count("0.3-0.4", 1)] and bin_values([], 1) == []
    counts = bin_values([0.0, 0.5, 1.0, 9.5, 10.0, 10.001, 20.0], 1, is_right_closed=True)
    assert {count.name: count.value for count in counts if count.value} == {"0-1": 3, "9-10": 2, "10-11": 1, "19-20": 1}


def test_numbers_from_the_text_of_the_paper_are_compared_with_ours(tmp_path: Path) -> None:
    stated = {"published": {"values_in_text": {"Ours": 49.2}}}
    key = make_figure_key(SPECS["points of columns"], [column | stated for column in COLUMNS[:2]])
    figure, rows = draw(key, [make_metric("control", 50.0)], published(tmp_path))
    assert rows.select("group", "value", "published", "source").rows() == [
        ("control", 50.0, 49.2, "reproduced"), ("chrono", 49.2, 49.2, "published")
    ]  # fmt: skip
    assert PUBLISHED_LABEL in read_text(figure)


def test_a_figure_shows_the_counts_of_a_construction() -> None:
    counts = [{"title": "(a) verbs", "statistic": "verbs"}, {"title": "(b)", "statistic": "agents"}]
    key = make_figure_key({"kind": "distribution", "construction_statistics": counts})
    verb_statistics = [("verbs", "4 or more, %", 87.0, 50.0), ("verbs", "2", None, 1.0), ("verbs", "4", None, 1.0)]
    figure, rows = draw(key, statistics=[(*row, "") for row in (*verb_statistics, ("x", "1", None, 9.0))])
    assert rows.select("metric", "group", "published", "value").rows() == verb_statistics
    text = read_text(figure)
    assert "(a) verbs, 4 or more: 50 % here, about 87 % in the paper." in text
    assert "Not counted in this construction: (b)." in text and len(list_axes(figure)) == 1
    assert "always 3 (7 times)" in read_text(draw(key, statistics=[("agents", "3", None, 7.0, "")])[0])
    assert "the benchmark is not constructed here" in read_text(draw(key)[0])


def test_two_drawings_have_the_same_bytes(tmp_path: Path) -> None:
    """The two processes have different hash seeds and time zones."""
    settings = format_settings_line("figures/velociti/fig3", make_figure_key(SPECS["scatter"]).model_dump(mode="json"))
    assert '"sha256"' not in settings, "the settings are complete, so the job needs no configuration"
    verdicts = Path("results/s/verdicts", RUN, "robust.parquet")
    rows = [verdict_row(f"{name}#{role}", score=0.3, right=False) for name in "abcde" for role in ("pos", "neg")]
    write_table(pl.DataFrame([make_metric("control", 50.0)], schema=METRICS), tmp_path / "metrics.parquet", METRICS)
    write_table(pl.DataFrame(rows, schema=VERDICTS), tmp_path / verdicts, VERDICTS)
    write_table(CONTROL_ITEMS, tmp_path / "items.parquet", ITEMS)
    inputs = {"settings": settings, "metrics": "metrics.parquet", "item-table": "items.parquet", "verdicts": verdicts}
    digests = []
    for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo")):
        out = tmp_path / seed / "fig3.png"
        options = [
            str(argument) for name, value in (inputs | {"png": out}).items() for argument in (f"--{name}", value)
        ]
        command = [sys.executable, "-m", "reprise.stages", "--store", "store", "figure", *options]
        subprocess.run(command, check=True, cwd=tmp_path, env=os.environ | {"PYTHONHASHSEED": seed, "TZ": zone})
        files = sorted(path for path in out.parent.iterdir() if not path.name.startswith("."))
        assert all(verify_sealed_text(path).with_name(f".{path.name}.sum").is_file() for path in files), (
            "all files have a checksum"
        )
        digests.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files})
    assert digests[0] == digests[1] and set(digests[0]) == {"fig3.pdf", "fig3.svg", "fig3.png", "fig3.csv"}
    points = pl.read_csv(tmp_path / "1/fig3.csv").filter(pl.col("row") == "Ours", pl.col("group") == "control")
    assert points.select("item_id", "across", "region").rows() == [(name, 0.3, "wrong") for name in "abcde"]


def test_only_figures_import_matplotlib() -> None:
    code = "import sys, reprise.plan.suite, reprise.stages.metrics, reprise.stages.table; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "False\n"


def test_groups_have_panels_and_missing_groups_are_named() -> None:
    spec = {"kind": "distribution", "axis": "questions", "groups": [{"title": "All", "group": "control"}]}
    extra_panels = [{"title": "Others", "group": "control"}, {"title": "Nowhere", "group": "chrono"}]
    figure, rows = draw(make_figure_key(spec | {"extra_panels": extra_panels}))
    assert rows.select("row", "group", "value").rows() == [("", "All", 5.0), ("Others", "All", 5.0)]
    text = read_text(figure)
    assert "VELOCITI" in text and "Others" in text and "Data not available: Nowhere." in text


def test_a_single_count_is_written_as_text() -> None:
    apply_style()
    for counts, text in (
        ([Count("0-10", 0), Count("10-12", 24)], "All 24 videos are in one bin: 10 to 12 (seconds)"),
        ([Count("Animation", 3), Count("News", 0)], "All 3 videos: Animation"),
    ):
        canvas = create_canvas(4.4, 0.5, "Title", "Origin", [])
        draw_distribution(canvas, [("", counts)], "seconds", "videos", [])
        assert text in read_text(canvas.figure) and not canvas.body.axes[0].patches
    canvas = create_canvas(4.4, 2.2, "Title", "Origin", [])
    draw_distribution(canvas, [("", [Count("10-12", 24)])], "seconds", "videos", [Count("mean", 9.0)])
    assert canvas.body.axes[0].patches, "with a published number, the count has a bar"
    canvas = create_canvas(4.4, 2.2, "Title", "Origin", [])
    draw_distribution(canvas, [("", [])], "seconds", "videos", [Count("mean", 9.0)])
    assert "videos" not in read_text(canvas.figure), "without a count, there is no axis of counts"


ROOT = Path(__file__).parents[3]
PARTLY_DRAWN = {"vinoground": {1}}  # only the right half of Figure 1 is drawn
FIGURES = {
    "velociti": ("VELOCITI", 18),
    "vinoground": ("Vinoground", 13),
    "temporalbench": ("TemporalBench", 7),
    "mmbench_video": ("MMBench-Video", 10),
}


@pytest.mark.parametrize("benchmark", FIGURES)
def test_a_figure_is_drawn_or_listed_with_the_reason(benchmark: str) -> None:
    title, figure_count = FIGURES[benchmark]
    names = {name for suite in ("paper", "construction")
             for name in getattr(load(ROOT, {"suite": suite}).figures.get(benchmark), "figures", ())}  # fmt: skip
    drawn = {int(name.removeprefix("fig")) for name in names if name.startswith("fig")}
    page = (ROOT / "docs/reference/figures.md").read_text().partition("## What is not drawn")[2]
    missing: list[int] = []
    for cells in re.findall(rf"^\| {title} \| ([^|]+) \| [^|]+ \|$", page, re.MULTILINE):
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", cells):
            missing += range(int(first), int(last or first) + 1)
    assert len(missing) == len(set(missing))
    assert set(missing) & drawn == PARTLY_DRAWN.get(benchmark, set()) and set(missing) | drawn == set(
        range(1, figure_count + 1)
    )

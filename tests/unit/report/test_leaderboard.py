"""Test the leaderboard and the best models of the first page, with the papers' published numbers and invented ones."""

from functools import cache

import polars as pl
import pytest
from reprise.core.paths import settings_name
from reprise.core.schemas import METRICS
from reprise.report.best_models import Ranking, build_rankings
from reprise.report.keys import ReportedBenchmark, ReportKey
from reprise.report.leaderboard import (
    Cell,
    Leaderboard,
    LeaderboardRow,
    PairedComparisons,
    build_leaderboard,
    combine_intervals,
    is_distinguishable,
)
from reprise.report.leaderboard_entries import Sources
from reprise.stats.paired import PairedComparison
from reprise.tables.builder import TableBuilder
from reprise.tables.keys import TableKey
from reprise.tables.published import PublishedTable, published_path

from tests.unit.tables.full_tables import list_settings
from tests.unit.tables.test_published import PAPERS, read

HEADLINE = {
    "metric": "mean", "group": "overall", "title": "Mean", "decimals": 2, "table": None, "protocol": "unpacked",
    "sampling": "fps1",
}  # fmt: skip
Number = tuple[str, float]  # run and value


def make_run(model: str, protocol: str = "unpacked", sampling: str = "fps1") -> str:
    return f"mmbench_video/{protocol}/{sampling}/{model}"


def make_leaderboard(
    *numbers: Number,
    leads: PairedComparisons | None = None,
    overview: tuple[str, ...] = (),
    broken: frozenset[str] = frozenset(),
) -> Leaderboard:
    """Return the leaderboard of runs on a benchmark with ratings; `random` is a baseline."""
    runs = [{"run": run, "label": run.rpartition("/")[2]} for run, _ in numbers]
    benchmark = ReportedBenchmark.model_validate(
        {"name": "mmbench_video", "title": "MMBench-Video", "has_clips": True, "headline": HEADLINE, "runs": runs}
        | {"forms": {"unpacked": "unpacked", "packed": "packed"}, "max_rating": {"unpacked": 3}}
        | {"items": {"unpacked.subset": "subset"}}
    )
    models = {model: {"label": model.title(), "reference": model == "random"} for model in ("early", "late", "random")}
    key = ReportKey.model_validate(
        {"suite": "small", "suite_title": "Small", "clips": "link", "shards": 1, "show_published": False}
        | {"overview": False, "benchmarks": [benchmark], "models": models, "overview_models": overview}
    )
    rows = {
        run: {"metric": "mean", "group": "overall", "value": value, "low": value - 0.25, "high": value + 0.25}
        | {"p_chance": None, "requested": 80}
        for run, value in numbers
    }
    assert benchmark.headline is not None
    overview_runs = frozenset({make_run("late")})
    sources = Sources(benchmark, benchmark.headline, None, overview_runs, rows, "videos", None, broken)
    return build_leaderboard(key, [sources], lambda run, metric, group: f"{run}?{metric}", leads or {})


def rank(*numbers: Number, leads: PairedComparisons | None = None) -> Ranking:
    (ranking,) = build_rankings(make_leaderboard(*numbers, leads=leads), leads or {})
    return ranking


def test_a_baseline_is_never_the_best_and_models_of_the_overview_are_pinned() -> None:
    leaderboard = make_leaderboard(
        (make_run("early"), 0.5), (make_run("late"), 2.0), (make_run("random"), 2.5), overview=("random", "late")
    )
    assert [(row.label, row.kind, row.is_pinned) for row in leaderboard.rows] == [
        ("Late", "model", True), ("Random", "baseline", False), ("Early", "model", False)
    ]  # fmt: skip
    late, random, early = (row.cells["mmbench_video"] for row in leaderboard.rows)
    assert late.is_best_measured and not random.is_best_measured
    assert (late.link, leaderboard.rows[0].page) == ("mmbench_video/unpacked/fps1/late?mean", "models/late.html")
    assert not early.is_tied
    (column,) = leaderboard.columns
    assert (column.samples, column.chance) == ("80 videos", None)
    assert (column.percent(1.5), column.percent(-1), column.percent(9)) == (50, 0, 100), "the scale ends at 3"
    assert make_leaderboard().columns == [], "a benchmark without numbers has no column"


def test_a_run_that_looks_broken_is_shown_but_does_not_compete() -> None:
    numbers = ((make_run("early"), 0.5), (make_run("other"), 0.75), (make_run("late"), 0.0))
    leaderboard = make_leaderboard(*numbers, broken=frozenset({make_run("late"), make_run("other")}))
    cells = {row.label: row.cells["mmbench_video"] for row in leaderboard.rows}
    assert {label for label, cell in cells.items() if cell.is_broken} == {"Late", "other"}
    assert cells["Early"].is_best_measured and cells["Early"].rank == "1 of 1"
    assert not any(cells[label].is_best_measured or cells[label].is_tied for label in ("Late", "other"))
    (ranking,) = build_rankings(leaderboard, {})
    assert ranking.measured and ranking.measured.row.label == "Early"
    assert ranking.measured.lead == "No other model has a usable number here."
    assert [row.label for row, _ in ranking.entries] == ["other", "Early", "Late"]


def test_a_model_with_several_runs_has_the_one_of_the_overview_or_the_closest_to_the_headline() -> None:
    leaderboard = make_leaderboard(
        (make_run("late", "packed"), 3.0),
        (make_run("late"), 2.0),
        (make_run("early", "packed", "none"), 3.0),
        (make_run("early", "packed"), 1.0),
        (make_run("late", "unpacked.subset"), 2.5),
    )
    numbers = {row.label: row.cells for row in leaderboard.rows}
    assert numbers["Late"]["mmbench_video"].value == 2.0
    assert numbers["Early"]["mmbench_video"].value == 1.0, "the higher number has another sampling"
    assert numbers["Early"]["mmbench_video"].condition == "packed, fps1"
    assert [(column.title, column.is_subset) for column in leaderboard.columns] == [
        ("MMBench-Video", False), ("MMBench-Video subset", True)
    ]  # fmt: skip
    assert numbers["Late"]["mmbench_video-subset"].value == 2.5


@pytest.mark.parametrize(
    ("other", "high", "is_different"), [(41.7, 50.0, False), (12.5, 32.1, True), (30.0, 40.0, False)]
)
def test_runs_that_cannot_be_paired_differ_by_the_interval_of_the_difference(
    other: float, high: float, is_different: bool
) -> None:
    """By hand, 41.7 - 12.5 = 29.2 > sqrt(16.6^2 + 19.6^2) = 25.7 although the intervals overlap; 11.7 < sqrt(16.6^2 + 10^2)."""
    best = Cell(41.7, 25.1, 60.3, run="a")
    assert is_distinguishable(best, Cell(other, 0.0, high, run="b"), {}) == is_different
    assert not is_distinguishable(best, Cell(other, run="b"), {}), "a number without an interval"


def test_the_interval_of_a_difference_is_closed_if_one_number_is_certain() -> None:
    """By hand, sqrt(16.6^2 + 19.6^2) = 25.7 below and sqrt(18.6^2 + 8.6^2) = 20.5 above 29.2; a constant only moves the interval."""
    best = Cell(41.7, 25.1, 60.3, run="a")
    assert combine_intervals(best, Cell(12.5, 3.9, 32.1)) == pytest.approx((29.2 - 25.68, 29.2 + 20.49), abs=0.01)
    assert combine_intervals(best, Cell(10.0, 10.0, 10.0)) == pytest.approx((15.1, 50.3))


@pytest.mark.parametrize(("p", "verdict"), [(0.0301, "a significant lead"), (0.2, "no significant lead")])
def test_a_lead_has_an_interval_and_a_verdict_if_the_runs_were_compared(p: float, verdict: str) -> None:
    leads = {(make_run("late"), make_run("early")): PairedComparison(9, 9, 1.5, 0.75, 2.25, p)}
    ranking = rank((make_run("early"), 0.5), (make_run("late"), 2.0), leads=leads)
    assert ranking.measured is not None
    lead = ranking.measured.lead.replace("\N{NO-BREAK SPACE}", " ")
    assert lead == f"1.50 [0.75, 2.25] above Early, p = {p:.4f}: {verdict}."
    leaderboard = make_leaderboard((make_run("early"), 0.5), (make_run("late"), 2.0), leads=leads)
    assert leaderboard.rows[0].cells["mmbench_video"].is_tied == (p > 0.05)


def test_other_leads_are_tested_by_intervals_and_variants_are_no_second_model() -> None:
    overlapping = rank((make_run("early", "packed"), 1.7), (make_run("late"), 2.0))
    assert overlapping.measured and overlapping.measured.lead.endswith(
        "above Early, by the intervals of both: no significant lead."
    )
    three = rank((make_run("early", "packed"), 1.7), (make_run("other", "packed"), 1.8), (make_run("late"), 2.0))
    assert three.measured and ": no significant lead over it and Early." in three.measured.lead
    names = [f"model-{index}" for index in range(6)]
    many = rank(*((make_run(name, "packed"), 1.8) for name in names), (make_run("late"), 2.0))
    expected = ": no significant lead over it, model-1, model-2 and 3 more."
    assert many.measured and expected in many.measured.lead
    single = rank((make_run("late"), 2.0), (make_run("late", "packed"), 1.9), (make_run("random"), 2.5))
    assert single.measured and single.measured.lead == "No other model has a usable number here."
    only_baseline = rank((make_run("random"), 0.5))
    assert only_baseline.measured is None and len(only_baseline.entries) == 1


def test_a_variant_of_the_best_model_before_the_second_model_is_explained() -> None:
    leaderboard = make_leaderboard((make_run("late"), 2.0), (make_run("early"), 0.5), (make_run("random"), 2.5))
    cells = {"mmbench_video": Cell(1.0, 0.75, 1.25, run=make_run("late", "packed"), is_tied=True)}
    variant = LeaderboardRow("late/1 frame", "Late, 1 frame", "late", "model", "", is_variant=True, cells=cells)
    (ranking,) = build_rankings(leaderboard._replace(rows=[*leaderboard.rows, variant]), {})
    assert ranking.measured is not None
    assert ranking.measured.lead == (
        "1.50 [1.15, 1.85] above Early, the best other model, by the intervals of both: a significant lead. "
        "Tied with Late, 1 frame, the same model."
    )
    assert [row.label for row, _ in ranking.entries] == ["Random", "Late", "Late, 1 frame", "Early"]


@cache
def make_published_leaderboard() -> Leaderboard:
    """Return the leaderboard of the paper suite, in which nothing is run."""
    settings = list_settings("paper")
    (key,) = (key for key in settings if isinstance(key, ReportKey))
    table_keys = {settings_name("tables", key.benchmark, key.table): key for key in settings if type(key) is TableKey}
    sources = []
    for benchmark in key.benchmarks:
        assert benchmark.headline is not None and benchmark.headline.table is not None
        table_key = table_keys[settings_name("tables", benchmark.name, benchmark.headline.table)]
        published = PublishedTable(published_path(benchmark.name), benchmark.headline.table)
        builder = TableBuilder(table_key, pl.DataFrame(schema=METRICS), published)
        sources.append(Sources(benchmark, benchmark.headline, builder, frozenset(), {}, "", None))
    return build_leaderboard(key, sources, lambda run, metric, group: "", {})


@pytest.mark.parametrize("paper", PAPERS)
def test_every_row_of_a_papers_main_table_is_in_the_leaderboard(paper: str) -> None:
    leaderboard = make_published_leaderboard()
    columns = [column for column in leaderboard.columns if column.benchmark.name == paper]
    headline = columns[0].headline
    printed = [
        float(number.value)
        for number in read(paper)
        if (number.table, number.metric, number.group) == (headline.table, headline.metric, headline.group)
        and not number.row.startswith("Random")
    ]
    cells = [cell for row in leaderboard.rows for column in columns if (cell := row.cells.get(column.name))]
    assert sorted(cell.value for cell in cells) == sorted(printed)
    assert not any(cell.run or cell.is_tied for cell in cells)


def test_the_best_published_model_is_the_best_of_all_rows_and_a_subset_is_apart() -> None:
    rankings = {ranking.column.title: ranking for ranking in build_rankings(make_published_leaderboard(), {})}
    best = {
        title: (ranking.published.row.label, ranking.published.value)
        for title, ranking in rankings.items()
        if ranking.published
    }
    assert best["Vinoground"] == ("o3", 56.6), "the best row of Table 3, not of a selection"
    velociti = rankings["VELOCITI"]
    assert not velociti.column.is_subset and velociti.subset is not None
    assert velociti.column.samples == "6,157 in the release", "the control test does not count"
    assert rankings["TemporalBench"].column.samples == "", "the number of groups of questions is unknown"
    assert velociti.subset.column.samples == "1,043 in the release" and velociti.subset.published is not None
    assert all(ranking.measured is None for ranking in rankings.values())
    humans = [row.label for row, _ in rankings["Vinoground"].entries if row.kind == "human"]
    assert humans == ["Humans"], "the best human result is in the chart"


def test_variants_of_a_model_have_names_of_their_own() -> None:
    rows = make_published_leaderboard().rows
    labels = [row.label for row in rows]
    assert len(labels) == len(set(labels))
    variants = {label for label in labels if label.startswith("GPT-4o")}
    assert variants == {"GPT-4o"} | {
        f"GPT-4o, {setting}"
        for setting in ("chain of thought", "text only", "1 frame", "16 frames", "1 frame per second")
    }
    (text_only,) = (row for row in rows if row.label == "GPT-4o, text only")
    assert {"vinoground", "temporalbench", "mmbench_video"} == set(text_only.cells), "one row for one setting"
    (gpt_4o,) = (row for row in rows if row.label == "GPT-4o")
    assert gpt_4o.cells["vinoground"].value == 24.6
    assert {"velociti-subset", "vinoground", "temporalbench", "mmbench_video"} == set(gpt_4o.cells)


@pytest.mark.parametrize(
    ("protocols", "condition"), [(["paper", "cot"], ""), (["cot"], "chain of thought, 1 frame per second")]
)
def test_a_run_that_takes_the_place_of_one_without_a_number_names_its_protocol(
    protocols: list[str], condition: str
) -> None:
    settings = list_settings("demo")
    (key,) = (key for key in settings if isinstance(key, ReportKey))
    (benchmark,) = (benchmark for benchmark in key.benchmarks if benchmark.name == "vinoground")
    (table_key,) = (
        key for key in settings if isinstance(key, TableKey) and key.table == "table3" and key.benchmark == "vinoground"
    )
    assert benchmark.headline is not None
    number = {
        "metric": "group",
        "group": "all",
        "value": 50.0,
        "low": 25.0,
        "high": 75.0,
        "p_chance": 0.5,
        "requested": 8,
    }
    numbers = {f"vinoground/{protocol}/fps1/toy-llava-ov": number for protocol in protocols}
    builder = TableBuilder(table_key, pl.DataFrame(schema=METRICS), PublishedTable(None, None))
    overview_runs = frozenset({"vinoground/paper/fps1/toy-llava-ov"})
    sources = Sources(benchmark, benchmark.headline, builder, overview_runs, numbers, "", None)
    leaderboard = build_leaderboard(key, [sources], lambda run, metric, group: "", {})
    (cell,) = (row.cells["vinoground"] for row in leaderboard.rows if row.key == "toy-llava-ov")
    assert (cell.run, cell.condition) == (f"vinoground/{protocols[0]}/fps1/toy-llava-ov", condition)


def test_only_the_main_row_of_a_model_has_its_style() -> None:
    styles = {row.label: row.style for row in make_published_leaderboard().rows}
    assert styles["GPT-4o"] is not None and styles["GPT-4o, chain of thought"] is None and styles["Humans"] is None


def test_a_published_number_at_the_chance_of_its_protocol_is_marked() -> None:
    """Similarities reach 16.67 by chance, answers to questions 6.25."""
    marked = {
        row.label: cell.chance
        for row in make_published_leaderboard().rows
        if (cell := row.cells.get("vinoground")) and cell.is_above_chance is False
    }
    assert marked["LanguageBind"] == pytest.approx(100 / 6) and marked["GPT-4o, text only"] == 6.25
    assert "o3" not in marked


def test_published_rows_are_never_pinned() -> None:
    rows = make_published_leaderboard().rows
    assert not any(row.is_pinned for row in rows)
    assert {row.kind for row in rows} == {"model", "human"}

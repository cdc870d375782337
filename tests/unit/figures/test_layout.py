"""Test that every figure of the demo is readable at the widths of venues: nothing overlaps, is cut off or too small."""

from collections.abc import Iterator
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path

import polars as pl
import pytest
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from reprise.config.figures import Distribution, Points, Scatter
from reprise.core.schemas import CLIP_METADATA, CONSTRUCTION_STATISTICS, ITEMS, METRICS, VERDICTS
from reprise.figures.canvas import MAX_HEIGHT, fix_layout
from reprise.figures.draw import draw_figure
from reprise.figures.keys import FigureKey
from reprise.figures.scatter import PointCloud, arrange
from reprise.tables.builder import TableBuilder
from reprise.tables.published import PublishedTable
from reprise.temporal.figure import draw_profiles
from reprise.temporal.measure import build_profile

from tests.unit.figures.test_figures import list_axes
from tests.unit.figures.test_styles import SMALLEST_TEXT, draw_two_models, load_settings
from tests.unit.rows import item_row, verdict_row
from tests.unit.tables.world import metric_row
from tests.unit.temporal.profile_inputs import key_of_rule

WIDTHS = (3.03, 3.25, 5.5)  # inches: columns of ACL and of CVPR, and the text of NeurIPS
NO_NUMBERS = PublishedTable(None, "")


@cache
def load_keys() -> dict[str, FigureKey]:
    """Return the settings of the demo's figures by name."""
    return {name: key for name, key in load_settings("demo").items() if isinstance(key, FigureKey)}


def make_builders(key: FigureKey) -> list[TableBuilder]:
    """Return the tables of a figure with a number in every cell, so that no panel, row or label is left out."""
    builders = []
    for part in key.parts:
        builder = TableBuilder(part, pl.DataFrame(schema=METRICS), NO_NUMBERS)
        rows = [
            metric_row(
                scored.run.name, metric, row.group or column.group or "", 100.0, low=50.0, judge=scored.judge or None
            )
            for row in part.spec.rows()
            for column in part.spec.columns
            if (scored := builder.find_scored_run(row, column))
            for metric in part.spec.list_metrics(column)
        ]
        numbers = pl.DataFrame(rows, schema=METRICS).unique(["run", "judge", "metric", "group"], maintain_order=True)
        builders.append(TableBuilder(part, numbers, NO_NUMBERS))
    return builders


def list_groups(key: FigureKey) -> list[str]:
    """Return the groups of items that a figure counts or shows as points."""
    if isinstance(key.spec, Distribution):
        groups = [*(key.spec.groups or []), *key.spec.extra_panels]
        return [group for group in (*(group.group for group in groups), key.spec.group, key.spec.task) if group]
    return list(dict.fromkeys(column.group for part in key.parts for column in part.spec.columns if column.group))


def make_items(key: FigureKey) -> pl.DataFrame:
    """Return four items of each group, each about a clip of its own."""
    groups, task = list_groups(key), getattr(key.spec, "task", None)
    rows = [
        item_row(f"{group}-{number}", clip_id=f"{group}-{number}", task=task or group, groups=[*groups, "subset"])
        for group in groups or ["all"]
        for number in range(4)
    ]
    return pl.DataFrame(rows, schema=ITEMS)


def make_clip_metadata(items: pl.DataFrame) -> pl.DataFrame:
    """Return metadata of all clips with various values."""
    columns = [
        {
            "clip_id": clip,
            "duration_s": 1.0 + 7 * (index % 9),
            "shots": 1 + 3 * (index % 7),
            "black_share": index % 5 / 6,
        }
        for index, clip in enumerate(items["clip_id"])
    ]
    return pl.DataFrame(columns).select(
        (pl.col(name) if name in columns[0] else pl.lit(None)).cast(kind).alias(name)
        for name, kind in CLIP_METADATA.items()
    )


def make_verdicts(key: FigureKey, builders: list[TableBuilder], items: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return verdicts with scores for each run of a scatter plot."""
    if not isinstance(key.spec, Scatter):
        return {}
    rows = [
        verdict_row(f"{item}#{role}", score=score, right=False)
        for item in items["item_id"]
        for role, score in ((key.spec.across, 0.9), (key.spec.up, 0.2))
    ]
    table = pl.DataFrame(rows, schema=VERDICTS)
    return {run: table for builder in builders for run in builder.key.runs}


@cache
def draw_demo_figure(name: str, width: float) -> Figure:
    """Return a figure of the demo at a width in inches, with all its numbers and with its final layout."""
    key = load_keys()[name].model_copy(update={"width": width})
    builders, items = make_builders(key), make_items(key)
    figure, _ = draw_figure(
        key,
        builders,
        items=items,
        clip_metadata=make_clip_metadata(items),
        verdicts=make_verdicts(key, builders, items),
        published=NO_NUMBERS,
        construction_counts=pl.DataFrame(schema=CONSTRUCTION_STATISTICS),
    )
    fix_layout(figure)
    return figure


def list_drawn_texts(figure: Figure) -> list[tuple[Text, Bbox]]:
    """Return all texts that are visible, each with its box in inches."""
    renderer, texts = figure.canvas.get_renderer(), []
    with pytest.MonkeyPatch.context() as patch:  # matplotlib draws only the tick labels inside the limits of an axis.
        patch.setattr(Text, "draw", lambda text, _renderer: texts.append(text))
        figure.draw(renderer)
    to_inches = figure.dpi_scale_trans.inverted()
    visible = [text for text in texts if text.get_visible() and text.get_text().strip()]
    return [(text, text.get_window_extent(renderer).transformed(to_inches)) for text in visible]


def overlap(first: Bbox, second: Bbox, tolerance: float = 0.005) -> bool:
    """Return whether two boxes in inches have more than the tolerance in common."""
    shared = Bbox.intersection(first, second)
    return shared is not None and min(shared.width, shared.height) > tolerance


def iter_problems(figure: Figure) -> Iterator[str]:
    """Yield the texts that overlap, leave the canvas, cover a panel or are too small."""
    texts = list_drawn_texts(figure)
    to_inches = figure.dpi_scale_trans.inverted()
    panels = [axes.get_window_extent().transformed(to_inches) for axes in list_axes(figure) if axes.get_visible()]
    canvas = Bbox.from_bounds(0, 0, *figure.get_size_inches()).padded(0.005)
    for text, box in texts:
        if text.get_fontsize() < SMALLEST_TEXT:
            yield f"{text.get_text()!r} is too small"
        if not (canvas.contains(box.x0, box.y0) and canvas.contains(box.x1, box.y1)):
            yield f"{text.get_text()!r} leaves the canvas"
        if text.axes is None and any(overlap(box, panel) for panel in panels):
            yield f"{text.get_text()!r} covers a panel"
    for (first, first_box), (second, second_box) in combinations(texts, 2):
        if overlap(first_box, second_box):
            yield f"{first.get_text()!r} and {second.get_text()!r} overlap"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", load_keys())
def test_figures_of_the_demo_are_readable(name: str, width: float) -> None:
    figure = draw_demo_figure(name, width)
    assert list_axes(figure), "the test's numbers fill the figure"
    assert list(iter_problems(figure)) == []
    assert figure.get_figwidth() == width and figure.get_figheight() <= MAX_HEIGHT


def test_problems_are_noticed() -> None:
    figure = draw_two_models("points", 3.25)
    fix_layout(figure)
    assert not list(iter_problems(figure))
    figure.text(0.98, 0.98, "outside", ha="left", fontsize=5)
    figure.text(0.6, 0.5, "first")
    figure.text(0.61, 0.5, "second")
    assert {*iter_problems(figure)} >= {
        "'outside' is too small", "'outside' leaves the canvas", "'first' covers a panel", "'first' and 'second' overlap"
    }  # fmt: skip


LONG_TITLE = "Questions on the order of events, subset"


@pytest.mark.parametrize("width", [*WIDTHS, 6.875])
@pytest.mark.parametrize("titles", [[LONG_TITLE] * 4, ["VELOCITI", LONG_TITLE], [LONG_TITLE, "VELOCITI", "Vinoground"]])
def test_long_titles_of_benchmarks_fit_temporal_profiles(tmp_path: Path, titles: list[str], width: float) -> None:
    profile, _ = build_profile(key_of_rule(tmp_path, lambda condition, number: number % 3 > 0))
    (benchmark,) = profile.benchmarks
    benchmarks = tuple(
        benchmark.model_copy(update={"name": f"benchmark-{index}", "title": title})
        for index, title in enumerate(titles)
    )
    profile = profile.model_copy(update={"benchmarks": benchmarks})
    other_profile = profile.model_copy(update={"title": "Other"})
    for profiles in ([profile], [other_profile, profile]):
        figure = draw_profiles(profiles, width)
        fix_layout(figure)
        assert list(iter_problems(figure)) == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", [name for name, key in load_keys().items() if isinstance(key.spec, Points)])
def test_equal_numbers_of_several_models_do_not_cover_each_other(name: str, width: float) -> None:
    for axes in list_axes(draw_demo_figure(name, width)):
        marks = [line for line in axes.lines if len(line.get_xdata()) == 1]
        heights = sorted(axes.transData.transform(line.get_xydata()[0])[1] * 72 / axes.figure.dpi for line in marks)
        assert len(marks) > 1
        distance = min(second - first for first, second in pairwise(heights))
        assert distance >= 0.95 * max(line.get_markersize() for line in marks), "points of font size"


@pytest.mark.parametrize("width", [*WIDTHS, 6.875])
def test_many_rows_of_scatter_plots_fit_a_page(width: float) -> None:
    clouds = [PointCloud(row, "", panel, "", pl.DataFrame()) for row in "abcdefg" for panel in "ABCDEFGH"]
    grid = arrange(clouds, 8, width, 7.8)
    assert grid.height < 7.8 + 1e-9 and grid.columns == 8
    assert arrange(clouds, 8, width, 99).columns == (4 if width < 4 else 8), "a higher page has larger panels"


def test_a_fill_means_one_number_of_frames_in_all_figures() -> None:
    fills: dict[str, set[str]] = {}
    for name in load_keys():
        figure = draw_demo_figure(name, 5.5)
        for legend in figure.findobj(Legend):
            for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
                fills.setdefault(text.get_text(), set()).add(handle.get_fillstyle())
    assert all(len(styles) == 1 for styles in fills.values())
    expected = {"(0 frames)": "bottom", "-[1f]": "left", "-[8f]": "full"}
    named = [(suffix, *fills[label]) for label in fills for suffix in expected if label.endswith(suffix)]
    assert set(named) == set(expected.items())

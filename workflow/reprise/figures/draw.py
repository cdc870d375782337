"""Draw a figure from its settings, and build its tidy rows."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import polars as pl
from matplotlib.figure import Figure

from reprise.benchmarks.registry import load_scores
from reprise.config.figures import ConstructionCount, Distribution, Lines, Points, Scatter
from reprise.core.plain import summarize_list
from reprise.figures import chart, distribution, lines, points, scatter
from reprise.figures.canvas import Canvas, apply_style, compute_body_limit, create_canvas
from reprise.figures.chart import ChartRow, Panel
from reprise.figures.keys import FigureKey
from reprise.figures.series import LegendEntries, is_published, style_labels
from reprise.tables.builder import TIDY_SCHEMA, TableBuilder
from reprise.tables.footnotes import judge_notes
from reprise.tables.published import PublishedTable

MAX_NAMES = 8  # rows that a note names, and notes on rows
NO_NUMBERS_NOTE = "Nothing to show: no number is measured here or published."


def draw_figure(
    key: FigureKey,
    builders: Sequence[TableBuilder],
    items: pl.DataFrame,
    clip_metadata: pl.DataFrame,
    verdicts: Mapping[str, pl.DataFrame],
    published: PublishedTable,
    construction_counts: pl.DataFrame,
) -> tuple[Figure, pl.DataFrame]:
    """Return the figure and its tidy rows.

    Args:
        key: The settings of the figure.
        builders: One builder for each part of a table that the figure shows.
        items: The items of the benchmark, with the groups of the analyses.
        clip_metadata: The metadata of the clips.
        verdicts: Name of a run -> its verdicts, for a scatter plot.
        published: The paper's values that a distribution marks.
        construction_counts: The counts of the benchmark's construction.
    """
    apply_style()
    spec = key.spec
    if isinstance(spec, Distribution) and spec.construction_statistics is not None:
        return _draw_construction(key, spec.construction_statistics, spec.axis, construction_counts)
    if isinstance(spec, Distribution):
        return _draw_distribution(key, spec, items, clip_metadata, published)
    if isinstance(spec, Scatter):
        return _draw_scatter(key, spec, builders[0], chart.build_chart_rows(builders), items, verdicts)
    return _draw_numbers(key, spec, builders, chart.build_chart_rows(builders))


def _draw_distribution(
    key: FigureKey, spec: Distribution, items: pl.DataFrame, clip_metadata: pl.DataFrame, published: PublishedTable
) -> tuple[Figure, pl.DataFrame]:
    """Draw counts of items or clips by category or by a measurement, in one panel per group."""
    groups = load_scores(key.benchmark).GROUPS
    benchmark_counts = distribution.compute_counts(spec, items, clip_metadata, groups)
    group_specs = {group.title: spec.model_copy(update={"group": group.group}) for group in spec.extra_panels}
    group_counts = {
        title: distribution.compute_counts(group_spec, items, clip_metadata, groups)
        for title, group_spec in group_specs.items()
    }
    group_panels = [(title, panel_counts) for title, panel_counts in group_counts.items() if panel_counts]
    marks = [distribution.Count(*row) for row in published.metric_values(spec.marks.metric)] if spec.marks else []
    notes = [] if benchmark_counts else ["Nothing is counted, because the data are not available."]
    if missing_titles := [title for title, panel_counts in group_counts.items() if not panel_counts]:
        notes.append(f"Data not available: {', '.join(missing_titles)}.")
    has_panel = benchmark_counts or marks
    panels = [*([(key.benchmark_title, benchmark_counts)] if has_panel else []), *group_panels]
    height = distribution.compute_height(panels, key.width, has_marks=bool(marks))
    canvas = _create_canvas(key, height, distribution.build_legend(marks), notes)
    distribution.draw_distribution(canvas, panels, spec.unit, spec.axis, marks)
    shared_columns = {"suite": key.suite, "table": f"{key.benchmark}/{key.figure}"}
    data_columns = shared_columns | {"metric": spec.measurement or "count", "source": "data"}
    published_columns = shared_columns | {"metric": spec.marks.metric if spec.marks else "", "source": "published"}
    rows = [
        data_columns | {"row": row, "group": count.name, "value": count.value}
        for row, panel_counts in (("", benchmark_counts), *group_panels)
        for count in panel_counts
    ]
    rows += [published_columns | {"row": mark.name, "value": mark.value} for mark in marks]
    return canvas.figure, pl.DataFrame(rows, schema=TIDY_SCHEMA)


def _draw_construction(
    key: FigureKey, counts: Sequence[ConstructionCount], axis: str, construction_counts: pl.DataFrame
) -> tuple[Figure, pl.DataFrame]:
    """Draw the counts of a benchmark's construction beside those of the paper."""
    selected_counts = construction_counts.filter(pl.col("statistic").is_in([count.statistic for count in counts]))
    notes = list(distribution.iter_share_notes(counts, selected_counts))
    available_counts = [count for count in counts if count.statistic in set(selected_counts["statistic"])]
    if not available_counts:
        notes = ["Nothing is counted, because the benchmark is not constructed here."]
    elif missing := [count.title for count in counts if count not in available_counts]:
        notes.append(f"Not counted in this construction: {', '.join(missing)}.")
    panel_rows = math.ceil(len(available_counts) / distribution.PANELS_PER_ROW)
    canvas = _create_canvas(key, distribution.CONSTRUCTION_PANEL_HEIGHT * panel_rows, [], notes)
    distribution.draw_construction(canvas, available_counts, selected_counts, axis)
    shared_columns = {"suite": key.suite, "table": f"{key.benchmark}/{key.figure}", "source": "data"}
    rows = [
        shared_columns
        | {"metric": row["statistic"], "group": row["group"], "value": row["reproduced"], "published": row["paper"]}
        for row in selected_counts.iter_rows(named=True)
    ]
    return canvas.figure, pl.DataFrame(rows, schema=TIDY_SCHEMA)


def _draw_scatter(
    key: FigureKey,
    spec: Scatter,
    builder: TableBuilder,
    chart_rows: Sequence[ChartRow],
    items: pl.DataFrame,
    verdicts: Mapping[str, pl.DataFrame],
) -> tuple[Figure, pl.DataFrame]:
    clouds = list(scatter.build_clouds(spec, builder, chart_rows, items, verdicts))
    drawn_clouds = [cloud for cloud in clouds if not cloud.empty_reason]
    notes = ["Above each panel: number of items that are strict, classic only and wrong; + items without a score."]
    notes = [*(notes if drawn_clouds else []), *scatter.iter_gap_notes(clouds)]
    legend = scatter.build_legend() if drawn_clouds else []
    grid = scatter.arrange(drawn_clouds, spec.panels, key.width, _compute_body_limit(key, legend, notes))
    canvas = _create_canvas(key, grid.height, legend, notes)
    models = {chart_row.label: chart_row.row.model for chart_row in chart_rows if chart_row.row.model}
    frame_counts = {chart_row.label: chart_row.frame_count for chart_row in chart_rows}
    scatter.draw_scatter(canvas, grid, style_labels(models, models, frame_counts, key.styles))
    key_by_run = {run: frame["key"][0] if frame.height else "" for run, frame in verdicts.items()}
    parts = [pl.DataFrame(schema=scatter.SCATTER_SCHEMA)]
    for cloud in clouds:
        columns = {"suite": key.suite, "figure": f"{key.benchmark}/{key.figure}", "row": cloud.row, "run": cloud.run}
        columns |= {"group": cloud.group, "key": key_by_run.get(cloud.run, "")}
        literals = [pl.lit(value).alias(name) for name, value in columns.items()]
        parts.append(cloud.points.with_columns(literals).select(scatter.SCATTER_SCHEMA.names()))
    return canvas.figure, pl.concat(parts)


def _draw_numbers(
    key: FigureKey, spec: Points | Lines, builders: Sequence[TableBuilder], chart_rows: Sequence[ChartRow]
) -> tuple[Figure, pl.DataFrame]:
    """Draw numbers of tables as points or lines."""
    rows = pl.DataFrame([row for builder in builders for row in builder.tidy_rows], schema=TIDY_SCHEMA)
    available_numbers = [
        number for chart_row in chart_rows for _, number in chart_row.cells if number.value is not None
    ]
    source_note = (
        "All numbers are published ones; none was measured here." if all(map(is_published, available_numbers)) else ""
    )
    notes = [source_note if available_numbers else NO_NUMBERS_NOTE, *_collect_notes(builders, chart_rows)]
    if isinstance(spec, Lines) and spec.along == "frames":
        return _draw_frames(key, spec, chart_rows, notes), rows
    if isinstance(spec, Points) and not (spec.along == "columns" and chart.has_span_panels(chart_rows)):
        panel = chart.build_point_panel(chart_rows, spec.along)
        notes = [*_iter_gap_notes(panel, chart_rows), *notes]
        panels = [panel] if panel.ticks else []
        panels = (
            panels
            if points.has_model_series(panels)
            else [part for panel in panels for part in points.split_series(panel)]
        )
    else:
        all_panels = chart.build_span_panels(chart_rows)
        notes = [*_iter_tick_notes(all_panels), *notes]
        panels = [replace(panel, ticks=tuple(panel.list_ticks_with_numbers())) for panel in all_panels]
        panels = [panel for panel in panels if panel.ticks]
    if isinstance(spec, Lines) and any(len(panel.ticks) > 1 for panel in panels):
        legend = lines.build_legend(panels, key.styles)
        height = min(lines.compute_height(len(panels), key.width), _compute_body_limit(key, legend, notes))
        canvas = _create_canvas(key, height, legend, notes)
        lines.draw_lines(canvas, panels, key.styles, spec.axis)
        return canvas.figure, rows
    if isinstance(spec, Lines):
        panels = [chart.swap_single_tick(panel) for panel in panels]
        notes = [*_iter_dash_notes(panels, chart_rows), *notes]
    legend = points.build_legend(panels, key.styles)
    grid = points.arrange(panels, key.width, _compute_body_limit(key, legend, notes))
    canvas = _create_canvas(key, grid.height if grid else 0.0, legend, notes)
    points.draw_points(canvas, grid, key.styles, spec.axis)
    return canvas.figure, rows


def _draw_frames(key: FigureKey, spec: Lines, chart_rows: Sequence[ChartRow], notes: Sequence[str]) -> Figure:
    """Draw lines over numbers of frames, in a panel for each column that has numbers."""
    all_panels = list(chart.build_frame_lines(chart_rows))
    panels = [(title, panel_lines) for title, panel_lines in all_panels if panel_lines]
    missing = [title for title, panel_lines in all_panels if not panel_lines] if panels else []
    missing_rows = chart.list_rows_without_numbers(chart_rows)  # Another note names them.
    missing += [name for name in chart.list_lines_without_numbers(chart_rows) if name not in missing_rows]
    notes = [f"Without any number: {', '.join(missing)}." if missing else "", *notes]
    legend = lines.build_frames_legend(panels, key.styles)
    height = min(lines.compute_height(len(panels), key.width), _compute_body_limit(key, legend, notes))
    canvas = _create_canvas(key, height, legend, notes)
    lines.draw_frames(canvas, panels, key.styles, spec.axis)
    return canvas.figure


def _iter_tick_notes(panels: Sequence[Panel]) -> Iterator[str]:
    """Yield notes that name the ticks without numbers, and panels that are left out for that reason."""
    for panel in panels:
        ticks_with_numbers = panel.list_ticks_with_numbers()
        if panel.title and not ticks_with_numbers:
            yield f"Without any number: {panel.title}."
        elif empty_ticks := [tick for tick in panel.ticks if tick not in ticks_with_numbers]:
            subject = f" ({panel.title})" if panel.title else ""
            yield f"Without any number{subject}: {', '.join(empty_ticks)}."


def _iter_dash_notes(panels: Sequence[Panel], chart_rows: Sequence[ChartRow]) -> Iterator[str]:
    """Yield a note that explains the dash for a missing number."""
    if any(tick not in numbers for panel in panels for tick in panel.ticks for numbers in panel.series.values()):
        is_lost = any(number.state == "lost" for chart_row in chart_rows for _, number in chart_row.cells)
        loss = ", or lost in the paper's extracted text" if is_lost else ""
        yield f"–: not run here, and not published{loss}."


def _iter_gap_notes(panel: Panel, chart_rows: Sequence[ChartRow]) -> Iterator[str]:
    """Yield notes that explain the dash for a missing number, and name the columns without numbers."""
    yield from _iter_dash_notes([panel], chart_rows)
    columns = chart.find_columns_without_numbers(chart_rows)
    for is_lost, reason in ((False, ""), (True, " (lost in the paper's extracted text)")):
        if names := [name for name, is_column_lost in columns.items() if is_column_lost == is_lost]:
            yield f"Without any number{reason}: {', '.join(names)}."


def _collect_notes(builders: Sequence[TableBuilder], chart_rows: Sequence[ChartRow]) -> list[str]:
    """Return the notes on rows without numbers, on judges, on failed answers, and on single rows."""
    missing_rows = chart.list_rows_without_numbers(chart_rows)
    missing_names = ", ".join(summarize_list(missing_rows, MAX_NAMES, "{} more"))
    lines = [f"Not run here, and not published: {missing_names}."] if missing_rows else []
    for builder in builders:
        lines += [builder.describe_judges() if builder.spec.judge else "", *judge_notes(builder.key, builder.metrics)]
    lines += [line for builder in builders for line in builder.find_wrong_answer_notes()]
    notes = [f"{chart_row.label}: {' '.join(chart_row.notes)}" for chart_row in chart_rows if chart_row.notes]
    return [*dict.fromkeys([*lines, *summarize_list(notes, MAX_NAMES, "{} more rows have notes; see their tables.")])]


def _compute_body_limit(key: FigureKey, legend: LegendEntries, notes: Sequence[str]) -> float:
    """Return the largest height of a figure's body."""
    return compute_body_limit(key.width, key.spec.title, *_list_footer_notes(key, notes), legend)


def _create_canvas(key: FigureKey, height: float, legend: LegendEntries, notes: Sequence[str]) -> Canvas:
    """Create the canvas of a figure, with its title, origin, notice, legend and notes."""
    return create_canvas(key.width, height, key.spec.title, *_list_footer_notes(key, notes), legend)


def _list_footer_notes(key: FigureKey, notes: Sequence[str]) -> tuple[str, list[str]]:
    """Return the origin of a figure with the suite's notice, and the notes of the figure."""
    return f"{key.origin}. {key.notice}".strip(), [*key.spec.notes, *filter(None, notes)]

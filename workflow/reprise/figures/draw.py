"""Draw a figure from its settings, and return it with its tidy rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from reprise.benchmarks.registry import load_scores
from reprise.config.figures import Bars, ConstructionCount, Distribution, Lines, Radar, Scatter
from reprise.core.plain import summarize_list
from reprise.figures import chart, distribution, plots, scatter
from reprise.figures.canvas import WIDTHS, Canvas, apply_style, create_canvas
from reprise.figures.chart import ChartRow
from reprise.figures.keys import FigureKey
from reprise.tables.builder import TIDY_SCHEMA, TableBuilder
from reprise.tables.footnotes import judge_notes
from reprise.tables.published import PublishedTable

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
        verdicts: The verdicts of each run of a scatter plot, by the name of the run.
        published: The paper's values that a distribution marks.
        construction_counts: The counts of the benchmark's construction.
    """
    apply_style()
    spec = key.spec
    if isinstance(spec, Distribution) and spec.made is not None:
        return _draw_construction(key, spec.made, spec.axis, construction_counts)
    if isinstance(spec, Distribution):
        return _draw_distribution(key, spec, items, clip_metadata, published)
    if isinstance(spec, Scatter):
        return _draw_scatter(key, spec, builders[0], chart.build_chart_rows(builders), items, verdicts)
    return _draw_numbers(key, spec, builders, chart.build_chart_rows(builders))


def _draw_distribution(
    key: FigureKey, spec: Distribution, items: pl.DataFrame, clip_metadata: pl.DataFrame, published: PublishedTable
) -> tuple[Figure, pl.DataFrame]:
    groups = load_scores(key.benchmark).GROUPS
    counts = distribution.compute_counts(spec, items, clip_metadata, groups)
    group_specs = {group.title: spec.model_copy(update={"group": group.group}) for group in spec.beside}
    group_counts = {
        title: distribution.compute_counts(group_spec, items, clip_metadata, groups)
        for title, group_spec in group_specs.items()
    }
    group_panels = [(title, panel_counts) for title, panel_counts in group_counts.items() if panel_counts]
    marks = [distribution.Count(*row) for row in published.metric_values(spec.marks.metric)] if spec.marks else []
    notes = [] if counts else ["Nothing is counted, because the data are not available."]
    if missing := [title for title, panel_counts in group_counts.items() if not panel_counts]:
        notes.append(f"Data not available: {', '.join(missing)}.")
    panels = [(key.benchmark_title, counts), *group_panels]
    height = 2.2 if marks else max(distribution.panel_height(panel_counts) for _, panel_counts in panels)
    canvas = _create_canvas(key, height, distribution.build_legend(marks), notes)
    distribution.draw_distribution(canvas, panels, spec.unit, spec.axis, marks)
    shared = {"suite": key.suite, "table": f"{key.benchmark}/{key.figure}"}
    data_columns = shared | {"metric": spec.measurement or "count", "source": "data"}
    published_columns = shared | {"metric": spec.marks.metric if spec.marks else "", "source": "published"}
    rows = [
        data_columns | {"row": row, "group": count.name, "value": count.value}
        for row, panel_counts in (("", counts), *group_panels)
        for count in panel_counts
    ]
    rows += [published_columns | {"row": mark.name, "value": mark.value} for mark in marks]
    return canvas.figure, pl.DataFrame(rows, schema=TIDY_SCHEMA)


def _draw_construction(
    key: FigureKey, counts: Sequence[ConstructionCount], axis: str, construction_counts: pl.DataFrame
) -> tuple[Figure, pl.DataFrame]:
    numbers = construction_counts.filter(pl.col("statistic").is_in([count.what for count in counts]))
    notes = list(distribution.share_notes(counts, numbers))
    notes = notes or ["Nothing is counted, because the benchmark is not constructed here."]
    canvas = _create_canvas(
        key, distribution.CONSTRUCTION_PANEL_HEIGHT * -(-len(counts) // distribution.PANELS_PER_ROW), [], notes
    )
    distribution.draw_construction(canvas, counts, numbers, axis)
    shared = {"suite": key.suite, "table": f"{key.benchmark}/{key.figure}", "source": "data"}
    rows = [
        shared
        | {"metric": row["statistic"], "group": row["group"], "value": row["reproduced"], "published": row["paper"]}
        for row in numbers.iter_rows(named=True)
    ]
    return canvas.figure, pl.DataFrame(rows, schema=TIDY_SCHEMA)


def _draw_scatter(
    key: FigureKey,
    spec: Scatter,
    builder: TableBuilder,
    entries: Sequence[ChartRow],
    items: pl.DataFrame,
    verdicts: Mapping[str, pl.DataFrame],
) -> tuple[Figure, pl.DataFrame]:
    clouds = list(scatter.build_clouds(spec, builder, entries, items, verdicts))
    notes = ["Above each panel: number of items that are strict, classic only and wrong; + items without a score."]
    canvas = _create_canvas(
        key, sum(scatter.row_heights(clouds, spec.panels, WIDTHS[spec.width]).values()), scatter.build_legend(), notes
    )
    scatter.draw_scatter(canvas, clouds, spec.panels)
    keys = {run: frame["key"][0] if frame.height else "" for run, frame in verdicts.items()}
    parts = [pl.DataFrame(schema=scatter.SCATTER_SCHEMA)]
    for cloud in clouds:
        columns = {"suite": key.suite, "figure": f"{key.benchmark}/{key.figure}", "row": cloud.row, "run": cloud.run}
        columns |= {"group": cloud.group, "key": keys.get(cloud.run, "")}
        literals = [pl.lit(value).alias(name) for name, value in columns.items()]
        parts.append(cloud.points.with_columns(literals).select(scatter.SCATTER_SCHEMA.names()))
    return canvas.figure, pl.concat(parts)


def _draw_numbers(
    key: FigureKey, spec: Bars | Lines | Radar, builders: Sequence[TableBuilder], entries: Sequence[ChartRow]
) -> tuple[Figure, pl.DataFrame]:
    rows = pl.DataFrame([row for builder in builders for row in builder.tidy_rows], schema=TIDY_SCHEMA)
    values = [number for entry in entries for _, number in entry.cells if number.value is not None]
    source_note = (
        "All numbers are published ones; none was measured here." if all(map(plots.is_published, values)) else ""
    )
    notes = [source_note if values else NO_NUMBERS_NOTE, *_notes(builders, entries)]
    if isinstance(spec, Bars):
        panel = chart.build_bar_panel(entries, spec.along)
        canvas = _create_canvas(
            key, plots.bars_height(panel), plots.bars_legend(panel), [*_gap_notes(panel, entries), *notes]
        )
        plots.draw_bars(canvas, panel, spec.axis)
    elif isinstance(spec, Lines) and spec.along == "frames":
        frames = {name: count for part in key.parts for name, count in part.frames.items()}
        lines = list(chart.build_frame_lines(entries, frames))
        without_numbers = chart.lines_without_numbers(entries)
        notes = [f"Without any number: {', '.join(without_numbers)}." if without_numbers else "", *notes]
        canvas = _create_canvas(key, 2.8, plots.frames_legend(lines[0][1]), notes)
        plots.draw_frames(canvas, lines, spec.axis)
    else:
        panels = chart.build_span_panels(entries)
        legend = plots.lines_legend(list(panels[0].series), plots.collect_numbers(panels))
        if isinstance(spec, Radar):
            canvas = _create_canvas(key, 3.9 * len(panels), legend, notes)
            plots.draw_radars(canvas, panels, spec.top)
        else:
            gaps = [
                f"Without any number{f' ({panel.title})' if panel.title else ''}: {', '.join(without_numbers)}."
                for panel in panels
                if (without_numbers := [tick for tick in panel.ticks if tick not in panel.ticks_with_numbers()])
            ]
            canvas = _create_canvas(key, 2.6, legend, [*gaps, *notes])
            panels = [replace(panel, ticks=tuple(panel.ticks_with_numbers())) for panel in panels]
            plots.draw_lines(canvas, panels, spec.axis)
    return canvas.figure, rows


def _gap_notes(panel: chart.Panel, entries: Sequence[ChartRow]) -> Iterator[str]:
    """Yield the notes that explain a dash and name the columns without numbers."""
    if any(tick not in numbers for tick in panel.ticks for numbers in panel.series.values()):
        is_lost = any(number.state == "lost" for entry in entries for _, number in entry.cells)
        loss = ", or lost in the paper's extracted text" if is_lost else ""
        yield f"–: not run here, and not published{loss}."
    columns = chart.columns_without_numbers(entries)
    for is_lost, reason in ((False, ""), (True, " (lost in the paper's extracted text)")):
        if names := [name for name, is_column_lost in columns.items() if is_column_lost == is_lost]:
            yield f"Without any number{reason}: {', '.join(names)}."


def _notes(builders: Sequence[TableBuilder], entries: Sequence[ChartRow]) -> list[str]:
    """Return the notes on rows without numbers, judges and failed answers, and those of single rows."""
    missing = chart.rows_without_numbers(entries)
    lines = [f"Not run here, and not published: {', '.join(missing)}."] if missing else []
    for builder in builders:
        lines += [builder.describe_judges() if builder.spec.judge else "", *judge_notes(builder.key, builder.metrics)]
    lines += [line for builder in builders for line in builder.wrong_answer_notes()]
    notes = [f"{entry.label}: {' '.join(entry.notes)}" for entry in entries if entry.notes]
    return [*dict.fromkeys([*lines, *summarize_list(notes, 8, "{} more rows have notes; see their tables.")])]


def _create_canvas(key: FigureKey, height: float, legend: Sequence[Any], notes: Sequence[str]) -> Canvas:
    origin = f"{key.origin}. {key.notice}".strip()
    lines = [*key.spec.notes, *filter(None, notes)]
    return create_canvas(WIDTHS[key.spec.width], height, key.spec.title, origin, lines, legend)

"""Draw a figure from its key, and return it with its tidy rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from reprise.benchmarks.registry import load_scores
from reprise.config.figures import Bars, Distribution, Lines, MadeCount, Radar, Scatter
from reprise.core.plain import first_of
from reprise.figures import chart, distribution, grids, scatter
from reprise.figures.chart import Entry
from reprise.figures.keys import FigureKey
from reprise.figures.style import WIDTHS, Sheet, sheet, use_style
from reprise.tables.below import judge_lines
from reprise.tables.build import TIDY, Builder
from reprise.tables.published import Published

NOTHING = "Nothing to show: no number is made here, and none is published."


def draw(
    key: FigureKey,
    builders: Sequence[Builder],
    items: pl.DataFrame,
    facts: pl.DataFrame,
    verdicts: Mapping[str, pl.DataFrame],
    marks: Published,
    made: pl.DataFrame,
) -> tuple[Figure, pl.DataFrame]:
    """Return the figure and its tidy rows.

    Args:
        key: The key of the figure.
        builders: One builder for each part of a table that the figure shows.
        items: The items of the benchmark, with the groups of the analyses.
        facts: The metadata of the clips.
        verdicts: The verdicts of each run of a scatter plot, by the name of the run.
        marks: The paper's values that a distribution marks.
        made: The counts of the benchmark's construction.
    """
    use_style()
    spec = key.spec
    if isinstance(spec, Distribution) and spec.made is not None:
        return _draw_construction(key, spec.made, spec.axis, made)
    if isinstance(spec, Distribution):
        return _draw_distribution(key, spec, items, facts, marks)
    if isinstance(spec, Scatter):
        return _draw_scatter(key, spec, builders[0], chart.entries_of(builders), items, verdicts)
    return _draw_numbers(key, spec, builders, chart.entries_of(builders))


def _draw_distribution(
    key: FigureKey, spec: Distribution, items: pl.DataFrame, facts: pl.DataFrame, published: Published
) -> tuple[Figure, pl.DataFrame]:
    groups = load_scores(key.benchmark).GROUPS
    counts = distribution.counts_of(spec, items, facts, groups)
    group_specs = {group.title: spec.model_copy(update={"group": group.group}) for group in spec.beside}
    group_counts = {
        title: distribution.counts_of(group_spec, items, facts, groups) for title, group_spec in group_specs.items()
    }
    group_panels = [(title, panel_counts) for title, panel_counts in group_counts.items() if panel_counts]
    marks = [distribution.Count(*row) for row in published.of_metric(spec.marks.metric)] if spec.marks else []
    notes = [] if counts else ["The data are not here: nothing is counted."]
    if absent := [title for title, panel_counts in group_counts.items() if not panel_counts]:
        notes.append(f"Without data here: {', '.join(absent)}.")
    panels = [(key.benchmark_title, counts), *group_panels]
    height = 2.2 if marks else max(distribution.height(panel_counts) for _, panel_counts in panels)
    page = _sheet(key, height, distribution.legend(marks), notes)
    distribution.draw_distribution(page, panels, spec.unit, spec.axis, marks)
    shared = {"suite": key.suite, "table": f"{key.benchmark}/{key.figure}"}
    data_columns = shared | {"metric": spec.fact or "count", "source": "data"}
    published_columns = shared | {"metric": spec.marks.metric if spec.marks else "", "source": "published"}
    rows = [
        data_columns | {"row": row, "group": count.name, "value": count.value}
        for row, panel_counts in (("", counts), *group_panels)
        for count in panel_counts
    ]
    rows += [published_columns | {"row": mark.name, "value": mark.value} for mark in marks]
    return page.figure, pl.DataFrame(rows, schema=TIDY)


def _draw_construction(
    key: FigureKey, counts: Sequence[MadeCount], axis: str, made: pl.DataFrame
) -> tuple[Figure, pl.DataFrame]:
    numbers = made.filter(pl.col("what").is_in([count.what for count in counts]))
    notes = list(distribution.share_notes(counts, numbers)) or ["The benchmark is not made here: nothing is counted."]
    page = _sheet(key, distribution.MADE_HEIGHT * -(-len(counts) // distribution.ACROSS), [], notes)
    distribution.draw_made(page, counts, numbers, axis)
    shared = {"suite": key.suite, "table": f"{key.benchmark}/{key.figure}", "source": "data"}
    rows = [
        shared | {"metric": row["what"], "group": row["group"], "value": row["ours"], "published": row["paper"]}
        for row in numbers.iter_rows(named=True)
    ]
    return page.figure, pl.DataFrame(rows, schema=TIDY)


def _draw_scatter(
    key: FigureKey,
    spec: Scatter,
    builder: Builder,
    entries: Sequence[Entry],
    items: pl.DataFrame,
    verdicts: Mapping[str, pl.DataFrame],
) -> tuple[Figure, pl.DataFrame]:
    clouds = list(scatter.clouds(spec, builder, entries, items, verdicts))
    notes = ["Above a panel: how many items are strict, classic only, and wrong; + those without a score."]
    page = _sheet(key, sum(scatter.heights(clouds, spec.panels, WIDTHS[spec.width]).values()), scatter.legend(), notes)
    scatter.draw_scatter(page, clouds, spec.panels)
    keys = {run: frame["key"][0] if frame.height else "" for run, frame in verdicts.items()}
    parts = [pl.DataFrame(schema=scatter.SCHEMA)]
    for cloud in clouds:
        columns = {"suite": key.suite, "figure": f"{key.benchmark}/{key.figure}", "row": cloud.row, "run": cloud.run}
        columns |= {"group": cloud.group, "key": keys.get(cloud.run, "")}
        literals = [pl.lit(value).alias(name) for name, value in columns.items()]
        parts.append(cloud.points.with_columns(literals).select(scatter.SCHEMA.names()))
    return page.figure, pl.concat(parts)


def _draw_numbers(
    key: FigureKey, spec: Bars | Lines | Radar, builders: Sequence[Builder], entries: Sequence[Entry]
) -> tuple[Figure, pl.DataFrame]:
    rows = pl.DataFrame([row for builder in builders for row in builder.tidy], schema=TIDY)
    values = [number for entry in entries for _, number in entry.cells if number.value is not None]
    state = "All numbers are the paper's; none was made here." if all(map(grids.is_published, values)) else ""
    notes = [state if values else NOTHING, *_notes(builders, entries)]
    if isinstance(spec, Bars):
        panel = chart.side_by_side(entries, spec.along)
        page = _sheet(key, grids.bars_height(panel), grids.bars_legend(panel), [*_gap_notes(panel, entries), *notes])
        grids.draw_bars(page, panel, spec.axis)
    elif isinstance(spec, Lines) and spec.along == "frames":
        frames = {name: count for part in key.parts for name, count in part.frames.items()}
        lines = list(chart.by_frames(entries, frames))
        without_numbers = chart.lines_without_numbers(entries)
        notes = [f"Without any number: {', '.join(without_numbers)}." if without_numbers else "", *notes]
        page = _sheet(key, 2.8, grids.frames_legend(lines[0][1]), notes)
        grids.draw_frames(page, lines, spec.axis)
    else:
        panels = chart.panels_by_span(entries)
        legend = grids.lines_legend(list(panels[0].series), grids.all_numbers(panels))
        if isinstance(spec, Radar):
            page = _sheet(key, 3.9 * len(panels), legend, notes)
            grids.draw_radars(page, panels, spec.top)
        else:
            gaps = [
                f"Without any number{f' ({panel.title})' if panel.title else ''}: {', '.join(without_numbers)}."
                for panel in panels
                if (without_numbers := [tick for tick in panel.ticks if tick not in panel.known_ticks()])
            ]
            page = _sheet(key, 2.6, legend, [*gaps, *notes])
            panels = [replace(panel, ticks=tuple(panel.known_ticks())) for panel in panels]
            grids.draw_lines(page, panels, spec.axis)
    return page.figure, rows


def _gap_notes(panel: chart.Panel, entries: Sequence[Entry]) -> Iterator[str]:
    """Yield the lines that explain a dash and name the columns without numbers."""
    if any(tick not in numbers for tick in panel.ticks for numbers in panel.series.values()):
        is_lost = any(number.state == "lost" for entry in entries for _, number in entry.cells)
        loss = ", or lost in the paper's text" if is_lost else ""
        yield f"–: not run here, and not published{loss}."
    columns = chart.columns_without_numbers(entries)
    for is_lost, reason in ((False, ""), (True, ", as the paper's are lost in its text")):
        if names := [name for name, is_column_lost in columns.items() if is_column_lost == is_lost]:
            yield f"Without any number{reason}: {', '.join(names)}."


def _notes(builders: Sequence[Builder], entries: Sequence[Entry]) -> list[str]:
    """Return the lines on rows without numbers, judges and failed answers, and the notes of rows."""
    missing = chart.rows_without_numbers(entries)
    lines = [f"Not run here, and not published: {', '.join(missing)}."] if missing else []
    for builder in builders:
        lines += [builder.judged_by() if builder.spec.judge else "", *judge_lines(builder.key, builder.metrics)]
    lines += [line for builder in builders for line in builder.wrong_lines()]
    notes = [f"{entry.label}: {' '.join(entry.notes)}" for entry in entries if entry.notes]
    return [*dict.fromkeys([*lines, *first_of(notes, 8, "{} more rows have notes; see their tables.")])]


def _sheet(key: FigureKey, height: float, legend: Sequence[Any], notes: Sequence[str]) -> Sheet:
    origin = f"{key.origin}. {key.notice}".strip()
    lines = [*key.spec.notes, *filter(None, notes)]
    return sheet(WIDTHS[key.spec.width], height, key.spec.title, origin, lines, legend)

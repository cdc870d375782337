"""A figure from its key: what is shown is chosen, drawn, and returned as tidy rows."""

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
    """The figure and its rows; `items` are in the groups of the analyses too."""
    use_style()
    spec = key.spec
    if isinstance(spec, Distribution) and spec.made is not None:
        return _made(key, spec.made, spec.axis, made)
    if isinstance(spec, Distribution):
        return _distribution(key, spec, items, facts, marks)
    if isinstance(spec, Scatter):
        return _scatter(key, spec, builders[0], chart.entries_of(builders), items, verdicts)
    return _of_numbers(key, spec, builders, chart.entries_of(builders))


def _distribution(
    key: FigureKey, spec: Distribution, items: pl.DataFrame, facts: pl.DataFrame, published: Published
) -> tuple[Figure, pl.DataFrame]:
    groups = load_scores(key.benchmark).GROUPS
    counts = distribution.counts_of(spec, items, facts, groups)
    specs = {one.title: spec.model_copy(update={"group": one.group}) for one in spec.beside}
    others = {title: distribution.counts_of(of, items, facts, groups) for title, of in specs.items()}
    beside = [(title, found) for title, found in others.items() if found]
    marks = [distribution.Count(*one) for one in published.of_metric(spec.marks.metric)] if spec.marks else []
    notes = [] if counts else ["The data are not here: nothing is counted."]
    if absent := [title for title, found in others.items() if not found]:
        notes.append(f"Without data here: {', '.join(absent)}.")
    panels = [(key.benchmark_title, counts), *beside]
    height = 2.2 if marks else max(distribution.height(found) for _, found in panels)
    page = _sheet(key, height, distribution.legend(marks), notes)
    distribution.draw_distribution(page, panels, spec.unit, spec.axis, marks)
    name = {"suite": key.suite, "table": f"{key.benchmark}/{key.figure}"}
    counted = name | {"metric": spec.fact or "count", "source": "data"}
    printed = name | {"metric": spec.marks.metric if spec.marks else "", "source": "published"}
    rows = [
        counted | {"row": row, "group": one.name, "value": one.value}
        for row, found in (("", counts), *beside)
        for one in found
    ]
    rows += [printed | {"row": mark.name, "value": mark.value} for mark in marks]
    return page.figure, pl.DataFrame(rows, schema=TIDY)


def _made(key: FigureKey, counts: Sequence[MadeCount], axis: str, found: pl.DataFrame) -> tuple[Figure, pl.DataFrame]:
    numbers = found.filter(pl.col("what").is_in([one.what for one in counts]))
    notes = list(distribution.share_notes(counts, numbers)) or ["The benchmark is not made here: nothing is counted."]
    page = _sheet(key, distribution.MADE_HEIGHT * -(-len(counts) // distribution.ACROSS), [], notes)
    distribution.draw_made(page, counts, numbers, axis)
    named = {"suite": key.suite, "table": f"{key.benchmark}/{key.figure}", "source": "data"}
    rows = [
        named | {"metric": row["what"], "group": row["group"], "value": row["ours"], "published": row["paper"]}
        for row in numbers.iter_rows(named=True)
    ]
    return page.figure, pl.DataFrame(rows, schema=TIDY)


def _scatter(
    key: FigureKey,
    spec: Scatter,
    builder: Builder,
    entries: Sequence[Entry],
    items: pl.DataFrame,
    verdicts: Mapping[str, pl.DataFrame],
) -> tuple[Figure, pl.DataFrame]:
    found = list(scatter.clouds(spec, builder, entries, items, verdicts))
    notes = ["Above a panel: how many items are strict, classic only, and wrong; + those without a score."]
    page = _sheet(key, sum(scatter.heights(found, spec.panels, WIDTHS[spec.width]).values()), scatter.legend(), notes)
    scatter.draw_scatter(page, found, spec.panels)
    keys = {run: read["key"][0] if read.height else "" for run, read in verdicts.items()}
    parts = [pl.DataFrame(schema=scatter.SCHEMA)]
    for one in found:
        named = {"suite": key.suite, "figure": f"{key.benchmark}/{key.figure}", "row": one.row, "run": one.run}
        named |= {"group": one.group, "key": keys.get(one.run, "")}
        columns = [pl.lit(value).alias(name) for name, value in named.items()]
        parts.append(one.points.with_columns(columns).select(scatter.SCHEMA.names()))
    return page.figure, pl.concat(parts)


def _of_numbers(
    key: FigureKey, spec: Bars | Lines | Radar, builders: Sequence[Builder], entries: Sequence[Entry]
) -> tuple[Figure, pl.DataFrame]:
    rows = pl.DataFrame([row for builder in builders for row in builder.tidy], schema=TIDY)
    known = [number for entry in entries for _, number in entry.cells if number.value is not None]
    state = "All numbers are the paper's; none was made here." if all(map(grids.is_published, known)) else ""
    notes = [state if known else NOTHING, *_notes(builders, entries)]
    if isinstance(spec, Bars):
        panel = chart.side_by_side(entries, spec.along)
        page = _sheet(key, grids.bars_height(panel), grids.bars_legend(panel), [*_gap_notes(panel, entries), *notes])
        grids.draw_bars(page, panel, spec.axis)
    elif isinstance(spec, Lines) and spec.along == "frames":
        frames = {name: count for part in key.parts for name, count in part.frames.items()}
        lines = list(chart.by_frames(entries, frames))
        empty = chart.lines_without_numbers(entries)
        notes = [f"Without any number: {', '.join(empty)}." if empty else "", *notes]
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
                f"Without any number{f' ({panel.title})' if panel.title else ''}: {', '.join(empty)}."
                for panel in panels
                if (empty := [tick for tick in panel.ticks if tick not in panel.known_ticks()])
            ]
            page = _sheet(key, 2.6, legend, [*gaps, *notes])
            shown = [replace(panel, ticks=tuple(panel.known_ticks())) for panel in panels]
            grids.draw_lines(page, shown, spec.axis)
    return page.figure, rows


def _gap_notes(panel: chart.Panel, entries: Sequence[Entry]) -> Iterator[str]:
    """What a dash stands for, and which columns are left out."""
    if any(tick not in numbers for tick in panel.ticks for numbers in panel.series.values()):
        is_lost = any(number.state == "lost" for entry in entries for _, number in entry.cells)
        lost = ", or lost in the paper's text" if is_lost else ""
        yield f"–: not run here, and not published{lost}."
    columns = chart.columns_without_numbers(entries)
    for is_lost, why in ((False, ""), (True, ", as the paper's are lost in its text")):
        if names := [name for name, lost in columns.items() if lost == is_lost]:
            yield f"Without any number{why}: {', '.join(names)}."


def _notes(builders: Sequence[Builder], entries: Sequence[Entry]) -> list[str]:
    """What has no number, who judged, what failed, and what the rows say of themselves."""
    missing = chart.rows_without_numbers(entries)
    lines = [f"Not run here, and not published: {', '.join(missing)}."] if missing else []
    for one in builders:
        lines += [one.judged_by() if one.spec.judge else "", *judge_lines(one.key, one.metrics)]
    lines += [line for one in builders for line in one.wrong_lines()]
    notes = [f"{entry.label}: {' '.join(entry.notes)}" for entry in entries if entry.notes]
    return [*dict.fromkeys([*lines, *first_of(notes, 8, "{} more rows have notes; see their tables.")])]


def _sheet(key: FigureKey, height: float, legend: Sequence[Any], notes: Sequence[str]) -> Sheet:
    origin = f"{key.origin}. {key.notice}".strip()
    shown = [*key.spec.notes, *filter(None, notes)]
    return sheet(WIDTHS[key.spec.width], height, key.spec.title, origin, shown, legend)

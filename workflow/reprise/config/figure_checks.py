"""What is wrong with figures: names that their tables, or the benchmark's modules, do not have."""

from collections.abc import Collection, Iterator, Sequence

from reprise.benchmarks.registry import load_scores, load_statistics
from reprise.config.figures import Distribution, Figures, OfTables, Part
from reprise.config.tables import Tables
from reprise.core.errors import choices

NO_TITLE = '""'


def figure_problems(figures: Figures, tables: Tables, groups: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Key and problem; `groups` are those that the benchmark's file adds."""
    name = tables.benchmark
    if figures.benchmark != name:
        yield "benchmark", f"found '{figures.benchmark}', expected '{name}' as in the suite."
        return
    scores, statistics = load_scores(name), load_statistics(name)
    metrics = {metric for form in scores.SCORES.values() for metric in form.metrics} | statistics.metrics
    known_groups = (*scores.GROUPS, *groups)
    for figure, spec in figures.figures.items():
        place = f"figures.{figure}"
        for table in spec.tables():
            yield from _unknown(f"{place}.table", "table", table, tables.tables)
        if isinstance(spec, Distribution):
            named = [one.group for one in (*(spec.groups or ()), *spec.beside)]
            for group in (*named, *([spec.group] if spec.group else [])):
                yield from _unknown(f"{place}.groups", "group", group, known_groups)
            continue
        assert isinstance(spec, OfTables)
        for part in spec.of:
            if part.table in tables.tables:
                yield from _part_problems(f"{place}: {part.table}", part, tables, metrics, known_groups)


def _part_problems(
    place: str, part: Part, tables: Tables, metrics: Collection[str], groups: Collection[str]
) -> Iterator[tuple[str, str]]:
    spec = tables.tables[part.table]
    titles = [section.title or NO_TITLE for section in spec.sections]
    for title in part.sections:
        yield from _unknown(f"{place}.sections", "section", title or NO_TITLE, dict.fromkeys(titles))
    labels = [row.label for section in spec.sections for row in section.rows]
    for label in part.rows:
        yield from _unknown(f"{place}.rows", "row", label, dict.fromkeys(labels))
    for metric in part.metrics:
        shown = {one for column in spec.columns for one in spec.metrics_of(column)}
        yield from _unknown(f"{place}.metrics", "metric", metric, sorted(shown))
    for column in part.columns or ():
        if column.metric is not None:
            yield from _unknown(f"{place}.columns", "metric", column.metric, metrics)
        elif not spec.metrics:
            yield f"{place}.columns", f"column '{column.title}' names no metric, and neither does its table."
        yield from _unknown(f"{place}.columns", "group", column.group, groups)
    if not part.of(spec).sections:
        yield place, "no row of its sections is left. Name rows of these sections."


def _unknown(place: str, what: str, name: str, allowed: Collection[str]) -> Iterator[tuple[str, str]]:
    if name not in allowed:
        yield place, f"unknown {what} '{name}'.{choices(name, allowed)}"

"""What is wrong with figures: names that their tables, or the benchmark's modules, do not have."""

from reprise.config.figures import Distribution, Figures, OfTables, Part
from reprise.config.known import Known
from reprise.config.problems import Notes, unknown_name
from reprise.config.tables import TableSpec

NO_TITLE = '""'


def check_figures(known: Known, figures: Figures, benchmark: str, notes: Notes) -> None:
    """Note what is wrong with a benchmark's figures."""
    if figures.benchmark != benchmark:
        notes.at("benchmark").say(f"found '{figures.benchmark}', expected '{benchmark}' as in the suite.")
        return
    tables = known.found.tables[benchmark].tables
    for name, figure in figures.figures.items():
        here = notes.at(f"figures.{name}")
        for table in figure.tables():
            here.at(".table").say(*unknown_name("table", table, tables))
        if isinstance(figure, Distribution):
            named = [one.group for one in (*(figure.groups or ()), *figure.beside)]
            for group in (*named, *([figure.group] if figure.group else [])):
                here.at(".groups").say(*unknown_name("group", group, known.groups(benchmark)))
            continue
        assert isinstance(figure, OfTables)
        for part in figure.of:
            if part.table in tables:
                _check_part(known, part, tables[part.table], benchmark, here.at(f": {part.table}"))


def _check_part(known: Known, part: Part, spec: TableSpec, benchmark: str, notes: Notes) -> None:
    titles = [section.title or NO_TITLE for section in spec.sections]
    labels = [row.label for section in spec.sections for row in section.rows]
    metrics = {one for column in spec.columns for one in spec.metrics_of(column)}
    for key, what, names, allowed in (
        ("sections", "section", [title or NO_TITLE for title in part.sections], titles),
        ("rows", "row", part.rows, labels),
        ("metrics", "metric", part.metrics, metrics),
    ):
        for name in names:
            notes.at(f".{key}").say(*unknown_name(what, name, allowed))
    here = notes.at(".columns")
    for column in part.columns or ():
        if column.metric is not None:
            here.say(*unknown_name("metric", column.metric, known.metrics(benchmark)))
        elif not spec.metrics:
            here.say(f"column '{column.title}' names no metric, and neither does its table.")
        here.say(*unknown_name("group", column.group, known.groups(benchmark)))
    if not part.of(spec).sections:
        notes.say("no row of its sections is left. Name rows of these sections.")

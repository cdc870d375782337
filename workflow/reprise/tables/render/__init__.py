"""One table object, three formats: LaTeX, Markdown and HTML.

Build a `Table`, mark the best numbers with `mark_best`, then `render` it in each of `FORMATS` and join the results of
several papers with `collect`.
"""

from collections.abc import Callable, Mapping, Sequence

from reprise.tables.render import html, latex, markdown
from reprise.tables.render.best import mark_best
from reprise.tables.render.collect import collect_html, collect_latex, collect_markdown
from reprise.tables.render.table import Cell, Column, ColumnGroup, Number, Section, Table, TableRow, Text

RENDERERS: Mapping[str, Callable[[Table], str]] = {
    "tex": latex.render,
    "md": markdown.render,
    "html": html.render,
}

COLLECTORS: Mapping[str, Callable[[str, Sequence[str]], str]] = {
    "tex": collect_latex,
    "md": collect_markdown,
    "html": collect_html,
}

FORMATS = tuple(RENDERERS)


def render(table: Table, form: str) -> str:
    """The table as the text of a file with this suffix: tex, md or html."""
    return RENDERERS[form](table)


def collect(title: str, rendered: Sequence[str], form: str) -> str:
    """One file of several rendered tables of the same format."""
    return COLLECTORS[form](title, rendered)


__all__ = [
    "FORMATS",
    "Cell",
    "Column",
    "ColumnGroup",
    "Number",
    "Section",
    "Table",
    "TableRow",
    "Text",
    "collect",
    "mark_best",
    "render",
]

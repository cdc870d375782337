"""Render one table object as LaTeX, Markdown and HTML.

Build a `Table`, mark the best numbers with `mark_best`, and `render` the table in each of `FORMATS`. `combine_tables`
joins the rendered tables of several papers.
"""

from collections.abc import Callable, Mapping, Sequence

from reprise.tables.render import html, latex, latex_text, markdown
from reprise.tables.render.table import Table

# Suffix of a file -> function that renders a table in this format.
RENDERERS: Mapping[str, Callable[[Table], str]] = {"tex": latex.render, "md": markdown.render, "html": html.render}
FORMATS = tuple(RENDERERS)


def render(table: Table, suffix: str) -> str:
    """Return the table as the text of a file with this suffix: tex, md or html."""
    return RENDERERS[suffix](table)


def combine_tables(title: str, rendered: Sequence[str], suffix: str) -> str:
    """Return one file of several rendered tables of the same format, such as Table 3 of every paper."""
    if suffix == "html":
        heading = f"<h1>{html.escape(title)}</h1>\n"
        return html.render_page(title, heading + "".join(map(html.extract_content, rendered)))
    heading = f"## {markdown.escape(title)}" if suffix == "md" else latex_text.comment(title)
    return "\n".join([f"{heading}\n", *rendered])

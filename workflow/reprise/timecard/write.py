"""Writing what people read of cards."""

from collections.abc import Sequence
from pathlib import Path

from reprise.core.files import write_sealed
from reprise.tables.render import latex, latex_escape, markdown
from reprise.tables.render.table import Table


def write_pages(title: str, sentences: Sequence[str], tables: Sequence[Table], page: str, html: Path) -> None:
    """The page, and the sentences with the tables as Markdown and LaTeX."""
    lines = "\n".join(f"- {markdown.escape(line)}" for line in sentences if line)
    shown = "\n".join([f"## {markdown.escape(title)}\n", f"{lines}\n", *map(markdown.render, tables)])
    source = "\n".join([*(latex_escape.comment(line) for line in sentences if line), *map(latex.render, tables)])
    for kind, text in (("html", page), ("md", shown), ("tex", source)):
        write_sealed(html.with_suffix(f".{kind}"), text)

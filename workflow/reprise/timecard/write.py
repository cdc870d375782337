"""Writing what people read of cards."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from reprise.core.checksums import seal_text
from reprise.core.files import whole_file, write_text
from reprise.core.plain import as_cell
from reprise.tables.render import latex, latex_escape, markdown
from reprise.tables.render.table import Table


def write_csv(frame: pl.DataFrame, path: Path) -> None:
    """A csv that spreadsheets may open."""
    with whole_file(path) as temporary:
        frame.with_columns(pl.col(pl.String).map_elements(as_cell, return_dtype=pl.String)).write_csv(temporary)
    seal_text(path)


def write_pages(title: str, sentences: Sequence[str], tables: Sequence[Table], page: str, html: Path) -> None:
    """The page, and the sentences with the tables as Markdown and LaTeX."""
    lines = "\n".join(f"- {markdown.escape(line)}" for line in sentences if line)
    shown = "\n".join([f"## {markdown.escape(title)}\n", f"{lines}\n", *map(markdown.render, tables)])
    source = "\n".join([*(latex_escape.comment(line) for line in sentences if line), *map(latex.render, tables)])
    for kind, text in (("html", page), ("md", shown), ("tex", source)):
        write_text(html.with_suffix(f".{kind}"), text)
        seal_text(html.with_suffix(f".{kind}"))

"""Stage `collected_table`: collect the tables with the same number from all papers, in one file per format."""

from pathlib import Path

from reprise.core.files import verify_sealed_text, write_text
from reprise.core.settings import Key
from reprise.stages.command import In, Out
from reprise.tables.render import combine_tables


def main(version: Key, table: str, parts: In[list[Path]], tex: Out[Path], md: Out[Path], html: Out[Path]) -> None:
    title = f"Table {table.removeprefix('table')} of every paper that has one"
    for out in (tex, md, html):
        texts = [verify_sealed_text(path).read_text(encoding="utf-8") for path in parts if path.suffix == out.suffix]
        write_text(out, combine_tables(title, texts, out.suffix.removeprefix(".")))

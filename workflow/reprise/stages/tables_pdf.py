"""Stage `tables_pdf`: write every table of the suite, and optionally its figures, to one PDF."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from reprise.core.files import atomic_path, verify_sealed_text
from reprise.core.log import log
from reprise.figures.keys import PdfKey
from reprise.stages.command import In, Out
from reprise.tables.render.latex_document import build_document, build_figure, compile_pdf, find_oversized


def main(settings: PdfKey, parts: In[list[Path]], figures: In[list[Path]], out: Out[Path]) -> None:
    table_sources = {name_from_path(path): verify_sealed_text(path).read_text(encoding="ascii") for path in parts}
    with TemporaryDirectory() as folder, atomic_path(out) as temporary:
        figure_sources = {}
        for number, path in enumerate(figures):
            file_name = f"figure{number}.pdf"  # LaTeX does not accept every file name.
            shutil.copyfile(verify_sealed_text(path), Path(folder) / file_name)
            figure_sources[name_from_path(path)] = build_figure(file_name, settings.captions[name_from_path(path)])
        pdf, latex_log = compile_pdf(build_document(group_by_benchmark(table_sources, figure_sources)), Path(folder))
        temporary.write_bytes(pdf.read_bytes())
    for table, points, side in find_oversized(latex_log):
        log.warning(f"{table} does not fit its page: {points:.1f} pt too {side}.")


def name_from_path(path: Path) -> str:
    """Return the name of a table or figure from its path, such as `velociti/table3`."""
    return f"{path.parent.name}/{path.stem}"


def group_by_benchmark(tables: Mapping[str, str], figures: Mapping[str, str]) -> dict[str, str]:
    """Return the LaTeX sources of all tables and figures; those of a benchmark are together, tables first."""
    benchmarks = dict.fromkeys(name.partition("/")[0] for name in (*tables, *figures))
    return {
        name: source
        for benchmark in benchmarks
        for sources in (tables, figures)
        for name, source in sources.items()
        if name.startswith(f"{benchmark}/")
    }

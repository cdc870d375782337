"""Stage `tables_pdf`: print every table of the suite, and optionally its figures, to one PDF."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from reprise.core.files import sealed_text, whole_file
from reprise.core.log import log
from reprise.figures.keys import PdfKey
from reprise.stages.command import In, Out
from reprise.tables.render.latex_document import document, figure, print_document, too_large


def main(settings: PdfKey, parts: In[list[Path]], figures: In[list[Path]], out: Out[Path]) -> None:
    fragments = {name_of(path): sealed_text(path).read_text(encoding="ascii") for path in parts}
    with TemporaryDirectory() as folder, whole_file(out) as temporary:
        pictures = {}
        for number, path in enumerate(figures):
            file = f"figure{number}.pdf"  # LaTeX does not accept every file name.
            shutil.copyfile(sealed_text(path), Path(folder) / file)
            pictures[name_of(path)] = figure(file, settings.captions[name_of(path)])
        pdf, latex_log = print_document(document(by_benchmark(fragments, pictures)), Path(folder))
        temporary.write_bytes(pdf.read_bytes())
    for table, points, side in too_large(latex_log):
        log.warning(f"{table} does not fit its page: {points:.1f} pt too {side}.")


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def by_benchmark(tables: Mapping[str, str], figures: Mapping[str, str]) -> dict[str, str]:
    """Return the sources with the figures of each benchmark after its tables, in the order of the tables."""
    benchmarks = dict.fromkeys(name.partition("/")[0] for name in (*tables, *figures))
    return {
        name: source
        for benchmark in benchmarks
        for sources in (tables, figures)
        for name, source in sources.items()
        if name.startswith(f"{benchmark}/")
    }

"""Stage `pdf`: every table of the suite on pages, to look at."""

from pathlib import Path
from tempfile import TemporaryDirectory

from reprise.core.errors import run_command
from reprise.core.files import whole_file
from reprise.core.log import log
from reprise.stages.arguments import arguments
from reprise.tables.render.latex_document import document, print_document, too_large


def main() -> None:
    args = arguments("Print tables.", parts=[Path], out=Path)
    fragments = {f"{path.parent.name}/{path.stem}": path.read_text(encoding="ascii") for path in args.parts}
    with TemporaryDirectory() as folder, whole_file(args.out) as temporary:
        pdf, latex_log = print_document(document(fragments), Path(folder))
        temporary.write_bytes(pdf.read_bytes())
    for one in too_large(latex_log):
        log.warning(f"{one.table} does not fit its page: {one.points:.1f} pt too {one.side}.")


if __name__ == "__main__":
    run_command(main)

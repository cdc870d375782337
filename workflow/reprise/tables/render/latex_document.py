"""Build one LaTeX document of tables and figures, compile it with pdflatex, and find tables that do not fit."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from reprise.core.errors import UserError
from reprise.core.plain import truncate
from reprise.tables.render.latex import PACKAGES
from reprise.tables.render.latex_text import escape

LATEX_COMMAND = "pdflatex"
PAGE_LAYOUT = r"\documentclass{article}\usepackage[a4paper,margin=1.5cm]{geometry}"
INSTALL_COMMAND = "apt-get install texlive-latex-recommended texlive-science"
LATEX_MISSING = (
    f"{LATEX_COMMAND} not found. The PDF of the tables needs LaTeX with the packages {', '.join(PACKAGES)}. On Debian "
    f"or Ubuntu: `{INSTALL_COMMAND}`. The other formats do not need LaTeX."
)
FRAGMENT_MARKER = "Reprise table: "  # precedes the name of a fragment in LaTeX's log
# Each figure has its own page. It keeps its size, even over the margins; only figures larger than a page are scaled.
FIGURE = r"""\newcommand{\reprisefigure}[2]{\begin{figure}[p]%
  \sbox0{\includegraphics{#1}}%
  \ifdim\wd0>7.3in\sbox0{\includegraphics[width=7.3in]{#1}}\fi
  \ifdim\ht0>8.2in\sbox0{\includegraphics[height=8.2in]{#1}}\fi
  \setbox1\vbox{\hsize\linewidth\centering\makebox[\linewidth][c]{\usebox0}\caption{#2}}%
  \ifdim\ht1>9.8in\typeout{Overfull \string\vbox\space (\the\dimexpr\ht1-9.8in\relax\space too high)}\fi
  \vbox to\textheight{\vss\box1\vss}\end{figure}\thispagestyle{empty}}"""
# Characters. LaTeX first sets a caption on one line to measure its width, and fails if a line is wider than 5.7 m.
MAX_CAPTION = 2000
OVERFULL_BOX = re.compile(
    r"Overfull \\[hv]box \((?P<box>[\d.]+)pt too (?P<side>wide|high)\)|too large for page by (?P<float>[\d.]+)pt"
)


def has_latex() -> bool:
    """Return whether this machine has pdflatex."""
    return shutil.which(LATEX_COMMAND) is not None


def build_document(fragments: Mapping[str, str], page_layout: str = PAGE_LAYOUT) -> str:
    """Return a document with each fragment on its own pages. The log records where each fragment starts."""
    pages = [
        rf"\typeout{{{FRAGMENT_MARKER}{name}}}" + f"\n{source}" + r"\clearpage" for name, source in fragments.items()
    ]
    packages = [rf"\usepackage{{{','.join(PACKAGES)}}}", r"\usepackage{color}"]
    preamble = [page_layout, *packages, FIGURE, r"\begin{document}"]
    return "\n".join([*preamble, *pages, r"\end{document}", ""])


def build_figure(file: str, caption: str) -> str:
    """Return a fragment with a figure. The file is in the folder of the document."""
    return rf"\reprisefigure{{{file}}}{{{escape(truncate(caption, MAX_CAPTION))}}}" + "\n"


def compile_pdf(source: str, folder: Path) -> tuple[Path, str]:
    """Compile a document in the folder with its figures. Return the path of the PDF, and the log."""
    if not has_latex():
        raise UserError(LATEX_MISSING)
    (folder / "tables.tex").write_text(source, encoding="ascii")
    command = [LATEX_COMMAND, "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
    environment = os.environ | {"max_print_line": "1000"}  # keeps the names of tables in the log on one line
    process = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    log = (folder / "tables.log").read_text(encoding="utf-8", errors="replace")
    if process.returncode:
        problem = next((line for line in log.splitlines() if line.startswith("!")), "! its log has no reason.")
        raise UserError(
            f"{LATEX_COMMAND} failed: {problem.removeprefix('! ')} If a package is missing, on Debian or Ubuntu: "
            f"`{INSTALL_COMMAND}`."
        )
    return folder / "tables.pdf", log


def find_oversized(log: str) -> Iterator[tuple[str, float, str]]:
    """Yield the name of each table that is visibly too wide or too high, the excess in points, and `wide` or `high`."""
    table = "?"
    for line in log.splitlines():
        if line.startswith(FRAGMENT_MARKER):
            table = line.removeprefix(FRAGMENT_MARKER)
        elif match := OVERFULL_BOX.search(line):
            points = float(match["box"] or match["float"])
            if points > 5.0:  # a smaller excess is invisible
                yield table, points, match["side"] or "high"

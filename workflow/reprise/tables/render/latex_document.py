"""One LaTeX document of tables and figures, its PDF by pdflatex, and the tables that do not fit its pages."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from reprise.core.errors import UserError
from reprise.core.plain import cut
from reprise.tables.render.latex import PACKAGES, escape

PROGRAM = "pdflatex"
MISSING = (
    f"{PROGRAM} not found. Printing tables as PDF needs LaTeX with the packages {', '.join(PACKAGES)}: on Debian or "
    "Ubuntu `apt-get install texlive-latex-recommended`. The tables in the other formats need none of it."
)
START = "Reprise table: "
# Each figure gets a page and keeps its size, over the margins if necessary; only one larger than the page is scaled.
FIGURE = r"""\newcommand{\reprisefigure}[2]{\begin{figure}[p]%
  \sbox0{\includegraphics{#1}}%
  \ifdim\wd0>7.3in\sbox0{\includegraphics[width=7.3in]{#1}}\fi
  \ifdim\ht0>8.2in\sbox0{\includegraphics[height=8.2in]{#1}}\fi
  \setbox1\vbox{\hsize\linewidth\centering\makebox[\linewidth][c]{\usebox0}\caption{#2}}%
  \ifdim\ht1>9.8in\typeout{Overfull \string\vbox\space (\the\dimexpr\ht1-9.8in\relax\space too high)}\fi
  \vbox to\textheight{\vss\box1\vss}\end{figure}\thispagestyle{empty}}"""
MAX_CAPTION = 2000  # characters; LaTeX sets a caption on one line to measure it, and fails on lines wider than 5.7 m
TOO_LARGE = re.compile(
    r"Overfull \\[hv]box \((?P<box>[\d.]+)pt too (?P<side>wide|high)\)|too large for page by (?P<float>[\d.]+)pt"
)


def has_latex() -> bool:
    return shutil.which(PROGRAM) is not None


def document(fragments: Mapping[str, str]) -> str:
    """Return a document with each fragment on its own pages; the log records the start of each."""
    pages = [rf"\typeout{{{START}{name}}}" + f"\n{source}" + r"\clearpage" for name, source in fragments.items()]
    packages = [rf"\usepackage{{{','.join(PACKAGES)}}}", r"\usepackage{color}"]
    preamble = [r"\documentclass{article}", *packages, FIGURE, r"\begin{document}"]
    return "\n".join([*preamble, *pages, r"\end{document}", ""])


def figure(file: str, caption: str) -> str:
    """Return a fragment with a figure from a file beside the document."""
    return rf"\reprisefigure{{{file}}}{{{escape(cut(caption, MAX_CAPTION))}}}" + "\n"


def print_document(source: str, folder: Path) -> tuple[Path, str]:
    """Print a document in a folder that holds only its figures; return the path of the PDF, and the log."""
    if not has_latex():
        raise UserError(MISSING)
    (folder / "tables.tex").write_text(source, encoding="ascii")
    command = [PROGRAM, "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
    environment = os.environ | {"max_print_line": "1000"}  # keeps the names of tables in the log on one line
    process = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    log = (folder / "tables.log").read_text(encoding="utf-8", errors="replace")
    if process.returncode:
        problem = next((line for line in log.splitlines() if line.startswith("!")), "! no reason in its log")
        raise UserError(f"{PROGRAM} stopped: {problem.removeprefix('! ')} Needed packages: {', '.join(PACKAGES)}.")
    return folder / "tables.pdf", log


def too_large(log: str) -> Iterator[tuple[str, float, str]]:
    """Yield the tables that are visibly larger than their pages, the excess in points, and its side: wide or high."""
    table = "?"
    for line in log.splitlines():
        if line.startswith(START):
            table = line.removeprefix(START)
        elif match := TOO_LARGE.search(line):
            points = float(match["box"] or match["float"])
            if points > 5.0:  # a smaller excess is invisible
                yield table, points, match["side"] or "high"

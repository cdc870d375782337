"""One LaTeX document of tables and figures, printed by pdflatex, and what of it does not fit its pages."""

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
# A page of a figure in its own size, over the margins if it needs to, smaller where a page does not hold it.
FIGURE = r"""\newcommand{\reprisefigure}[2]{\begin{figure}[p]%
  \sbox0{\includegraphics{#1}}%
  \ifdim\wd0>7.3in\sbox0{\includegraphics[width=7.3in]{#1}}\fi
  \ifdim\ht0>8.2in\sbox0{\includegraphics[height=8.2in]{#1}}\fi
  \setbox1\vbox{\hsize\linewidth\centering\makebox[\linewidth][c]{\usebox0}\caption{#2}}%
  \ifdim\ht1>9.8in\typeout{Overfull \string\vbox\space (\the\dimexpr\ht1-9.8in\relax\space too high)}\fi
  \vbox to\textheight{\vss\box1\vss}\end{figure}\thispagestyle{empty}}"""
LONGEST_CAPTION = 2000  # characters; LaTeX measures a caption on one line, which must not be wider than 5.7 m
TOO_LARGE = re.compile(
    r"Overfull \\[hv]box \((?P<box>[\d.]+)pt too (?P<side>wide|high)\)|too large for page by (?P<float>[\d.]+)pt"
)


def has_latex() -> bool:
    return shutil.which(PROGRAM) is not None


def document(fragments: Mapping[str, str]) -> str:
    """A document with each fragment on pages of its own; the log says where each begins."""
    pages = [rf"\typeout{{{START}{name}}}" + f"\n{source}" + r"\clearpage" for name, source in fragments.items()]
    packages = [rf"\usepackage{{{','.join(PACKAGES)}}}", r"\usepackage{color}"]
    preamble = [r"\documentclass{article}", *packages, FIGURE, r"\begin{document}"]
    return "\n".join([*preamble, *pages, r"\end{document}", ""])


def figure(file: str, caption: str) -> str:
    """A fragment with a figure that lies beside the document."""
    return rf"\reprisefigure{{{file}}}{{{escape(cut(caption, LONGEST_CAPTION))}}}" + "\n"


def print_document(source: str, folder: Path) -> tuple[Path, str]:
    """The PDF of a document, made in a folder that holds its figures alone, and its log."""
    if not has_latex():
        raise UserError(MISSING)
    (folder / "tables.tex").write_text(source, encoding="ascii")
    command = [PROGRAM, "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
    wide_log = os.environ | {"max_print_line": "1000"}
    done = subprocess.run(command, cwd=folder, env=wide_log, capture_output=True, check=False)
    log = (folder / "tables.log").read_text(encoding="utf-8", errors="replace")
    if done.returncode:
        problem = next((line for line in log.splitlines() if line.startswith("!")), "! no reason in its log")
        raise UserError(f"{PROGRAM} stopped: {problem.removeprefix('! ')} Needed packages: {', '.join(PACKAGES)}.")
    return folder / "tables.pdf", log


def too_large(log: str) -> Iterator[tuple[str, float, str]]:
    """The tables that are larger than their pages by more than anybody sees: by how many points too wide or high."""
    table = "?"
    for line in log.splitlines():
        if line.startswith(START):
            table = line.removeprefix(START)
        elif found := TOO_LARGE.search(line):
            points = float(found["box"] or found["float"])
            if points > 5.0:  # nobody sees less
                yield table, points, found["side"] or "high"

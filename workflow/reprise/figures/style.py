"""The common style of all figures: fonts, colours that also differ in greyscale, the layout of a sheet, and files."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

import matplotlib as mpl
from fontTools.subset import Options
from matplotlib import font_manager
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure, SubFigure
from matplotlib.text import Text

from reprise.core.files import seal_text, whole_file
from reprise.core.plain import visible

KINDS = ("pdf", "svg", "png")
WIDTHS = {"column": 4.4, "page": 7.2}
# The colours of Okabe and Ito are distinct for people with any colour vision; markers and dashes differ too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1)))
GRID, FAINT = "#D9D9D9", "#595959"
# Width of a character of the regular face, and height of a line, in inches per point of font size
CHARACTER, LINE = 0.0083, 0.0185
# No viewer of PDFs reads these font tables, and subsetting them takes longer than drawing the figure.
DROPPED_TABLES = ("GDEF", "GPOS", "GSUB", "kern")
TITLE, TEXT, SMALL = 9.0, 7.5, 6.5
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": TEXT,
    "axes.titlesize": TEXT,
    "axes.labelsize": TEXT,
    "xtick.labelsize": TEXT,
    "ytick.labelsize": TEXT,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "axes.linewidth": 0.6,
    "hatch.linewidth": 0.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "text.parse_math": False,
    "text.usetex": False,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "reprise",
    # Both must be equal: the width of text depends on the resolution, and the layout is computed before drawing.
    "figure.dpi": 200,
    "savefig.dpi": 200,
}


def use_style() -> None:
    """Set the style and nothing else, so neither a user's settings nor the machine's fonts change a figure."""
    mpl.rcdefaults()
    mpl.rcParams.update(STYLE)
    Options._drop_tables_default += [name for name in DROPPED_TABLES if name not in Options._drop_tables_default]
    bundled = Path(mpl.get_data_path())
    manager = font_manager.fontManager
    manager.ttflist = [font for font in manager.ttflist if Path(font.fname).is_relative_to(bundled)]


@dataclass(frozen=True)
class Sheet:
    """A figure to draw into: its body, and the width of the body."""

    figure: Figure
    body: SubFigure
    width: float


def sheet(
    width: float,
    body: float,
    title: str,
    origin: str,
    notes: Sequence[str],
    legend: Sequence[tuple[Artist, str]] = (),
) -> Sheet:
    """Return an empty figure with its title above a body of this height, and its legend and notes below."""
    heading = [*wrapped(title, width, TITLE * 1.12)]
    foot = [line for note in (origin, *notes) for line in wrapped(note, width, SMALL)]
    longest = max((len(label) for _, label in legend), default=0)
    across = max(1, int(width / (0.5 + longest * SMALL * CHARACTER)))
    lines = math.ceil(len(legend) / across)
    heights = [
        0.1 + len(heading) * TITLE * LINE,
        body,
        0.1 + lines * SMALL * 0.024 + len(foot) * SMALL * LINE,
    ]
    figure = Figure(figsize=(width, sum(heights)), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.06, h_pad=0.04)
    parts = figure.subfigures(3, 1, height_ratios=heights, hspace=0)
    parts[0].text(0.012, 0.5, "\n".join(heading), fontsize=TITLE, fontweight="bold", ha="left", va="center")
    if legend:
        artists, labels = zip(*legend, strict=True)
        parts[2].legend(artists, labels, loc="upper center", ncols=across, borderaxespad=0.1, columnspacing=1.2)
    parts[2].text(0.012, 0.04, "\n".join(foot), fontsize=SMALL, ha="left", va="bottom", color=FAINT)
    return Sheet(figure, parts[1], width)


def wrapped(text: str, width: float, size: float) -> list[str]:
    return wrap(visible(text), max(12, int(width / (size * CHARACTER))))


def label_lines(text: str, characters: int) -> str:
    return "\n".join(wrap(visible(text), characters, break_long_words=False)) or " "


def _round_layout(part: Figure | SubFigure) -> None:
    """Round all positions, because the layout solver sums in the order of memory addresses, which varies by run."""
    for axes in part.axes:
        axes.set_position([round(value, 5) for value in axes.get_position(original=True).bounds])
    for text in filter(None, (part._suptitle, part._supxlabel, part._supylabel)):
        text.set_position([round(value, 5) for value in text.get_position()])
    for subfigure in part.subfigs:
        box = subfigure.bbox_relative
        box.p0, box.p1 = box.p0.round(5), box.p1.round(5)
        _round_layout(subfigure)


def save(figure: Figure, path: Path, description: Mapping[str, str]) -> None:
    """Write the figure in every format, without a date, so the same figure has the same bytes."""
    for text in figure.findobj(Text):  # row labels come from users' settings, so they can hold hidden characters
        text.set_text(visible(text.get_text()))
    canvas, layout = FigureCanvasAgg(figure), figure.get_layout_engine()
    for _ in range(2):  # wrapped labels need a second pass
        layout.execute(figure)
    figure.set_layout_engine("none")
    _round_layout(figure)
    title, caption, dpi = description["title"], description["caption"], figure.dpi
    # The functions of the formats are called directly: `savefig` would draw again for a layout that is complete.
    with whole_file(path.with_suffix(".png")) as temporary:
        canvas.print_png(temporary, metadata={"Title": title, "Description": caption})
    with whole_file(path.with_suffix(".svg")) as temporary:
        FigureCanvasSVG(figure).print_svg(temporary, metadata={"Title": title, "Description": caption, "Date": None})
    figure.dpi = dpi  # print_svg changes the resolution, which the PDF's rasterised parts need
    with whole_file(path.with_suffix(".pdf")) as temporary:
        FigureCanvasPdf(figure).print_pdf(
            temporary, metadata={"Title": title, "Subject": caption, "CreationDate": None}
        )
    for kind in KINDS:
        seal_text(path.with_suffix(f".{kind}"))

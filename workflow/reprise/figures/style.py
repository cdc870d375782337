"""One style for all figures: fonts, colours that differ in grey too, a head, a body and a foot; and their files."""

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
# Okabe and Ito's, which people with any colour vision tell apart; markers and dashes differ too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1)))
GRID, FAINT = "#D9D9D9", "#595959"
# Inches that a character of the regular face is wide at one point of size, and a line high.
CHARACTER, LINE = 0.0083, 0.0185
# Tables of a font that no viewer of a pdf reads: to cut them to the glyphs of a figure takes longer than to draw it.
UNREAD = ("GDEF", "GPOS", "GSUB", "kern")
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
    # One for both: the width of words depends on it, and the layout is made before they are drawn.
    "figure.dpi": 200,
    "savefig.dpi": 200,
}


def use_style() -> None:
    """The style and nothing else: neither a person's settings nor the machine's own fonts change a figure."""
    mpl.rcdefaults()
    mpl.rcParams.update(STYLE)
    Options._drop_tables_default += [name for name in UNREAD if name not in Options._drop_tables_default]
    bundled = Path(mpl.get_data_path())
    manager = font_manager.fontManager
    manager.ttflist = [font for font in manager.ttflist if Path(font.fname).is_relative_to(bundled)]


@dataclass(frozen=True)
class Sheet:
    """A figure that is drawn into: its body, and the width of that."""

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
    """An empty figure with its title above a body of this height, and its legend and notes below."""
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
    """Round all places: the solver of the layout adds in the order of addresses, which differs from run to run."""
    for axes in part.axes:
        axes.set_position([round(value, 5) for value in axes.get_position(original=True).bounds])
    for text in filter(None, (part._suptitle, part._supxlabel, part._supylabel)):
        text.set_position([round(value, 5) for value in text.get_position()])
    for one in part.subfigs:
        box = one.bbox_relative
        box.p0, box.p1 = box.p0.round(5), box.p1.round(5)
        _round_layout(one)


def save(figure: Figure, path: Path, description: Mapping[str, str]) -> None:
    """Write the figure in every format. No date is in them: the same figure has the same bytes."""
    for text in figure.findobj(Text):  # a label of a row, in a legend or above a panel, is anybody's text
        text.set_text(visible(text.get_text()))
    canvas, layout = FigureCanvasAgg(figure), figure.get_layout_engine()
    for _ in range(2):  # labels that are wrapped take a second pass
        layout.execute(figure)
    figure.set_layout_engine("none")
    _round_layout(figure)
    title, words, dpi = description["title"], description["caption"], figure.dpi
    # By the formats' own functions: `savefig` draws everything twice, once for a layout that is made already.
    with whole_file(path.with_suffix(".png")) as temporary:
        canvas.print_png(temporary, metadata={"Title": title, "Description": words})
    with whole_file(path.with_suffix(".svg")) as temporary:
        FigureCanvasSVG(figure).print_svg(temporary, metadata={"Title": title, "Description": words, "Date": None})
    figure.dpi = dpi  # of the pictures in it; svg has set its own
    with whole_file(path.with_suffix(".pdf")) as temporary:
        FigureCanvasPdf(figure).print_pdf(temporary, metadata={"Title": title, "Subject": words, "CreationDate": None})
    for kind in KINDS:
        seal_text(path.with_suffix(f".{kind}"))

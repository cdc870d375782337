"""Define the style and the layout of all figures, and write their files."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from textwrap import wrap
from typing import Any

import matplotlib as mpl
from fontTools.subset import Options
from matplotlib import font_manager
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.cbook import file_requires_unicode, open_file_cm
from matplotlib.figure import Figure, SubFigure
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text
from matplotlib.textpath import text_to_path

from reprise.core.files import atomic_path, seal_file
from reprise.core.plain import escape_invisible

FORMATS = ("pdf", "svg", "png")
# Colours of text and axes, of secondary text, of the grid, and of what stands for no model, such as counts.
INK, FAINT_COLOUR, GRID_COLOUR, COUNT_COLOUR = "#222222", "#595959", "#D9D9D9", "#8A94A6"
BACKGROUND = "#FFFFFF"
STRICT_REGION_COLOUR, CLASSIC_REGION_COLOUR = "#D6E0EA", "#F0F0F0"
# Colour -> its replacement on a dark page. All other colours have enough contrast on both.
DARK_COLOURS = {
    BACKGROUND: "#1a1d21", INK: "#e6e8eb", FAINT_COLOUR: "#a7afb9", GRID_COLOUR: "#3a4048", "#000000": "#ffffff",
    "#0072B2": "#1f86c9", STRICT_REGION_COLOUR: "#2c3a4a", CLASSIC_REGION_COLOUR: "#262a30",
}  # fmt: skip
# Width of a character of the regular face and height of a line, in inches per point of font size.
CHARACTER_WIDTH, LINE_HEIGHT = 0.0083, 0.0185
TEXT_MARGIN = 0.012  # share of the width at each side of titles and notes
# Width of a legend's handle and gaps in inches, and height of a legend's row in inches per point of font size.
LEGEND_HANDLE_WIDTH, LEGEND_ROW_HEIGHT = 0.5, 0.024
MAX_HEIGHT = 9.0  # inches: the text height of a page
EMPTY_BODY_HEIGHT = 0.05  # inches; the layout fails without any height
# PDF viewers do not read these font tables, and subsetting them takes longer than drawing a figure.
DROPPED_TABLES = ("GDEF", "GPOS", "GSUB", "kern")
TITLE_SIZE, TEXT_SIZE, SMALL_SIZE, SMALLEST_SIZE = 9.0, 7.5, 6.5, 6.0  # points
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": TEXT_SIZE,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
    "axes.titlesize": TEXT_SIZE,
    "axes.labelsize": TEXT_SIZE,
    "xtick.labelsize": TEXT_SIZE,
    "ytick.labelsize": TEXT_SIZE,
    "legend.fontsize": SMALL_SIZE,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID_COLOUR,
    "grid.linewidth": 0.5,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.2,
    "lines.markersize": 4,
    "text.parse_math": False,
    "text.usetex": False,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "reprise",
    # Both must be equal, because the layout is computed before drawing and text widths depend on the resolution.
    "figure.dpi": 200,
    "savefig.dpi": 200,
}


def apply_style() -> None:
    """Reset matplotlib and set the style, because users' settings and installed fonts must not change a figure."""
    mpl.rcdefaults()
    mpl.rcParams.update(STYLE)
    Options._drop_tables_default += [name for name in DROPPED_TABLES if name not in Options._drop_tables_default]
    bundled = Path(mpl.get_data_path())
    manager = font_manager.fontManager
    manager.ttflist = [font for font in manager.ttflist if Path(font.fname).is_relative_to(bundled)]


class ThemedCanvas(FigureCanvasAgg):  # type: ignore[misc]
    """A canvas whose SVG files follow the light or dark mode of the page that shows them; `Figure.savefig` uses it."""

    def print_svg(self, file: Any, *, metadata: Any = None, bbox_inches_restore: Any = None, **_options: Any) -> None:
        """Write the figure as SVG with a style sheet that replaces colours on dark pages."""
        source = StringIO()
        FigureCanvasSVG(self.figure).print_svg(source, metadata=metadata, bbox_inches_restore=bbox_inches_restore)
        self.figure.set_canvas(self)
        text = source.getvalue().replace("</style>", f"\n{_build_dark_rules()}</style>", 1)
        with open_file_cm(file, "wb") as stream:
            stream.write(text if file_requires_unicode(stream) else text.encode())


def _build_dark_rules() -> str:
    """Return the style sheet of dark pages.

    The colours remain attributes of the elements, because programs other than browsers know no style sheets.
    """
    rules = "".join(
        f'[style*="{name}: {colour.lower()}"]{{{name}:{dark} !important}}\n'
        for colour, dark in DARK_COLOURS.items()
        for name in ("fill", "stroke")
    )
    return f"@media screen and (prefers-color-scheme: dark) {{\n{rules}}}\n"


@dataclass(frozen=True)
class Canvas:
    """A figure with a body to draw into, and the width of the body in inches."""

    figure: Figure
    body: SubFigure
    width: float


@dataclass(frozen=True)
class _Texts:
    """The lines of a figure's texts, and the legend's labels and number of columns."""

    title_lines: list[str]
    footer_lines: list[str]
    labels: list[str]
    legend_columns: int

    @property
    def header_height(self) -> float:
        return 0.1 + len(self.title_lines) * TITLE_SIZE * LINE_HEIGHT

    @property
    def footer_height(self) -> float:
        line_counts = [label.count("\n") + 1 for label in self.labels]
        # Columns have rows of equal height; a single column has rows of different heights.
        rows = math.ceil(len(self.labels) / self.legend_columns)
        lines = rows * max(line_counts, default=0) if self.legend_columns > 1 else sum(line_counts)
        return 0.1 + lines * SMALL_SIZE * LEGEND_ROW_HEIGHT + len(self.footer_lines) * SMALL_SIZE * LINE_HEIGHT


def _wrap_texts(
    width: float, title: str, source_note: str, notes: Sequence[str], legend: Sequence[tuple[Artist, str]]
) -> _Texts:
    """Wrap the texts of a figure to its width."""
    text_width = width * (1 - 2 * TEXT_MARGIN)
    title_lines = wrap_text(title, text_width, TITLE_SIZE, "bold")
    footer_lines = [line for note in (source_note, *notes) for line in wrap_text(note, text_width, SMALL_SIZE)]
    labels = ["\n".join(wrap_text(label, text_width - LEGEND_HANDLE_WIDTH, SMALL_SIZE)) for _, label in legend]
    longest_line = max((len(line) for label in labels for line in label.split("\n")), default=0)
    legend_columns = max(1, int(width / (LEGEND_HANDLE_WIDTH + longest_line * SMALL_SIZE * CHARACTER_WIDTH)))
    return _Texts(title_lines, footer_lines, labels, legend_columns)


def compute_body_limit(
    width: float, title: str, source_note: str, notes: Sequence[str], legend: Sequence[tuple[Artist, str]] = ()
) -> float:
    """Return the height in inches that is left for the body, so that the figure fits on a page."""
    texts = _wrap_texts(width, title, source_note, notes, legend)
    return MAX_HEIGHT - texts.header_height - texts.footer_height


def create_canvas(
    width: float,
    body_height: float,
    title: str,
    source_note: str,
    notes: Sequence[str],
    legend: Sequence[tuple[Artist, str]] = (),
) -> Canvas:
    """Return an empty figure: the title, a body of this height, and the legend, source note and notes below it."""
    texts = _wrap_texts(width, title, source_note, notes, legend)
    heights = [texts.header_height, max(body_height, EMPTY_BODY_HEIGHT), texts.footer_height]
    figure = Figure(figsize=(width, sum(heights)), layout="constrained")
    ThemedCanvas(figure)
    figure.get_layout_engine().set(w_pad=0.06, h_pad=0.04)
    header, body, footer = figure.subfigures(3, 1, height_ratios=heights, hspace=0)
    bold = {"fontsize": TITLE_SIZE, "fontweight": "bold"}
    header.text(TEXT_MARGIN, 0.5, "\n".join(texts.title_lines), ha="left", va="center", **bold)
    if legend:
        artists = [artist for artist, _ in legend]
        layout = {"loc": "upper center", "ncols": texts.legend_columns, "borderaxespad": 0.1, "columnspacing": 1.2}
        footer.legend(artists, texts.labels, **layout)
    faint = {"fontsize": SMALL_SIZE, "color": FAINT_COLOUR}
    footer.text(TEXT_MARGIN, 0.04, "\n".join(texts.footer_lines), ha="left", va="bottom", **faint)
    return Canvas(figure, body, width)


def count_columns(panels: int, width: float, panel_width: float) -> int:
    """Return how many of the panels stand side by side in rows of nearly equal length.

    Args:
        panels: Number of panels.
        width: Width of all panels in inches.
        panel_width: Smallest width of a panel.
    """
    rows = math.ceil(panels / max(1, int(width / panel_width)))
    return math.ceil(panels / rows) if rows else 1


def wrap_text(text: str, width: float, size: float, weight: str = "normal") -> list[str]:
    """Return the lines of a text in a font of this size in points that fit a width in inches."""
    escaped_text, font = escape_invisible(text), FontProperties(size=size, weight=weight)
    characters = max(12, int(width / (size * CHARACTER_WIDTH)))
    # The average character is narrower than CHARACTER_WIDTH, so most texts have room for longer lines.
    for longer in range(int(1.4 * characters), characters, -1):
        lines = wrap(escaped_text, longer)
        if all(_measure_text(line, font) <= width for line in lines):
            return lines
    return wrap(escaped_text, characters)


def _measure_text(text: str, font: FontProperties) -> float:
    """Return the width of a line in inches."""
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0]) / 72


def wrap_label(text: str, characters: int) -> str:
    """Return a label on lines of at most so many characters, wrapped only between words."""
    return "\n".join(wrap(escape_invisible(text), characters, break_long_words=False)) or " "


def _round_layout(figure: Figure | SubFigure) -> None:
    """Round all positions, because the layout solver's sums differ slightly between processes."""
    for axes in figure.axes:
        axes.set_position([round(value, 5) for value in axes.get_position(original=True).bounds])
    for text in filter(None, (figure._suptitle, figure._supxlabel, figure._supylabel)):
        text.set_position([round(value, 5) for value in text.get_position()])
    for subfigure in figure.subfigs:
        box = subfigure.bbox_relative
        box.p0, box.p1 = box.p0.round(5), box.p1.round(5)
        _round_layout(subfigure)


def fix_layout(figure: Figure) -> None:
    """Compute the positions of everything, which then no longer change."""
    for text in figure.findobj(Text):  # Row labels come from users' settings and may have hidden characters.
        text.set_text(escape_invisible(text.get_text()))
    layout = figure.get_layout_engine()
    for _ in range(2):  # Wrapped labels need a second pass.
        layout.execute(figure)
    figure.set_layout_engine("none")
    _round_layout(figure)


def save_figure(figure: Figure, path: Path, description: Mapping[str, str]) -> None:
    """Write the figure in every format. Files have no date, so equal figures have equal bytes."""
    canvas = ThemedCanvas(figure)
    fix_layout(figure)
    title, caption, dpi = description["title"], description["caption"], figure.dpi
    # `savefig` draws a figure twice if it has a layout engine, even the placeholder that "none" leaves, so the print
    # functions of the formats are called directly.
    with atomic_path(path.with_suffix(".png")) as temporary:
        canvas.print_png(temporary, metadata={"Title": title, "Description": caption})
    with atomic_path(path.with_suffix(".svg")) as temporary:
        canvas.print_svg(temporary, metadata={"Title": title, "Description": caption, "Date": None})
    figure.dpi = dpi  # Restore the resolution for the PDF's rasterised parts, because print_svg changes it.
    with atomic_path(path.with_suffix(".pdf")) as temporary:
        FigureCanvasPdf(figure).print_pdf(
            temporary, metadata={"Title": title, "Subject": caption, "CreationDate": None}
        )
    for kind in FORMATS:
        seal_file(path.with_suffix(f".{kind}"))

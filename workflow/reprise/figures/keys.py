"""Define the settings of the stages `figure` and `tables_pdf`."""

from pydantic import Field

from reprise.config.figures import Figure
from reprise.core.settings import Key
from reprise.figures.styles import ModelStyle
from reprise.tables.keys import TableKey


class PdfKey(Key):
    """Settings of the stage `tables_pdf`."""

    captions: dict[str, str] = Field({})
    """figure, such as `velociti/fig3` -> its caption"""


class FigureKey(Key):
    """Settings of the stage `figure`."""

    suite: str
    notice: str = ""
    benchmark: str
    benchmark_title: str
    figure: str
    spec: Figure
    width: float  # inches
    styles: dict[str, ModelStyle] = Field({})  # model of the figure -> its style
    parts: tuple[TableKey, ...] = ()  # parts of tables that the figure shows, each as a table
    show_published: bool
    published_sha256: str = ""

    @property
    def full_caption(self) -> str:
        """Return the caption: the notice, the title, the origin and the description."""
        return f"{self.notice} {self.spec.title} ({self.origin}). {self.spec.caption}".strip()

    @property
    def origin(self) -> str:
        """Return where the paper prints the figure, or that it is an analysis of this project."""
        number = self.figure.removeprefix("fig")
        return f"{self.benchmark_title}, " + (
            f"Figure {number}" if number.isdecimal() else "an analysis of this project"
        )

"""The key of a figure: its specification, and the parts of tables that it shows."""

from reprise.benchmarks.registry import module_name
from reprise.config.figures import Figure
from reprise.core.keyfile import Key
from reprise.tables.keys import TableKey

# A figure takes a table's numbers before they are written in any format.
FORMATS = tuple(f"reprise.tables.render.{name}" for name in ("latex*", "html", "markdown"))


class FigureKey(Key):
    """Key of the stage `figure`."""

    STAGE = "reprise.stages.figure"
    CARRIERS = (*TableKey.CARRIERS, *FORMATS)
    suite: str
    notice: str = ""
    benchmark: str
    benchmark_title: str
    figure: str
    spec: Figure
    parts: tuple[TableKey, ...] = ()
    """the parts of tables that it shows, each as a table of its own"""
    show_published: bool
    published_sha256: str = ""
    """digest of the paper's own numbers, where they are shown"""

    def modules(self) -> tuple[str, ...]:
        return (self.STAGE, module_name(self.benchmark, "scores"))

    @property
    def described(self) -> str:
        """The caption: the notice, what is shown, and whose figure it is."""
        return f"{self.notice} {self.spec.title} ({self.origin}). {self.spec.caption}".strip()

    @property
    def origin(self) -> str:
        """Where the figure is printed."""
        number = self.figure.removeprefix("fig")
        return f"{self.benchmark_title}, " + (f"Figure {number}" if number.isdecimal() else "an analysis of our own")

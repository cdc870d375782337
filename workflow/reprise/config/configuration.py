"""Everything that one suite needs, read and checked."""

from pydantic import BaseModel, ConfigDict

from reprise.config.benchmark import Benchmark
from reprise.config.figures import Figures
from reprise.config.main import Main
from reprise.config.model import Model
from reprise.config.overview import overview_spec
from reprise.config.suite import Suite
from reprise.config.tables import Tables, TableSpec
from reprise.models.adapters import ADAPTERS

EXTERNAL = "config/external.yaml"


class Configuration(BaseModel):
    """Everything that one suite needs, read and checked."""

    model_config = ConfigDict(frozen=True)
    name: str
    main: Main
    suite: Suite
    benchmarks: dict[str, Benchmark]
    tables: dict[str, Tables]
    figures: dict[str, Figures] = {}
    models: dict[str, Model]
    external: frozenset[str] = frozenset()
    """the models of config/external.yaml"""

    def is_import(self, slug: str) -> bool:
        """Whether a model's answers are read from files."""
        return ADAPTERS[self.models[slug].adapter].is_import

    def file_of(self, slug: str) -> str:
        """The file that defines a model."""
        return EXTERNAL if slug in self.external else f"config/models/{slug}.yaml"

    def overview_of(self, benchmark: str) -> TableSpec | None:
        """A benchmark's part of the overview, as a table."""
        settings, lines = self.benchmarks.get(benchmark), self.suite.overview_lines()
        labels = {slug: model.label for slug, model in self.models.items()}
        return overview_spec(benchmark, settings.title, self.tables[benchmark], lines, labels) if settings else None

    def runs_of(self, benchmark: str) -> set[str]:
        """The runs that tables and overview show of a benchmark, and extra ones: `<protocol>/<sampling>/<model>`."""
        overview = self.overview_of(benchmark)
        tables = [*self.tables[benchmark].tables.values(), *([overview] if overview else [])]
        shown = {
            f"{row.protocol}/{row.sampling}/{row.model}"
            for table in tables
            for row in table.cells()
            if row.model and row.protocol and row.sampling and not row.chance and not row.dataset
        }
        return shown | set(self.suite.benchmarks[benchmark].extra_runs)

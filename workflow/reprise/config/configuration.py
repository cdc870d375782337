"""Everything that one suite needs, read and checked."""

from pydantic import BaseModel, ConfigDict

from reprise.config.benchmark import Benchmark
from reprise.config.main import Main
from reprise.config.model import Model
from reprise.config.suite import Suite
from reprise.config.tables import Tables
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
    models: dict[str, Model]
    external: frozenset[str] = frozenset()
    """the models of config/external.yaml"""

    def is_import(self, slug: str) -> bool:
        """Whether a model's answers are read from files."""
        return ADAPTERS[self.models[slug].adapter].is_import

    def file_of(self, slug: str) -> str:
        """The file that defines a model."""
        return EXTERNAL if slug in self.external else f"config/models/{slug}.yaml"

    def runs_of(self, benchmark: str) -> set[str]:
        """The runs that a benchmark's tables show, and the suite's extra runs: `<protocol>/<sampling>/<model>`."""
        tables = self.tables[benchmark].tables.values()
        shown = {
            f"{row.protocol}/{row.sampling}/{row.model}"
            for table in tables
            for row in table.cells()
            if row.model and row.protocol and row.sampling and not row.chance and not row.dataset
        }
        return shown | set(self.suite.benchmarks[benchmark].extra_runs)

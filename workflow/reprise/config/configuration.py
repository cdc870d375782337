"""Everything that one suite needs, read and checked."""

import re

from pydantic import BaseModel, ConfigDict

from reprise.config.benchmark import Benchmark
from reprise.config.figures import Figures
from reprise.config.main import Main
from reprise.config.model import Model
from reprise.config.overview import overview_spec
from reprise.config.suite import Suite
from reprise.config.tables import Tables, TableSpec
from reprise.core.names import SLUG
from reprise.models.adapters import ADAPTERS

EXTERNAL = "config/external.yaml"
LIMITED = re.compile(rf"({SLUG})-limit([1-9]\d*)")


def split_name(name: str) -> tuple[str, int | None]:
    """The name of a suite, and of how many units of each benchmark: `demo-limit20` is a part of `demo`."""
    found = LIMITED.fullmatch(name)
    return (found[1], int(found[2])) if found else (name, None)


def part_name(suite: str, limit: int | None) -> str:
    """The name of such a part."""
    return suite if limit is None else f"{suite}-limit{limit}"


class Configuration(BaseModel):
    """Everything that one suite needs, read and checked."""

    model_config = ConfigDict(frozen=True)
    name: str
    """of the suite, or of a part of it: `<suite>-limit<N>`"""
    limit: int | None = None
    """units of each benchmark that are asked about, where the name says so"""
    main: Main
    suite: Suite
    benchmarks: dict[str, Benchmark]
    tables: dict[str, Tables]
    figures: dict[str, Figures] = {}
    models: dict[str, Model]
    external: frozenset[str] = frozenset()
    """the models of config/external.yaml"""

    @property
    def whole(self) -> str:
        """The name of the suite, also where this is a part of it."""
        return split_name(self.name)[0] if self.limit else self.name

    @property
    def file(self) -> str:
        """The file of the suite."""
        return f"config/suites/{self.whole}.yaml"

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

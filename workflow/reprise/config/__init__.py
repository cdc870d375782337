"""The configuration: its schema, its reading, and the checks across its files."""

from reprise.config.external import ImportSettings, import_folder, import_settings, is_import
from reprise.config.load import load, load_yaml
from reprise.config.schema import (
    Column,
    Configuration,
    Model,
    Row,
    Section,
    TableSpec,
)

__all__ = [
    "Column",
    "Configuration",
    "ImportSettings",
    "Model",
    "Row",
    "Section",
    "TableSpec",
    "import_folder",
    "import_settings",
    "is_import",
    "load",
    "load_yaml",
]

"""The configuration: its types, its reading, and the checks across its files."""

from reprise.config.configuration import Configuration
from reprise.config.imported import import_folder, import_settings
from reprise.config.load import load
from reprise.config.model import Model
from reprise.config.suite import OnGpus, SubsetFile
from reprise.config.tables import Column, Row, Section, TableSpec
from reprise.config.yaml_files import load_yaml

__all__ = [
    "Column",
    "Configuration",
    "Model",
    "OnGpus",
    "Row",
    "Section",
    "SubsetFile",
    "TableSpec",
    "import_folder",
    "import_settings",
    "load",
    "load_yaml",
]

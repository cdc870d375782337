"""The configuration: its schema, its reading, and the checks across its files."""

from reprise.config.load import load, load_yaml
from reprise.config.schema import (
    Column,
    Configuration,
    Model,
    ReleaseHub,
    Row,
    Section,
    TableSpec,
)

__all__ = ["Column", "Configuration", "Model", "ReleaseHub", "Row", "Section", "TableSpec", "load", "load_yaml"]

"""Fixtures with a copy of the configuration that a test may edit."""

from tests.unit.config.conftest import cached_yaml_files, project, project_template

__all__ = ["cached_yaml_files", "project", "project_template"]

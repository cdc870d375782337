"""Make the `project` fixture of tests/unit/config available to all unit tests."""

from tests.unit.config.conftest import cached_yaml_files, project, project_template

__all__ = ("cached_yaml_files", "project", "project_template")

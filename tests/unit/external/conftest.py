"""The project of the configuration's tests, whose imports a test may change."""

from tests.unit.config.conftest import copied, each_text_is_parsed_once, project

__all__ = ("copied", "each_text_is_parsed_once", "project")

"""The project of the configuration's tests, for all rooms: a copy of the configuration and the imports that a test may break."""

from tests.unit.config.conftest import copied, each_text_is_parsed_once, project

__all__ = ("copied", "each_text_is_parsed_once", "project")

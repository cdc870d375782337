"""A copy of the configuration that a test may break."""

from tests.unit.config.conftest import copied, each_text_is_parsed_once, project

__all__ = ["copied", "each_text_is_parsed_once", "project"]

"""Load side packages, which define keys of a suite's benchmarks and plan jobs for them.

A package is imported only if a suite contains one of its keys. The library then uses three modules of the package:

- `settings` defines the types of its keys.
- `configuration` defines `check(name_checks, notes)`, which notes problems of their values, and `complete(config)`,
  which adds the settings that they imply to the configuration.
- `plan` defines `Package`, a subclass of `reprise.plan.side_package.SidePackage`.
"""

from collections.abc import Iterable
from functools import cached_property
from importlib import import_module
from typing import Any

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

SIDE_PACKAGES = {"construction": "construction", "subset_search": "construction", "annotators": "human_evaluation"}
"""key of a benchmark in a suite's file -> package that defines the key"""


def list_packages(benchmarks: Iterable[BaseModel]) -> list[str]:
    """Return the packages whose keys a suite's benchmarks have, in the order of `SIDE_PACKAGES`."""
    all_settings = list(benchmarks)
    packages = (
        package for key, package in SIDE_PACKAGES.items() if any(getattr(settings, key) for settings in all_settings)
    )
    return list(dict.fromkeys(packages))


def load_module(package: str, name: str) -> Any:
    """Import one of the modules of a package that the library uses."""
    return import_module(f"{package}.{name}")


class TypeOf:
    """Annotation of a key's value by the name of its type, which the package of the key defines in `settings`.

    The package is imported when a suite has a value for the key, or when the schema of the configuration is written.
    """

    def __init__(self, key: str, name: str) -> None:
        self._package, self._name = SIDE_PACKAGES[key], name

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(getattr(load_module(self._package, "settings"), self._name))

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(lambda value: self._adapter.validate_python(value))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        # pydantic adds a model to the schema's definitions if the model is the only step of a chain.
        return handler(core_schema.chain_schema([self._adapter.core_schema]))

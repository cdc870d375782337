"""Replace leaves of the real configuration by values that a user may write by mistake.

Each file then loads with the written values, or gives one message with the file and the key. No value is converted.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError
from reprise.config.benchmark import Benchmark
from reprise.config.figures import Figures
from reprise.config.load import load
from reprise.config.main import Main
from reprise.config.model import External, Model
from reprise.config.suite import Suite
from reprise.config.tables import Tables
from reprise.core.errors import UserError
from reprise.core.settings import Location, describe_errors
from reprise.core.yaml_files import dump_yaml, load_yaml

from tests.unit.config.conftest import ROOT, Project

TYPE_BY_PATTERN: dict[str, type[BaseModel]] = {
    "config.yaml": Main, "suites/*.yaml": Suite, "benchmarks/*.yaml": Benchmark, "models/*.yaml": Model,
    "external.yaml": External, "tables/**/*.yaml": Tables, "figures/**/*.yaml": Figures,
}  # fmt: skip
NESTED: Any = "x"
for _ in range(30):
    NESTED = [NESTED]
MUTANTS: list[Any] = [
    True, False, None, "", "x", "1", "0.5", "1:30", "010", "2024-05-01", "~", "~/x", "$HOME/x", "$NOT_SET/x", "s3://a/b",
    "a\0b", "n" * 5000, "**x", "../x", "/x", "yes", "all", 0, 1, -1, 2**62, 0.5, 1.0, -0.5, 1e300, [], {}, [None], ["x"],
    [True], [1], [[]], {"x": 1}, {"rule": "all"}, {"show": "none"}, NESTED,
]  # fmt: skip
EXPANDED_PATHS: dict[Any, str] = {"~": str(Path.home()), **dict.fromkeys(("~/x", "$HOME/x"), str(Path.home() / "x"))}
MAX_LOCATIONS, MUTANTS_PER_LOCATION, SEED = 40, 8, 7


def list_files() -> Iterator[tuple[str, type[BaseModel]]]:
    for pattern, kind in TYPE_BY_PATTERN.items():
        for path in sorted((ROOT / "config").glob(pattern)):
            yield str(path.relative_to(ROOT)), kind


def iterate_locations(content: Any, location: Location = ()) -> Iterator[Location]:
    """Yield the location of every leaf, mapping and list."""
    if location:
        yield location
    members: Any = (
        content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    )
    for key, value in members:
        yield from iterate_locations(value, (*location, key))


def replace_value(content: Any, location: Location, value: Any) -> Any:
    if not location:
        return value
    changed: Any = content.copy()
    changed[location[0]] = replace_value(content[location[0]], location[1:], value)
    return changed


def get_value(content: Any, location: Location) -> Any:
    for part in location:
        content = content[part]
    return content


def is_same(left: Any, right: Any) -> bool:
    """Return whether two values are equal and of one type; an integer may represent a float."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(is_same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(is_same, left, right))
    numbers = (int, float) if not isinstance(left, bool) and not isinstance(right, bool) else ()
    return left == right and (type(left) is type(right) or (isinstance(left, numbers) and isinstance(right, numbers)))


def is_unchanged(loaded: Any, written: Any, location: Location) -> bool:
    """Return whether a setting is loaded as written; a path may be expanded."""
    if not location:
        if isinstance(loaded, BaseModel):
            loaded = loaded.model_dump(exclude_unset=True, mode="json")
        return (
            written == {}
            or is_same(loaded, written)
            or (isinstance(written, str) and loaded == EXPANDED_PATHS.get(written))
        )
    key, *remaining = location
    if isinstance(loaded, BaseModel):
        if isinstance(loaded, External):
            loaded = loaded.root
        else:
            loaded = getattr(loaded, str(key), None)
            return is_unchanged(loaded, written, tuple(remaining))
    try:
        return is_unchanged(loaded[key], written, tuple(remaining))
    except (KeyError, IndexError, TypeError):
        return True  # the type accepts a short form, such as `served_by: vllm`


@pytest.mark.parametrize(("file", "kind"), list(list_files()))
def test_a_mutated_value_is_kept_or_rejected_with_its_key(file: str, kind: type[BaseModel]) -> None:
    content, random_generator = load_yaml(ROOT / file), random.Random(f"{SEED}{file}")
    locations = list(iterate_locations(content))
    for location in random_generator.sample(locations, min(len(locations), MAX_LOCATIONS)):
        for mutant in random_generator.sample(MUTANTS, MUTANTS_PER_LOCATION):
            changed = replace_value(content, location, mutant)
            try:
                loaded = kind.model_validate(changed)
            except ValidationError as error:
                errors = list(describe_errors(error, changed))
                assert errors and all(len(message) < 1500 and "Traceback" not in message for _, message in errors)
                is_named = any(is_about(error_location, location, message) for error_location, message in errors)
                assert is_named, (location, mutant, errors)
            else:
                assert is_unchanged(loaded, mutant, location), (location, mutant)


def test_mutants_are_loaded_as_written(tmp_path: Path) -> None:
    path, values = tmp_path / "a.yaml", [value for value in MUTANTS if value != "a\0b"]
    path.write_text(dump_yaml(values))
    assert is_same(load_yaml(path), values)


def is_about(error_location: Location, location: Location, message: str) -> bool:
    """Return whether a message concerns a location, a part of it, a group around it, or a missing key."""
    start = error_location[: len(location)]
    return start == location[: len(start)] or message == "missing."


@pytest.mark.parametrize("file", ["config/config.yaml", "config/suites/demo.yaml", "config/suites/construction.yaml"])
def test_the_whole_configuration_loads_or_ends_with_a_message(project: Project, file: str) -> None:
    """This includes the checks across files; it uses a sample, because each case loads the whole suite."""
    content, random_generator = load_yaml(project.root / file), random.Random(f"{SEED}{file}")
    suite = "construction" if "construction" in file else "demo"
    cases = [(location, mutant) for location in iterate_locations(content) for mutant in MUTANTS if mutant != "a\0b"]
    for location, mutant in random_generator.sample(cases, 25):
        project.write(file, dump_yaml(replace_value(content, location, mutant)))
        try:
            load(project.root, {"suite": suite})
        except UserError as error:
            assert "config/" in str(error) or "--config" in str(error), (location, mutant, error)

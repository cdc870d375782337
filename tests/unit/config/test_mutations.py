"""Every leaf of the real configuration, replaced by values that a user may write by mistake.

Each file then loads with what it says, or ends with one message that names the file and the key. Nothing is converted.
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

KINDS: dict[str, type[BaseModel]] = {
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
PATHS: dict[Any, str] = {"~": str(Path.home()), **dict.fromkeys(("~/x", "$HOME/x"), str(Path.home() / "x"))}
MOST_PLACES, OF_EACH_PLACE, SEED = 40, 8, 7


def files() -> Iterator[tuple[str, type[BaseModel]]]:
    for pattern, kind in KINDS.items():
        for path in sorted((ROOT / "config").glob(pattern)):
            yield str(path.relative_to(ROOT)), kind


def places(content: Any, place: Location = ()) -> Iterator[Location]:
    """Every leaf, and every group and list as a whole."""
    if place:
        yield place
    members: Any = (
        content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    )
    for key, value in members:
        yield from places(value, (*place, key))


def replaced(content: Any, place: Location, value: Any) -> Any:
    if not place:
        return value
    changed: Any = content.copy()
    changed[place[0]] = replaced(content[place[0]], place[1:], value)
    return changed


def at(content: Any, place: Location) -> Any:
    for part in place:
        content = content[part]
    return content


def is_same(left: Any, right: Any) -> bool:
    """Whether two values are equal and of one type; a whole number may stand for a fraction."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(is_same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(is_same, left, right))
    numbers = (int, float) if not isinstance(left, bool) and not isinstance(right, bool) else ()
    return left == right and (type(left) is type(right) or (isinstance(left, numbers) and isinstance(right, numbers)))


def unchanged(read: Any, written: Any, place: Location) -> bool:
    """Whether a setting is read as it is written; a path may be expanded."""
    if not place:
        if isinstance(read, BaseModel):
            read = read.model_dump(exclude_unset=True, mode="json")
        return written == {} or is_same(read, written) or (isinstance(written, str) and read == PATHS.get(written))
    part, *rest = place
    if isinstance(read, BaseModel):
        if isinstance(read, External):
            read = read.root
        else:
            read = getattr(read, str(part), None)
            return unchanged(read, written, tuple(rest))
    try:
        return unchanged(read[part], written, tuple(rest))
    except (KeyError, IndexError, TypeError):
        return True  # a type that reads its content in another form, such as `served_by: vllm`


@pytest.mark.parametrize(("file", "kind"), list(files()))
def test_a_changed_value_is_kept_or_refused_by_its_key(file: str, kind: type[BaseModel]) -> None:
    content, draw = load_yaml(ROOT / file), random.Random(f"{SEED}{file}")
    every = list(places(content))
    for place in draw.sample(every, min(len(every), MOST_PLACES)):
        for mutant in draw.sample(MUTANTS, OF_EACH_PLACE):
            changed = replaced(content, place, mutant)
            try:
                read = kind.model_validate(changed)
            except ValidationError as error:
                found = list(describe_errors(error, changed))
                assert found and all(len(words) < 1500 and "Traceback" not in words for _, words in found)
                assert any(names(where, place, words) for where, words in found), (place, mutant, found)
            else:
                assert unchanged(read, mutant, place), (place, mutant)


def test_these_values_are_read_as_they_are_written(tmp_path: Path) -> None:
    path, values = tmp_path / "a.yaml", [value for value in MUTANTS if value != "a\0b"]
    path.write_text(dump_yaml(values))
    assert is_same(load_yaml(path), values)


def names(where: Location, place: Location, words: str) -> bool:
    """Whether a message is about a place: at it, in it or around it, or about what is missing without it."""
    start = where[: len(place)]
    return start == place[: len(start)] or words == "missing."


@pytest.mark.parametrize("file", ["config/config.yaml", "config/suites/demo.yaml", "config/suites/construction.yaml"])
def test_the_whole_configuration_loads_or_ends_with_a_message(project: Project, file: str) -> None:
    """The checks across files too; a sample, since each reads the whole suite."""
    content, draw = load_yaml(project.root / file), random.Random(f"{SEED}{file}")
    suite = "construction" if "construction" in file else "demo"
    every = [(place, mutant) for place in places(content) for mutant in MUTANTS if mutant != "a\0b"]
    for place, mutant in draw.sample(every, 25):
        project.write(file, dump_yaml(replaced(content, place, mutant)))
        try:
            load(project.root, {"suite": suite})
        except UserError as error:
            assert "config/" in str(error) or "--config" in str(error), (place, mutant, error)

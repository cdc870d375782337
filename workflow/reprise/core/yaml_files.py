"""Reads YAML files; errors name file and line, and no file makes more of itself than it is."""

from itertools import chain
from pathlib import Path
from typing import Any

import yaml

from reprise.core.errors import UserError
from reprise.core.settings import Place

MOST_VALUES = 200_000


class _UniqueKeys(yaml.CSafeLoader):
    """A loader that refuses duplicate keys; YAML itself would take the last one."""


def _mapping(loader: _UniqueKeys, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key, _ in node.value:
        name = key.value if isinstance(key, yaml.ScalarNode) else None
        if name is None:
            raise yaml.constructor.ConstructorError(None, None, "a key should be a text", key.start_mark)
        if name in seen:
            raise yaml.constructor.ConstructorError(None, None, f"duplicate key '{name}'", key.start_mark)
        seen.add(name)
    loader.flatten_mapping(node)
    return dict(loader.construct_pairs(node, deep=True))


_UniqueKeys.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


def load_yaml(path: Path) -> Any:
    """Read one YAML file; a UserError if it is missing, broken or a bomb."""
    try:
        if not path.is_file():
            raise UserError(f"{path}: {'no file' if path.exists() else 'no such file'}.")
        loader = _UniqueKeys(path.read_text(encoding="utf-8"))
        node = loader.get_single_node()
        if node is None:
            return None
        _count_values(node, path, {})
        return loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise UserError(f"{path}: {line}not valid YAML: {error.problem}.") from error
    except UnicodeDecodeError as error:
        number = error.object.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}: line {number}: not UTF-8 ({error.reason}). Save the file as UTF-8.") from error
    except RecursionError as error:
        raise UserError(f"{path}: not valid YAML: nested too deeply.") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:  # a ValueError is a number or a date that is none
        raise UserError(f"{path}: not valid YAML: {' '.join(str(error).split())}.") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}.") from error


def _count_values(node: yaml.Node, path: Path, counts: dict[int, int]) -> int:
    """How many values a node has once aliases are written out; one that contains itself, or too many, are refused."""
    line = f"{path}: line {node.start_mark.line + 1}"
    if id(node) not in counts:
        counts[id(node)] = 0
        members = node.value if isinstance(node, yaml.CollectionNode) else []
        children = chain.from_iterable(members) if isinstance(node, yaml.MappingNode) else members
        counts[id(node)] = 1 + sum(_count_values(child, path, counts) for child in children)
    if counts[id(node)] == 0:
        raise UserError(f"{line}: not valid YAML: an alias that contains itself.")
    if counts[id(node)] > MOST_VALUES:
        raise UserError(f"{line}: not valid YAML: aliases that stand for more than {MOST_VALUES} values.")
    return counts[id(node)]


def line_of(path: Path, place: Place) -> int:
    """The line of a place in a file that was read, or of the nearest place around it."""
    with path.open(encoding="utf-8") as stream:
        node: Any = yaml.compose(stream, Loader=yaml.SafeLoader)
    line = 1
    for part in place:
        found = []
        if isinstance(node, yaml.MappingNode):
            found = [(key, value) for key, value in node.value if key.value == str(part)]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            found = [(value, value) for value in node.value[part : part + 1]]
        if not found:
            break
        line, node = found[0][0].start_mark.line + 1, found[0][1]
    return line

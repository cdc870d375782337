"""Reads YAML files; errors name file and line."""

from pathlib import Path
from typing import Any

import yaml

from reprise.core.errors import UserError
from reprise.core.settings import Place


class _UniqueKeys(yaml.SafeLoader):
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
    """Read one YAML file; a UserError if it is missing or broken."""
    try:
        with path.open(encoding="utf-8") as stream:
            return yaml.load(stream, Loader=_UniqueKeys)  # a SafeLoader
    except FileNotFoundError as error:
        raise UserError(f"{path}: no such file.") from error
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise UserError(f"{path}: {line}not valid YAML: {error.problem}.") from error
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{path}: not valid YAML: {' '.join(str(error).split())}.") from error


def line_of(path: Path, place: Place) -> int:
    """The line of a place in a file that was read, or of the nearest place around it."""
    with path.open(encoding="utf-8") as stream:
        node: Any = yaml.compose(stream, Loader=yaml.SafeLoader)
    line = 1
    for part in place:
        if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
        elif isinstance(node, yaml.MappingNode):
            found = [(key, value) for key, value in node.value if key.value == str(part)]
            if not found:
                break
            line, node = found[0][0].start_mark.line + 1, found[0][1]
        else:
            break
    return line

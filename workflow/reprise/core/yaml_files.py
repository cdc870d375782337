"""Read YAML files: errors name file and line, and aliases cannot expand to too many values.

Scalars are read as in YAML 1.2, except that `yes`, `no`, `on` and `off` are booleans, as users expect.
YAML 1.1, which PyYAML implements, would read `1:30` as 90, `010` as 8 and `2024-05-01` as a date.
"""

import math
import re
from collections.abc import Hashable
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from reprise.core.errors import UserError
from reprise.core.plain import truncate
from reprise.core.settings import Location

MAX_VALUES = 200_000
# The C parser uses the stack for each level, and crashes the process if the stack is too small.
MAX_LEVELS = 50
TOO_DEEP = f"nested more than {MAX_LEVELS} levels deep"
MAX_INTEGER = 2**63 - 1
MAX_NUMBER_CHARS = 40

_STR, _BOOL, _NULL, _INT, _FLOAT, _MERGE = (
    f"tag:yaml.org,2002:{name}" for name in ("str", "bool", "null", "int", "float", "merge")
)
_KINDS = {_BOOL: "true or false", _NULL: "nothing", _INT: "a number", _FLOAT: "a number"}
# Each tag with a pattern of its scalars and their possible first characters; an empty scalar has none.
_SCALARS = (
    (_BOOL, r"yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF", "yYnNtTfFoO"),
    (_NULL, r"~|null|Null|NULL|", [*"~nN", ""]),
    (_INT, r"[-+]?(?:0|[1-9][0-9_]*)", "-+0123456789"),
    (
        _FLOAT,
        r"[-+]?(?:(?:[0-9][0-9_]*)?\.[0-9][0-9_]*|[0-9][0-9_]*\.|[0-9][0-9_]*(?=[eE]))(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+0123456789.",
    ),
    (_MERGE, r"<<", "<"),
)  # fmt: skip


class _Loader(yaml.CSafeLoader):
    """A loader that rejects duplicate keys; PyYAML would silently use the last one."""

    yaml_implicit_resolvers = {}  # noqa: RUF012  # PyYAML declares it as an attribute of the instance


class _Dumper(yaml.SafeDumper):
    """A dumper that quotes each text that the loader would parse as another type."""


class _RejectedYamlError(yaml.YAMLError):
    """Valid YAML that this project does not accept."""

    def __init__(self, node: yaml.Node | yaml.Event, problem: str) -> None:
        mark: Any = node.start_mark
        super().__init__(f"line {mark.line + 1}: {problem}.")


def _construct_mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Any, Any]:
    """Return a mapping; reject duplicate keys, and keys that YAML parses as another type than text."""
    earlier_keys: set[Hashable] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise yaml.constructor.ConstructorError(None, None, "a key should be a text", key.start_mark)
        if key.tag not in (_STR, _MERGE):
            raise _RejectedYamlError(
                key, f'the key {key.value} is read as {_KINDS[key.tag]}. Put it in quotes: "{key.value}"'
            )
        if key.value in earlier_keys:
            raise yaml.constructor.ConstructorError(None, None, f"duplicate key '{key.value}'", key.start_mark)
        earlier_keys.add(key.value)
    loader.flatten_mapping(node)
    return dict(loader.construct_pairs(node, deep=True))


def _construct_number(loader: _Loader, node: yaml.ScalarNode) -> int | float:
    """Return the number of a scalar; reject infinite numbers and integers of more than 64 bits."""
    text = str(loader.construct_scalar(node)).replace("_", "")
    # `int` is slow for a very long text. As a float, such an integer is too large as well.
    number = int(text) if node.tag == _INT and len(text) <= MAX_NUMBER_CHARS else float(_python_spelling(text))
    if not math.isfinite(number) or (node.tag == _INT and abs(number) > MAX_INTEGER):
        raise _RejectedYamlError(
            node, f"{truncate(node.value, MAX_NUMBER_CHARS)} is not a number that a setting can have"
        )
    return number


def _python_spelling(text: str) -> str:
    """Return a number as Python writes it: `inf` and `nan` for `.inf` and `.NaN` of YAML."""
    return re.sub(r"\.(?=inf|nan)", "", text.lower())


for _tag, _pattern, _beginnings in _SCALARS:
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(_tag, re.compile(rf"(?:{_pattern})\Z"), list(_beginnings))
_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _construct_mapping)
_Loader.add_constructor(_INT, _construct_number)
_Loader.add_constructor(_FLOAT, _construct_number)


def load_yaml(path: Path) -> Any:
    """Return the content of a YAML file.

    Raises:
        UserError: The file is missing or broken, or expands to too many values.
    """
    try:
        if not path.is_file():
            raise UserError(f"{path}: {'not a file' if path.exists() else 'no such file'}.")
        text = path.read_text(encoding="utf-8")
        _check_events(text)
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _check_size(node, path, {})
        return loader.construct_document(node)
    except _RejectedYamlError as error:
        raise UserError(f"{path}: {error}") from error
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise UserError(f"{path}: {line}not valid YAML: {error.problem}.") from error
    except UnicodeDecodeError as error:
        line_number = error.object.count(b"\n", 0, error.start) + 1
        raise UserError(f"{path}: line {line_number}: not UTF-8 ({error.reason}). Save the file as UTF-8.") from error
    except RecursionError as error:  # Aliases within aliases can nest too deep.
        raise UserError(f"{path}: {TOO_DEEP}.") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise UserError(f"{path}: not valid YAML: {' '.join(str(error).split())}.") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}.") from error


def dump_yaml(content: Any, *, is_inline: bool = False) -> str:
    """Return content as YAML text, on one line if `is_inline`; `load_yaml` parses it to the same content."""
    return yaml.dump(
        content,
        Dumper=_Dumper,
        default_flow_style=is_inline,
        sort_keys=False,
        allow_unicode=True,
        width=10**6,
    )


def _check_events(text: str) -> None:
    """Reject deep nesting, tags and NUL characters before the recursive parser processes the text."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        problem = None
        if depth > MAX_LEVELS:
            problem = TOO_DEEP
        elif (tag := getattr(event, "tag", None)) is not None:
            problem = f"the tag {tag} is not allowed; write the value without it"
        elif isinstance(event, yaml.ScalarEvent) and "\0" in event.value:
            problem = "a NUL character is not allowed"
        if problem is not None:
            raise _RejectedYamlError(event, problem)


class _Size(NamedTuple):
    """Number of values in a node, including itself, and of levels of collections."""

    values: int
    levels: int


def _check_size(node: yaml.Node, path: Path, sizes: dict[int, _Size]) -> _Size:
    """Return the size of a node with expanded aliases; reject a node that contains itself or is too large.

    `sizes` has the sizes of the nodes that were measured before, by `id(node)`.
    """
    line = f"{path}: line {node.start_mark.line + 1}"
    if id(node) not in sizes:
        sizes[id(node)] = _Size(0, 0)  # The node is being measured; an alias to it would be inside itself.
        members = node.value if isinstance(node, yaml.CollectionNode) else []
        children = list(chain.from_iterable(members) if isinstance(node, yaml.MappingNode) else members)
        child_sizes = [_check_size(child, path, sizes) for child in children]
        child_levels = max((child_size.levels for child_size in child_sizes), default=0)
        levels = 1 + child_levels if isinstance(node, yaml.CollectionNode) else 0
        sizes[id(node)] = _Size(1 + sum(child_size.values for child_size in child_sizes), levels)
    size = sizes[id(node)]
    if size.values == 0:
        raise UserError(f"{line}: not valid YAML: an alias that contains itself.")
    if size.values > MAX_VALUES:
        raise UserError(f"{line}: not valid YAML: aliases that stand for more than {MAX_VALUES} values.")
    if size.levels > MAX_LEVELS:
        raise UserError(f"{line}: {TOO_DEEP}.")
    return size


def find_line(path: Path, location: Location) -> int:
    """Return the line of a location in a file, or of the nearest enclosing location."""
    with path.open(encoding="utf-8") as stream:
        node: Any = yaml.compose(stream, Loader=yaml.SafeLoader)
    line = 1
    for part in location:
        # Pairs of the node whose line is returned, and the node in which the next part is looked up.
        matches = []
        if isinstance(node, yaml.MappingNode):
            matches = [(key, value) for key, value in node.value if key.value == str(part)]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            matches = [(value, value) for value in node.value[part : part + 1]]
        if not matches:
            break
        line, node = matches[0][0].start_mark.line + 1, matches[0][1]
    return line

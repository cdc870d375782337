"""Add or replace an item of a list in a user's YAML file without changing its other lines."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from reprise.core.errors import UserError
from reprise.core.files import write_text
from reprise.core.paths import locate
from reprise.core.yaml_files import dump_yaml, load_yaml


def copy_to_working_folder(file: str) -> Path:
    """Return a file in the working directory; copy it from the workflow's folder if it is missing."""
    path = Path(file)
    if not path.is_file() and locate(path).is_file():
        write_text(path, locate(path).read_text(encoding="utf-8"))
    return path


def put_item(file: Path, key: str, item: Any, is_replaced: Callable[[Any], bool]) -> None:
    """Replace the first item of a top-level list in a file for which `is_replaced`, or append the item to the list.

    Raises:
        UserError: The edited text would not parse to the expected content, as with unusual YAML; the file stays
            unchanged.
    """
    old_content, text = load_yaml(file), file.read_text(encoding="utf-8")
    items = list(old_content.get(key) or [])
    index = next((number for number, entry in enumerate(items) if is_replaced(entry)), len(items))
    new_items = [*items[:index], item, *items[index + 1 :]]
    if new_items == items:
        return
    line = dump_yaml([item], is_inline=True).strip()[1:-1]  # The item without the brackets of the list.
    new_content = None
    write_text(file, _replace_item(text, key, index, line))
    with suppress(UserError):
        new_content = load_yaml(file)
    if new_content != old_content | {key: new_items}:
        write_text(file, text)
        raise UserError(f"{file}: `{key}` cannot be changed here. Write this into it by hand: {line}")


def _replace_item(text: str, key: str, index: int, item: str) -> str:
    """Return the text of a file with an item at this index of a list; at the index after the last, it is appended."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)
    nodes = {name.value: value for name, value in root.value}
    if key not in nodes:
        return f"{text.rstrip()}\n\n{key}:\n  - {item}\n"
    node = nodes[key]
    if not isinstance(node, yaml.SequenceNode):
        return text  # `put_item` notices that the text is unchanged.
    if index < len(node.value):
        entry = node.value[index]
        return text[: entry.start_mark.index] + item + text[entry.end_mark.index :]
    if node.flow_style:
        end = node.end_mark.index - 1
        return f"{text[:end]}{', ' if node.value else ''}{item}{text[end:]}"
    # The new item follows the line of the last item, which may end with a comment.
    end = len(text[: node.value[-1].end_mark.index].rstrip())
    line, newline, remainder = text[end:].partition("\n")
    return f"{text[:end]}{line}\n{' ' * node.start_mark.column}- {item}{newline}{remainder}"

"""Edit a user's YAML files: add or replace an item of a list, and restore the files if a command ends early."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

from reprise.core.errors import UserError
from reprise.core.files import atomic_path, write_text
from reprise.core.paths import locate
from reprise.core.yaml_files import dump_yaml, load_yaml


def copy_to_working_folder(file: str) -> Path:
    """Return a file in the working directory; copy it from the workflow's folder if it is missing."""
    path = Path(file)
    if not path.is_file() and locate(path).is_file():
        write_text(path, locate(path).read_text(encoding="utf-8"))
    return path


@contextmanager
def restore_unless_kept(files: Collection[Path]) -> Iterator[Callable[[], None]]:
    """Restore files at the end of the block, unless it has called the function that this yields.

    New files and their new folders are deleted. An error and Ctrl-C end the block too.
    """
    original_contents = {file: file.read_bytes() if file.is_file() else None for file in files}
    new_folders = {folder for file in files for folder in file.parents if not folder.exists()}
    is_kept = False

    def keep() -> None:
        nonlocal is_kept
        is_kept = True

    try:
        yield keep
    finally:
        if not is_kept:
            for file, original_content in original_contents.items():
                if original_content is None:
                    file.unlink(missing_ok=True)
                elif not file.is_file() or file.read_bytes() != original_content:
                    restore_file(file, original_content)
            for folder in sorted(new_folders, reverse=True):
                with suppress(OSError):  # Another program may have put files into it.
                    folder.rmdir()


def restore_file(file: Path, content: bytes) -> None:
    """Write the original content of a file, also on a full disk."""
    try:
        with atomic_path(file) as temporary:
            temporary.write_bytes(content)
    except OSError:
        if not file.is_file():
            raise
        with file.open("r+b") as stream:  # The disk may have no room for a second file, but the file has its own.
            stream.write(content)
            stream.truncate()


def put_item(file: Path, key: str, item: Any, is_replaced: Callable[[Any], bool], *, is_first: bool = False) -> None:
    """Replace an item of a top-level list in a YAML file by a new one, or add the new item to the list.

    Args:
        file: The YAML file.
        key: Key of the list.
        item: The new item.
        is_replaced: Function that returns whether the new item replaces an existing one; the first such item counts.
        is_first: Whether to add a new item at the start of the list instead of its end.

    Raises:
        UserError: The edited text would not parse to the expected content, as with unusual YAML; the file stays
            unchanged.
    """
    old_content, text = load_yaml(file), file.read_text(encoding="utf-8")
    items = list(old_content.get(key) or [])
    index = next((position for position, existing_item in enumerate(items) if is_replaced(existing_item)), None)
    if index is None:
        new_items = [item, *items] if is_first else [*items, item]
    else:
        new_items = [*items[:index], item, *items[index + 1 :]]
    if new_items == items:
        return
    line = dump_yaml([item], is_inline=True).strip()[1:-1]  # The item without the brackets of the list.
    new_content = None
    write_text(file, _put_line(text, key, index, line, is_first))
    # `_put_line` edits the text, which keeps comments. Parse the new text to find out whether the edit was right.
    with suppress(UserError):
        new_content = load_yaml(file)
    if new_content != old_content | {key: new_items}:
        write_text(file, text)
        raise UserError(f"{file}: `{key}` cannot be changed here. Write this into it by hand: {line}")


def _put_line(text: str, key: str, index: int | None, item: str, is_first: bool) -> str:
    """Return the text of a file with an item at this index of a list; without an index, the item is added."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)
    nodes = {name.value: value for name, value in root.value}
    if key not in nodes:
        return f"{text.rstrip()}\n\n{key}:\n  - {item}\n"
    node = nodes[key]
    if not isinstance(node, yaml.SequenceNode):
        return text  # `put_item` notices that the text is unchanged.
    if index is not None:
        replaced_node = node.value[index]
        return text[: replaced_node.start_mark.index] + item + text[replaced_node.end_mark.index :]
    if node.flow_style:  # The list is on one line, such as `[a, b]`.
        separator = ", " if node.value else ""
        start, end = node.start_mark.index + 1, node.end_mark.index - 1
        if is_first:
            return f"{text[:start]}{item}{separator}{text[start:]}"
        return f"{text[:end]}{separator}{item}{text[end:]}"
    indent = " " * node.start_mark.column
    if is_first:  # The node starts at the dash of its first item.
        start = node.start_mark.index - node.start_mark.column
        return f"{text[:start]}{indent}- {item}\n{text[start:]}"
    # The new item follows the line of the last item, which may end with a comment.
    end = len(text[: node.value[-1].end_mark.index].rstrip())
    line, newline, remainder = text[end:].partition("\n")
    return f"{text[:end]}{line}\n{indent}- {item}{newline}{remainder}"

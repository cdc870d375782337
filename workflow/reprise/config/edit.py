"""Changes of lists in YAML files that people wrote: an item is added or replaced, and nothing else is touched."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from reprise.core.errors import UserError
from reprise.core.files import write_text
from reprise.core.paths import located
from reprise.core.yaml_files import dump_yaml, load_yaml


def own_copy(file: str) -> Path:
    """A file of the working directory that may be changed; one that is only in the workflow's own place is copied."""
    path = Path(file)
    if not path.is_file() and located(path).is_file():
        write_text(path, located(path).read_text(encoding="utf-8"))
    return path


def put_item(file: Path, key: str, item: Any, is_replaced: Callable[[Any], bool]) -> None:
    """Put an item into a list at the top of a file, in place of one that it replaces, or at the list's end.

    A UserError, and the file as it was, where that cannot be done by a change of one line.
    """
    before, text = load_yaml(file), file.read_text(encoding="utf-8")
    items = list(before.get(key) or [])
    place = next((number for number, one in enumerate(items) if is_replaced(one)), len(items))
    wanted = [*items[:place], item, *items[place + 1 :]]
    if wanted == items:
        return
    written, after = dump_yaml([item], is_inline=True).strip()[1:-1], None
    write_text(file, _changed(text, key, place, written))
    with suppress(UserError):
        after = load_yaml(file)
    if after != before | {key: wanted}:
        write_text(file, text)
        raise UserError(f"{file}: `{key}` cannot be changed here. Write this into it by hand: {written}")


def _changed(text: str, key: str, place: int, written: str) -> str:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode)
    lists = {name.value: value for name, value in root.value}
    if key not in lists:
        return f"{text.rstrip()}\n\n{key}:\n  - {written}\n"
    found = lists[key]
    if not isinstance(found, yaml.SequenceNode):
        return text
    if place < len(found.value):
        one = found.value[place]
        return text[: one.start_mark.index] + written + text[one.end_mark.index :]
    if found.flow_style:
        end = found.end_mark.index - 1
        return f"{text[:end]}{', ' if found.value else ''}{written}{text[end:]}"
    end = len(text[: found.value[-1].end_mark.index].rstrip())
    line, newline, others = text[end:].partition("\n")
    return f"{text[:end]}{line}\n{' ' * found.start_mark.column}- {written}{newline}{others}"

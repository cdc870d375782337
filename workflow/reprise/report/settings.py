"""What a key file says, a value a line."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


def leaves(content: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every value by its dotted name; a list is one value."""
    if isinstance(content, Mapping) and content:
        for key, value in content.items():
            yield from leaves(value, f"{name}.{key}" if name else key)
    else:
        yield name, content


def in_words(value: Any) -> str:
    """A value as people read it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

"""Values of data and of key files as a page shows them, and data as classic scripts.

A page that is opened from a file may load scripts, but fetch nothing.
"""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from reprise.core.plain import visible

LONGEST = 20_000
ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def shown(text: str | None) -> str:
    """A text from data: signs that hide or reorder others by their code points, and what is too long cut."""
    if not text:
        return ""
    cut = text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"
    return visible(cut.replace("\r\n", "\n"))


def finite(number: float | None) -> float | None:
    """A number as JSON can hold it: none for what is no number."""
    return number if number is not None and math.isfinite(number) else None


def without_empty(values: dict[str, Any]) -> dict[str, Any]:
    """The entries that say something: no empty text or list, null or false. Zero says something."""
    return {name: value for name, value in values.items() if value or (value == 0 and value is not False)}


def script(name: str, encoded: str) -> str:
    """A data file of JSON: none of it ends a script."""
    return f"reprise.put({ENCODE(name)}, {encoded.replace('</', '<' + chr(92) + '/')});\n"


def leaves(content: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that a key file says by its dotted name; a list is one value."""
    if isinstance(content, Mapping) and content:
        for key, value in content.items():
            yield from leaves(value, f"{name}.{key}" if name else key)
    else:
        yield name, content


def in_words(value: Any) -> str:
    """A value as people read it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

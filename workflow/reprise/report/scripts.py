"""Data as classic scripts: a page that is opened from a file may load these, but fetch nothing."""

import json
import math
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

"""Format the settings of a job as one line of JSON, which its rule's params and its stage's option contain."""

import json
from collections.abc import Mapping
from typing import Any

from reprise.core.files import canonical_json, text_digest, value_digest

MAX_TEXT_LENGTH = 1000
MAX_LINE_LENGTH = 9000
NAME, DIGEST = "name", "sha256"


def format_settings_line(name: str, content: Mapping[str, Any]) -> str:
    """Return settings and their name as one readable line of JSON.

    Digests replace long texts and, if the line is still too long, the largest values. A line with such digests also has
    `sha256`, the digest of all settings, and the job reads the values from the configuration again.
    """
    shortened = {key: _without_long_texts(value) for key, value in content.items()}
    for key in sorted(shortened, key=lambda key: -len(canonical_json(shortened[key]))):
        if len(canonical_json(shortened)) <= MAX_LINE_LENGTH:
            break
        shortened[key] = f"sha256:{value_digest(content[key])[:16]}"
    digest_field = {} if shortened == content else {DIGEST: value_digest(content)}
    return canonical_json({NAME: name, **digest_field, **shortened})


def _without_long_texts(value: Any) -> Any:
    """Return a JSON value in which digests replace texts of more than MAX_TEXT_LENGTH characters."""
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT_LENGTH else f"sha256:{text_digest(value)[:16]}"
    if isinstance(value, Mapping):
        return {key: _without_long_texts(member) for key, member in value.items()}
    return [_without_long_texts(member) for member in value] if isinstance(value, list) else value


def parse_settings_line(text: str) -> dict[str, Any]:
    """Return the settings in a line of `format_settings_line`, without their name."""
    return {key: value for key, value in json.loads(text).items() if key != NAME}


def parse_settings_name(text: str) -> str:
    """Return the name in a line of `format_settings_line`."""
    return str(json.loads(text)[NAME])

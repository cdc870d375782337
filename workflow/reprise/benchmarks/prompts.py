"""Load and fill prompt templates. Filling is a single pass, so text in a caption never acts as a template."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reprise.core.errors import UserError, unknown_name_error
from reprise.core.yaml_files import load_yaml

# The markers are private-use characters, which occur in no caption.
FRAME_COUNT_MARKER = "\ue000"
"""placeholder for the number of frames, until inference reads the frame plan"""
FRAMES_MARKER = "\ue001"
"""position of the frames, if they do not precede the whole text"""
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class Prompt:
    """Templates of the system prompt, empty if there is none, and of the user prompt."""

    system: str
    user: str


def load_prompts(path: Path) -> dict[str, Prompt]:
    """Read a YAML file of prompts, check it, and return name -> prompt."""
    content = load_yaml(path)
    fields_by_name = content if isinstance(content, dict) else {"whole file": content}
    for name, fields in fields_by_name.items():
        if not isinstance(fields, dict) or "user" not in fields or not fields.keys() <= {"source", "system", "user"}:
            description = sorted(map(str, fields)) if isinstance(fields, dict) else repr(fields)
            raise UserError(f"{path}: {name}: found {description}, expected user, and optionally system and source.")
        for field, text in fields.items():
            if not isinstance(text, str):
                raise UserError(f"{path}: {name}.{field}: should be a text, found {text!r:.60}. Write it in quotes.")
        if "{frames}" in fields.get("system", "") or fields["user"].count("{frames}") > 1:
            raise UserError(
                f"{path}: {name}: {{frames}} may occur once in `user` and not in `system`. Remove the others."
            )
    return {name: Prompt(fields.get("system", ""), fields["user"]) for name, fields in fields_by_name.items()}


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """Fill the placeholders of a template, except `{frame_count}` and `{frames}`, which inference fills."""
    replacements = {**values, "frame_count": FRAME_COUNT_MARKER, "frames": FRAMES_MARKER}
    for name in _PLACEHOLDER.findall(template):
        if name not in replacements:
            raise unknown_name_error("placeholder", f"{{{name}}}", replacements, "prompt template")
    return _PLACEHOLDER.sub(lambda match: replacements[match[1]], template)


def fill_frame_count(text: str, frame_count: int) -> str:
    """Return the final prompt, with the number of frames filled in."""
    return text.replace(FRAME_COUNT_MARKER, str(frame_count))


def split_at_frames(text: str) -> tuple[str, str]:
    """Return the text before the frames' marker (empty if there is none), and the whole text without the marker."""
    lead, marker, tail = text.partition(FRAMES_MARKER)
    return (lead, lead + tail) if marker else ("", text)

"""Subtitles in WebVTT files, including YouTube's automatic ones, as timed lines of text."""

import re
from pathlib import Path
from typing import NamedTuple

from reprise.core.errors import UserError

TIMES = re.compile(r"^((?:\d+:)?\d{1,2}:\d{2}[.,]\d{3})\s+-->\s+((?:\d+:)?\d{1,2}:\d{2}[.,]\d{3})")


class Cue(NamedTuple):
    start_s: float
    end_s: float
    text: str


def read_vtt(path: Path) -> list[Cue]:
    """Return the cues of a file; a line that YouTube repeats in the next cue appears once."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not readable as subtitles ({error}).") from error
    if not text.startswith("WEBVTT"):
        raise UserError(f"{path}: not a WebVTT file, because it does not begin with WEBVTT. Remove it or convert it.")
    cues: list[Cue] = []
    previous_lines: list[str] = []
    for block in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n")):
        lines = block.strip().splitlines()
        time_index = next((i for i, line in enumerate(lines) if TIMES.match(line)), None)
        if time_index is None:
            continue
        texts = [" ".join(re.sub(r"<[^<>]*>", "", line).split()) for line in lines[time_index + 1 :]]
        new_texts = [line for line in texts if line and line not in previous_lines]
        previous_lines = [line for line in texts if line]
        match = TIMES.match(lines[time_index])
        if new_texts and match:
            cues.append(Cue(_seconds(match[1]), _seconds(match[2]), " ".join(new_texts)))
    return cues


def _seconds(stamp: str) -> float:
    seconds = 0.0
    for part in stamp.replace(",", ".").split(":"):
        seconds = 60 * seconds + float(part)
    return seconds


def format_as_prompt(cues: list[Cue]) -> str:
    """Return the cues as the paper's prompt has them, or an empty string without cues.

    Each cue is a line `'0.0' - '2.5': text`, and braces enclose all lines.
    """
    if not cues:
        return ""
    lines = [f"    '{cue.start_s:.1f}' - '{cue.end_s:.1f}': {cue.text}" for cue in cues]
    return "{\n" + ",\n".join(lines) + "\n}"

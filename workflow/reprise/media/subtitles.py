"""Read subtitles from WebVTT files, including YouTube's automatic subtitles."""

import re
from pathlib import Path
from typing import NamedTuple

from reprise.core.errors import UserError

# The line before a cue's text, such as `00:01.000 --> 00:02.500`.
TIMES = re.compile(r"^((?:\d+:)?\d{1,2}:\d{2}[.,]\d{3})\s+-->\s+((?:\d+:)?\d{1,2}:\d{2}[.,]\d{3})")


class Cue(NamedTuple):
    """A text that is displayed from one time to another."""

    start_s: float
    end_s: float
    text: str


def read_vtt(path: Path) -> list[Cue]:
    """Return the cues of a file, without the lines that a cue repeats from the cue before it."""
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
        cue_lines = [" ".join(re.sub(r"<[^<>]*>", "", line).split()) for line in lines[time_index + 1 :]]
        new_lines = [line for line in cue_lines if line and line not in previous_lines]
        previous_lines = [line for line in cue_lines if line]
        match = TIMES.match(lines[time_index])
        if new_lines and match:
            cues.append(Cue(_parse_seconds(match[1]), _parse_seconds(match[2]), " ".join(new_lines)))
    return cues


def _parse_seconds(stamp: str) -> float:
    """Return the seconds of a time such as `01:02:03.500`."""
    seconds = 0.0
    for part in stamp.replace(",", ".").split(":"):
        seconds = 60 * seconds + float(part)
    return seconds


def format_as_prompt(cues: list[Cue]) -> str:
    """Return the cues in the format of MMBench-Video's prompt, or an empty string without cues.

    Each cue is a line `'0.0' - '2.5': text`, and braces enclose all lines.
    """
    if not cues:
        return ""
    lines = [f"    '{cue.start_s:.1f}' - '{cue.end_s:.1f}': {cue.text}" for cue in cues]
    return "{\n" + ",\n".join(lines) + "\n}"

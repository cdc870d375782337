"""Sources and spans of clips: VidSitu's ids, Vinoground's columns, files of one's own."""

import re
from typing import NamedTuple

from reprise.core.errors import UserError

_YOUTUBE = r"(?P<video>[A-Za-z0-9_-]{11})"
_VIDSITU = re.compile(rf"^v_{_YOUTUBE}_seg_(?P<start>\d+(?:\.\d+)?)_(?P<end>\d+(?:\.\d+)?)(?:\.\w{{2,4}})?$")
_LINK = re.compile(rf"(?:youtu\.be/|[?&]v=|/embed/|/shorts/){_YOUTUBE}(?![A-Za-z0-9_-])")


class Segment(NamedTuple):
    video: str
    start_s: float
    end_s: float


def vidsitu(clip_id: str) -> Segment:
    """`v_<youtube id>_seg_<start s>_<end s>`, as VELOCITI's video_id; the id itself may hold `_` and `-`."""
    match = _VIDSITU.match(clip_id)
    if match is None:
        raise UserError(f"clip id '{clip_id}': expected the form v_<11 characters>_seg_<start>_<end>.")
    return _checked(Segment(match["video"], float(match["start"]), float(match["end"])), clip_id)


def vinoground(video: str, start: str, end: str) -> Segment:
    """A row's video column (a bare id, or a link) with its start and end columns, seconds or [h:]m:s."""
    link = _LINK.search(video)
    name = link["video"] if link else video.strip()
    if not re.fullmatch(_YOUTUBE, name):
        raise UserError(f"video '{video}': expected a YouTube id of 11 characters, or a link with one.")
    return _checked(Segment(name, _seconds(start, video), _seconds(end, video)), video)


def own(name: str, start: str, end: str) -> Segment:
    """A file of one's own and a span of it, in seconds or [h:]m:s."""
    return _checked(Segment(name, _seconds(start, name), _seconds(end, name)), name)


def _checked(segment: Segment, name: str) -> Segment:
    if not 0 <= segment.start_s < segment.end_s:
        raise UserError(f"clip '{name}': its start {segment.start_s:g} s is not before its end {segment.end_s:g} s.")
    return segment


def _seconds(value: str, video: str) -> float:
    """Seconds of `12`, `12.5`, `1:02` or `1:00:02`."""
    try:
        total = 0.0
        for part in value.split(":"):
            total = total * 60 + float(part)
    except ValueError as error:
        raise UserError(f"video '{video}': '{value}' is not a time; expected seconds or [h:]m:s.") from error
    return total

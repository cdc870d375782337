"""Define VELOCITI's tests, in the paper's order, and the ids of its events."""

import ast
import re

CONTROL = "control"
TESTS = ("agent_random", "agent_bind", "coref", "action_adv", "action_manner", "action_bind", "chrono")
"""the seven tests in the average, which excludes the control"""
SUBSET = "subset"
"""group of the items in the subset that the suite selects"""
VIDEO_SUFFIX = re.compile(r"\.(?:mp4|mkv|webm|avi)$")
"""file extension of a video"""


def build_event_id(test: str, video: str, event: str) -> str:
    """Return the prefix of the ids of an event's items; the number of the item follows it.

    It contains the test, the video and the event: `Ev3`, or `Ev1-Ev2` for a list of events.
    """
    try:
        event_names = ast.literal_eval(event)  # literal_eval runs no code from the release.
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        event_names = None
    event_part = event or "Ev"  # `Ev` for a row without an event
    if isinstance(event_names, list):
        event_part = "-".join(map(str, event_names))
    return f"{test}/{VIDEO_SUFFIX.sub('', video)}/{event_part}"

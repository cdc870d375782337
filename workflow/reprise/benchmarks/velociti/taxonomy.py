"""VELOCITI's tests, in the paper's order, and its events."""

import ast
import re

CONTROL = "control"
TESTS = ("agent_random", "agent_bind", "coref", "action_adv", "action_manner", "action_bind", "chrono")
"""the seven of the average, to which the control does not belong"""
SUBSET = "subset"
ENDING = re.compile(r"\.(?:mp4|mkv|webm|avi)$")
"""of a video's file"""


def event_id(test: str, video: str, event: str) -> str:
    """What the ids of an event's samples begin with: test, video and `Ev3`, or `Ev1-Ev2` for a list of events."""
    try:
        names = ast.literal_eval(event)  # of a list; nothing is evaluated
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        names = None
    return f"{test}/{ENDING.sub('', video)}/{'-'.join(map(str, names)) if isinstance(names, list) else event or 'Ev'}"

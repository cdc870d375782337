"""Describe the frames of a run in a reader's words; the names of samplings are keys of the configuration."""

from collections.abc import Mapping
from typing import Any

from reprise.media.ablations import FIRST, LAST, MIDDLE, PROBE_ABLATIONS, REPEATED_PROBE_ABLATIONS
from reprise.media.sampling import GRID, NO_FRAMES_RULE, get_transform_kind
from reprise.temporal.conditions import CONDITION_TITLES

# Rule without a number of frames -> its description.
RULE_TITLES = {"all": "all frames", "random_one": "one random frame", "velociti_clip": "2 frames per second"}
# Rules that select one frame per second, but at most the number of frames.
LIMITED_RULES = ("second_capped", "second_thinned")
ALONE = (FIRST, MIDDLE, LAST)


def describe_sampling(rule: Mapping[str, Any]) -> str:
    """Return what a model sees, such as `8 frames` or `1 frame per second: frames shuffled`."""
    if rule == NO_FRAMES_RULE:
        return "text only"
    change = _describe_transform(rule)
    return f"{_describe_rule(rule)}: {change}" if change else _describe_rule(rule)


def _describe_rule(rule: Mapping[str, Any]) -> str:
    """Return how many frames a rule selects."""
    name = str(rule["rule"])
    if "fps" in rule:
        return f"{rule['fps']:g} {'frame' if rule['fps'] == 1 else 'frames'} per second"
    if name in RULE_TITLES:
        return RULE_TITLES[name]
    count = f"{rule['frames']} {'frame' if rule['frames'] == 1 else 'frames'}"
    return f"1 frame per second, at most {count}" if name in LIMITED_RULES else count


def _describe_transform(rule: Mapping[str, Any]) -> str:
    """Return how the frames of a rule are changed; empty if they are not."""
    kind = get_transform_kind(rule)
    if not kind:
        return ""
    transform = rule["transform"]
    if kind == GRID:
        return f"in a grid of {transform['rows']} x {transform['columns']}"
    if kind in PROBE_ABLATIONS:
        clip = " of a mismatched clip" if kind.startswith("mismatched") else ""
        repeated = " repeated" if kind in REPEATED_PROBE_ABLATIONS else " only"
        return f"frame {transform['position']}{clip}{repeated}"
    return f"{CONDITION_TITLES[kind]}{' only' if kind in ALONE else ''}"

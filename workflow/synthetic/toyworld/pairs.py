"""VELOCITI's eight tests on a script, each with a true and a false caption."""

from collections.abc import Callable
from typing import NamedTuple

from synthetic.toyworld import captions
from synthetic.toyworld.generate import Dice
from synthetic.toyworld.script import ACTION_NAMES, AGENTS, STRENGTHS, Agent, Figure, Script, is_held_out

Deed = tuple[Agent, str, str]


class Pair(NamedTuple):
    """Both captions of an item and the events of the true caption."""

    test: str
    events: tuple[Figure, ...]
    pos: str
    neg: str


class Setting(NamedTuple):
    """The input of a test: the clip, another clip for the control, and whether held-out pairs are forbidden."""

    script: Script
    other: Script
    training: bool


def _pick_event(setting: Setting, dice: Dice) -> Figure:
    return dice.pick(setting.script.events)


def _single(test: str, event: Figure, options: list[Deed], setting: Setting, dice: Dice) -> Pair | None:
    """Return a pair whose false caption is a random option, or None without options."""
    allowed = [deed for deed in options if not (setting.training and is_held_out(deed[0], deed[1]))]
    if not allowed:
        return None
    return Pair(test, (event,), captions.caption(*event.deed), captions.caption(*dice.pick(allowed)))


def control(setting: Setting, dice: Dice) -> Pair | None:
    """Use a caption of another clip as the false caption."""
    options = [deed for deed in (event.deed for event in setting.other.events) if deed not in setting.script.deeds]
    return _single("control", _pick_event(setting, dice), options, setting, dice)


def agent_random(setting: Setting, dice: Dice) -> Pair | None:
    """Replace the agent by one that is not in the clip."""
    event, present = _pick_event(setting, dice), setting.script.agents
    options = [(agent, event.action, event.strength) for agent in AGENTS if agent not in present]
    return _single("agent_random", event, options, setting, dice)


def agent_bind(setting: Setting, dice: Dice) -> Pair | None:
    """Replace the agent by another agent of the same clip."""
    event = _pick_event(setting, dice)
    options = [(agent, event.action, event.strength) for agent in setting.script.agents if agent != event.agent]
    return _single("agent_bind", event, options, setting, dice)


def action_adv(setting: Setting, dice: Dice) -> Pair | None:
    """Replace the action by one that does not occur in the clip."""
    event = _pick_event(setting, dice)
    absent = [action for action in ACTION_NAMES if action not in setting.script.actions]
    options = [(event.agent, action, event.strength) for action in absent]
    return _single("action_adv", event, options, setting, dice)


def action_manner(setting: Setting, dice: Dice) -> Pair | None:
    """Replace the manner by the opposite one."""
    event = _pick_event(setting, dice)
    options = [(event.agent, event.action, strength) for strength in STRENGTHS if strength != event.strength]
    return _single("action_manner", event, options, setting, dice)


def action_bind(setting: Setting, dice: Dice) -> Pair | None:
    """Replace the action by that of another agent of the clip."""
    event = _pick_event(setting, dice)
    other_events = [other for other in setting.script.events if other.agent != event.agent]
    options = [(event.agent, other.action, other.strength) for other in other_events]
    return _single("action_bind", event, options, setting, dice)


def coref(setting: Setting, dice: Dice) -> Pair | None:
    """Contrast two actions of one agent with the actions of two agents."""
    events = dice.shuffled(setting.script.events)
    for first in events:
        same_agent = [other for other in events if other.agent == first.agent and other != first]
        other_events = [other for other in events if other.agent != first.agent]
        if same_agent and other_events:
            second, other_event = dice.pick(same_agent), dice.pick(other_events)
            is_flipped = dice.chance(0.5)
            true = (second, first) if is_flipped else (first, second)
            false = (other_event, first) if is_flipped else (first, other_event)
            return Pair("coref", true, captions.coreference(*true), captions.coreference(*false))
    return None


def chrono(setting: Setting, dice: Dice) -> Pair | None:
    """Contrast the order of two events, at least one slot apart, with its reverse."""
    events = setting.script.events
    candidates = [(earlier, later) for earlier in events for later in events if later.slot - earlier.slot >= 2]
    if not candidates:
        return None
    first, second = dice.pick(candidates)
    return Pair("chrono", (first, second), captions.chronology(first, second), captions.chronology(second, first))


PairMaker = Callable[[Setting, Dice], Pair | None]
PAIR_MAKERS: dict[str, PairMaker] = {
    "action_adv": action_adv,
    "action_bind": action_bind,
    "action_manner": action_manner,
    "agent_bind": agent_bind,
    "agent_random": agent_random,
    "chrono": chrono,
    "control": control,
    "coref": coref,
}
TESTS = tuple(PAIR_MAKERS)
LONG_TESTS = ("chrono", "coref")

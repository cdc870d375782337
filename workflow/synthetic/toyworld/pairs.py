"""VELOCITI's eight tests on a script: a caption that is true of it and one that is false."""

from collections.abc import Callable
from typing import NamedTuple

from synthetic.toyworld import captions
from synthetic.toyworld.generate import Dice
from synthetic.toyworld.script import ACTION_NAMES, AGENTS, STRENGTHS, Agent, Figure, Script, is_held_out

Deed = tuple[Agent, str, str]


class Pair(NamedTuple):
    """Both captions of one item and the events that the true one is about."""

    test: str
    events: tuple[Figure, ...]
    pos: str
    neg: str


class Setting(NamedTuple):
    """What a test draws on: the clip, another clip (for the control), and whether held-out pairs are forbidden."""

    script: Script
    other: Script
    training: bool


def _pick_event(setting: Setting, dice: Dice) -> Figure:
    return dice.pick(setting.script.events)


def _single(test: str, event: Figure, options: list[Deed], setting: Setting, dice: Dice) -> Pair | None:
    """A pair whose false caption is one of the options."""
    false = [deed for deed in options if not (setting.training and is_held_out(deed[0], deed[1]))]
    if not false:
        return None
    return Pair(test, (event,), captions.caption(*event.deed), captions.caption(*dice.pick(false)))


def control(setting: Setting, dice: Dice) -> Pair | None:
    """The false caption is true of another clip."""
    options = [deed for deed in (event.deed for event in setting.other.events) if deed not in setting.script.deeds]
    return _single("control", _pick_event(setting, dice), options, setting, dice)


def agent_random(setting: Setting, dice: Dice) -> Pair | None:
    """Another agent, who is not in the clip."""
    event, present = _pick_event(setting, dice), setting.script.agents
    options = [(agent, event.action, event.strength) for agent in AGENTS if agent not in present]
    return _single("agent_random", event, options, setting, dice)


def agent_bind(setting: Setting, dice: Dice) -> Pair | None:
    """Another agent of the same clip, who does not do that."""
    event = _pick_event(setting, dice)
    options = [(agent, event.action, event.strength) for agent in setting.script.agents if agent != event.agent]
    return _single("agent_bind", event, options, setting, dice)


def action_adv(setting: Setting, dice: Dice) -> Pair | None:
    """An action that nobody in the clip does."""
    event = _pick_event(setting, dice)
    absent = [action for action in ACTION_NAMES if action not in setting.script.actions]
    options = [(event.agent, action, event.strength) for action in absent]
    return _single("action_adv", event, options, setting, dice)


def action_manner(setting: Setting, dice: Dice) -> Pair | None:
    """The opposite manner."""
    event = _pick_event(setting, dice)
    options = [(event.agent, event.action, strength) for strength in STRENGTHS if strength != event.strength]
    return _single("action_manner", event, options, setting, dice)


def action_bind(setting: Setting, dice: Dice) -> Pair | None:
    """What another agent of the clip does."""
    event = _pick_event(setting, dice)
    others = [other for other in setting.script.events if other.agent != event.agent]
    options = [(event.agent, other.action, other.strength) for other in others]
    return _single("action_bind", event, options, setting, dice)


def coref(setting: Setting, dice: Dice) -> Pair | None:
    """Two deeds of one agent, against deeds of two agents."""
    events = dice.shuffled(setting.script.events)
    for first in events:
        same = [other for other in events if other.agent == first.agent and other != first]
        others = [other for other in events if other.agent != first.agent]
        if same and others:
            second, wrong = dice.pick(same), dice.pick(others)
            flip = dice.chance(0.5)
            true = (second, first) if flip else (first, second)
            false = (wrong, first) if flip else (first, wrong)
            return Pair("coref", true, captions.coreference(*true), captions.coreference(*false))
    return None


def chrono(setting: Setting, dice: Dice) -> Pair | None:
    """Two events that lie at least one slot apart, in order and reversed."""
    events = setting.script.events
    apart = [(one, two) for one in events for two in events if two.slot - one.slot >= 2]
    if not apart:
        return None
    first, second = dice.pick(apart)
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

"""Make pairs of a true and a false caption for the eight tests of VELOCITI."""

from collections.abc import Callable
from typing import NamedTuple

from synthetic.toyworld import captions
from synthetic.toyworld.generate import Dice
from synthetic.toyworld.script import ACTION_NAMES, AGENTS, STRENGTHS, Agent, Figure, Script, is_held_out

Deed = tuple[Agent, str, str]  # agent, action and strength


class Pair(NamedTuple):
    """Both captions of an item and the events of the true caption."""

    test: str
    events: tuple[Figure, ...]
    pos: str
    neg: str


class PairInput(NamedTuple):
    """Scripts of the clip and, for the control, of another clip, and whether a pair is for training."""

    script: Script
    other_script: Script
    is_training: bool


def _pick_event(pair_input: PairInput, dice: Dice) -> Figure:
    """Return a random event of the clip."""
    return dice.pick(pair_input.script.events)


def _make_pair(test: str, event: Figure, options: list[Deed], pair_input: PairInput, dice: Dice) -> Pair | None:
    """Return a pair whose false caption states a random option, or None without options."""
    allowed = [deed for deed in options if not (pair_input.is_training and is_held_out(deed[0], deed[1]))]
    if not allowed:
        return None
    return Pair(test, (event,), captions.caption(*event.deed), captions.caption(*dice.pick(allowed)))


def control(pair_input: PairInput, dice: Dice) -> Pair | None:
    """Use a caption of another clip as the false caption."""
    options = [
        deed for deed in (event.deed for event in pair_input.other_script.events) if deed not in pair_input.script.deeds
    ]
    return _make_pair("control", _pick_event(pair_input, dice), options, pair_input, dice)


def agent_random(pair_input: PairInput, dice: Dice) -> Pair | None:
    """Replace the agent by one that is not in the clip."""
    event, present = _pick_event(pair_input, dice), pair_input.script.agents
    options = [(agent, event.action, event.strength) for agent in AGENTS if agent not in present]
    return _make_pair("agent_random", event, options, pair_input, dice)


def agent_bind(pair_input: PairInput, dice: Dice) -> Pair | None:
    """Replace the agent by another agent of the same clip."""
    event = _pick_event(pair_input, dice)
    options = [(agent, event.action, event.strength) for agent in pair_input.script.agents if agent != event.agent]
    return _make_pair("agent_bind", event, options, pair_input, dice)


def action_adv(pair_input: PairInput, dice: Dice) -> Pair | None:
    """Replace the action by one that does not occur in the clip."""
    event = _pick_event(pair_input, dice)
    absent = [action for action in ACTION_NAMES if action not in pair_input.script.actions]
    options = [(event.agent, action, event.strength) for action in absent]
    return _make_pair("action_adv", event, options, pair_input, dice)


def action_manner(pair_input: PairInput, dice: Dice) -> Pair | None:
    """Replace the manner by the opposite one."""
    event = _pick_event(pair_input, dice)
    options = [(event.agent, event.action, strength) for strength in STRENGTHS if strength != event.strength]
    return _make_pair("action_manner", event, options, pair_input, dice)


def action_bind(pair_input: PairInput, dice: Dice) -> Pair | None:
    """Replace the action by that of another agent of the clip."""
    event = _pick_event(pair_input, dice)
    other_events = [other for other in pair_input.script.events if other.agent != event.agent]
    options = [(event.agent, other.action, other.strength) for other in other_events]
    return _make_pair("action_bind", event, options, pair_input, dice)


def coref(pair_input: PairInput, dice: Dice) -> Pair | None:
    """Contrast two actions of one agent with the actions of two agents."""
    events = dice.shuffled(pair_input.script.events)
    for first in events:
        events_of_agent = [other for other in events if other.agent == first.agent and other != first]
        other_events = [other for other in events if other.agent != first.agent]
        if events_of_agent and other_events:
            second, other_event = dice.pick(events_of_agent), dice.pick(other_events)
            is_flipped = dice.chance(0.5)
            true = (second, first) if is_flipped else (first, second)
            false = (other_event, first) if is_flipped else (first, other_event)
            return Pair("coref", true, captions.coreference(*true), captions.coreference(*false))
    return None


def chrono(pair_input: PairInput, dice: Dice) -> Pair | None:
    """Contrast the order of two events, with at least one slot between them, with its reverse."""
    events = pair_input.script.events
    candidates = [(earlier, later) for earlier in events for later in events if later.slot - earlier.slot >= 2]
    if not candidates:
        return None
    first, second = dice.pick(candidates)
    return Pair("chrono", (first, second), captions.chronology(first, second), captions.chronology(second, first))


PairMaker = Callable[[PairInput, Dice], Pair | None]
# Test of VELOCITI -> function that makes its pairs.
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
LONG_TESTS = ("chrono", "coref")  # tests whose captions state two events

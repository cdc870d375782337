"""Define the training tasks: the questions about a clip, and the maximum length of a segment of each group."""

from collections.abc import Callable
from typing import NamedTuple

from synthetic.toyworld import captions
from synthetic.toyworld.generate import Dice
from synthetic.toyworld.pairs import LONG_TESTS, PAIR_MAKERS, Pair, PairInput
from synthetic.toyworld.script import COLOURS, SHAPES, Figure, Script, is_held_out

from training.prompts import DESCRIBE, prompts

ENTAIL = (("entail", 0.5), ("entail.authors", 0.4), ("entail.gemini", 0.05), ("entail.frames", 0.05))
CHOOSE = (("mc", 0.5), ("mc.authors", 0.45), ("mc.frames", 0.05))
# Tests that need two properties of one event are learned last and get the largest share.
SHORT_TESTS = (
    ("control", 0.4),
    ("agent_random", 1.0),
    ("agent_bind", 3.0),
    ("action_adv", 0.5),
    ("action_manner", 0.8),
    ("action_bind", 3.0),
)
PRESENCE_AT_START, PRESENCE_LATER, PRESENCE_FADES = 0.6, 0.08, 0.33


class Segment(NamedTuple):
    """One question: the user's text, the answer, and the statement in the text that is true of the clip, if any."""

    user: str
    answer: str
    true_statement: str = ""
    system: str = ""


class Joined(NamedTuple):
    """Two clips around a black span, each with a caption that is true of it alone."""

    first: Script
    second: Script
    captions: tuple[str, str]


class Sample(NamedTuple):
    """The data of a task: the clip, another clip, the progress of the training (0 to 1), and clips in a row if any."""

    setting: PairInput
    dice: Dice
    progress: float
    joined: Joined | None = None
    row: tuple[Script, ...] = ()


def _draw_weighted(dice: Dice, table: tuple[tuple[str, float], ...]) -> str:
    remainder = dice.share() * sum(weight for _, weight in table)
    for name, weight in table:
        remainder -= weight
        if remainder < 0:
            return name
    return table[-1][0]


def _make_pair(sample: Sample, test: str) -> Pair:
    """Draw a pair of the test, or of the test that every clip allows."""
    for _ in range(8):
        pair = PAIR_MAKERS[test](sample.setting, sample.dice)
        if pair:
            return pair
    pair = PAIR_MAKERS["action_manner"](sample.setting, sample.dice)
    assert pair is not None
    return pair


def _entailments(sample: Sample, pos: str, neg: str) -> list[Segment]:
    template = prompts()[_draw_weighted(sample.dice, ENTAIL)].user
    return [Segment(template.format(caption=pos), "Yes", pos), Segment(template.format(caption=neg), "No")]


def presence(sample: Sample) -> list[Segment]:
    """Ask whether a colour, a shape or both occur at all; these easy statements come first."""
    dice, agents = sample.dice, sample.setting.script.agents
    by_colour = dice.chance(0.5)
    words = COLOURS if by_colour else SHAPES
    present = sorted({agent.colour if by_colour else agent.shape for agent in agents})
    absent = [word for word in words if word not in present]
    form = "There is something {}." if by_colour else "There is a {}."
    if not absent:
        return short_pair(sample, presence_share=0.0)
    return _entailments(sample, form.format(dice.pick(present)), form.format(dice.pick(absent)))


def short_pair(sample: Sample, presence_share: float | None = None) -> list[Segment]:
    """Ask about a true and a false caption of one event."""
    fading = max(0.0, 1 - sample.progress / PRESENCE_FADES)
    share = PRESENCE_LATER + (PRESENCE_AT_START - PRESENCE_LATER) * fading
    if sample.dice.chance(share if presence_share is None else presence_share):
        return presence(sample)
    pair = _make_pair(sample, _draw_weighted(sample.dice, SHORT_TESTS))
    return _entailments(sample, pair.pos, pair.neg)


def reference_pair(sample: Sample) -> list[Segment]:
    """Ask who did something: one half of a coreference, as a step towards it."""
    script, dice = sample.setting.script, sample.dice
    event = dice.pick(script.events)
    form = f"The thing that is {captions.format_gerund_phrase(event.action, event.strength)} is the {{}}."
    other_agents = [agent for agent in script.agents if agent != event.agent and not is_held_out(agent, event.action)]
    if not other_agents:
        return long_pair(sample)
    return _entailments(sample, form.format(event.agent.name), form.format(dice.pick(other_agents).name))


def long_pair(sample: Sample) -> list[Segment]:
    """Ask about a true and a false caption of two events."""
    pair = _make_pair(sample, "coref" if sample.dice.chance(0.6) else "chrono")
    return _entailments(sample, pair.pos, pair.neg)


def two_event_pair(sample: Sample) -> list[Segment]:
    """Ask about a caption pair of two events, or about the step towards it."""
    return reference_pair(sample) if sample.dice.chance(0.25) else long_pair(sample)


def choice(sample: Sample) -> list[Segment]:
    """Ask for the right caption of two, in both orders."""
    pair = _make_pair(sample, sample.dice.pick(tuple(PAIR_MAKERS)))
    template = prompts()[_draw_weighted(sample.dice, CHOOSE)].user
    return [
        Segment(template.format(caption_a=pair.pos, caption_b=pair.neg), "A"),
        Segment(template.format(caption_a=pair.neg, caption_b=pair.pos), "B"),
    ]


def describe(sample: Sample) -> list[Segment]:
    """Ask for all events in order."""
    return [Segment(DESCRIBE, captions.description(sample.setting.script))]


def _deeds(events: list[Figure]) -> str:
    return " ".join(f"It {captions.format_verb_phrase(event.action, event.strength)}." for event in events)


def ask(sample: Sample) -> list[Segment]:
    """Ask who does something, what an agent does, or what else the agent of an event does."""
    events, dice = sample.setting.script.events, sample.dice
    event = dice.pick(events)
    doing = captions.format_gerund_phrase(event.action, event.strength)
    agent_events = [candidate for candidate in events if candidate.agent == event.agent]
    kind = dice.below(3)
    if kind == 0:
        return [Segment(f"Who is {doing}?", f"The {event.agent.name}.")]
    if kind == 1:
        return [Segment(f"What does the {event.agent.name} do?", _deeds(agent_events))]
    remaining_events = [candidate for candidate in agent_events if candidate != event]
    return [Segment(f"What else does the thing that is {doing} do?", _deeds(remaining_events) or "Nothing.")]


def reason(sample: Sample) -> list[Segment]:
    """Ask for a chain of thought: the description first, then the verdict."""
    tests = tuple(PAIR_MAKERS)
    pair = _make_pair(sample, sample.dice.pick(LONG_TESTS if sample.dice.chance(0.4) else tests))
    template = prompts()["cot"]
    thought = f"<<<thinking>>>\n{captions.description(sample.setting.script)}\n<<</thinking>>>\n"
    return [
        Segment(template.user.format(caption=text), f"{thought}<<<output>>> {word} <<</output>>>", "", template.system)
        for text, word in ((pair.pos, "Yes"), (pair.neg, "No"))
    ]


class Task(NamedTuple):
    """A task's share: calls per clip, segments per call, and the padded length of a segment."""

    make: Callable[[Sample], list[Segment]]
    calls: int
    segments: int
    length: int


# Lengths are checked, never truncated. The tasks of the other benchmarks are in benchmark_tasks.py.
MIX: dict[str, Task] = {
    "short": Task(short_pair, 6, 2, 21),
    "long": Task(two_event_pair, 3, 2, 30),
    "choice": Task(choice, 1, 2, 54),
    "describe": Task(describe, 1, 1, 44),
    "ask": Task(ask, 2, 1, 34),
}
DESCRIBE_ONLY: dict[str, Task] = {"describe": MIX["describe"]}
REASON: dict[str, Task] = {"reason": Task(reason, 2, 2, 76)}
# Without a video the segment includes two tokens of the prefix.
BLIND: dict[str, Task] = {name: MIX[name]._replace(length=MIX[name].length + 2) for name in ("short", "long", "choice")}

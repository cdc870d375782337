"""Define scripts of clips: which agents stand or act, where and when. Scripts are also the ground truth."""

from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

from reprise.core.files import value_digest

COLOURS = ("red", "blue", "green", "yellow", "purple", "white")
SHAPES = ("circle", "square", "triangle", "star", "cross")
PATTERNS = ("plain", "stripes", "checker", "gradient")
TONES = ("slate", "earth", "moss", "plum", "fog")
STRENGTHS = ("strong", "weak")

# A clip is divided into slots of equal length. In each slot, a figure does one action or stands.
SLOTS = 5
SLOT_SECONDS = 2
CLIP_SECONDS = SLOTS * SLOT_SECONDS
FPS = 24
SIZE = 128  # pixels of the width and height of a frame


class Action(NamedTuple):
    """An action of an agent, and the words for it."""

    name: str
    verb: str
    direction: str
    gerund: str
    strong: str  # adverb of the strong form, such as `quickly`
    weak: str


ACTIONS = (
    Action("slide_left", "slides", "left", "sliding left", "quickly", "slowly"),
    Action("slide_right", "slides", "right", "sliding right", "quickly", "slowly"),
    Action("float", "floats", "up", "floating up", "quickly", "slowly"),
    Action("sink", "sinks", "down", "sinking down", "quickly", "slowly"),
    Action("grow", "grows", "", "growing", "quickly", "slowly"),
    Action("shrink", "shrinks", "", "shrinking", "quickly", "slowly"),
    Action("stretch", "stretches", "", "stretching", "quickly", "slowly"),
    Action("jump", "jumps", "", "jumping", "high", "low"),
    Action("spin", "spins", "", "spinning", "quickly", "slowly"),
    Action("blink", "blinks", "", "blinking", "quickly", "slowly"),
)
ACTION_NAMES = tuple(action.name for action in ACTIONS)
ACTION = {action.name: action for action in ACTIONS}


@dataclass(frozen=True, order=True)
class Agent:
    """A coloured shape that can act; the agents of a clip are all different."""

    colour: str
    shape: str

    @property
    def name(self) -> str:
        """Return the name, such as `red circle`."""
        return f"{self.colour} {self.shape}"


AGENTS = tuple(Agent(colour, shape) for colour in COLOURS for shape in SHAPES)


def is_held_out(agent: Agent, action: str) -> bool:
    """Return whether training excludes a pair: one action of every agent, and three agents of every action."""
    index = AGENTS.index(agent)
    # Ten successive agents exclude each action once, because 3 and 10 have no common factor.
    return (3 * index + index // 10) % len(ACTIONS) == ACTION_NAMES.index(action)


@dataclass(frozen=True)
class Figure:
    """An agent on stage during one slot; `x` and `floor` are its start in fractions of the canvas."""

    agent: Agent
    slot: int
    action: str
    strength: str
    x: float
    floor: float
    radius: float

    @property
    def is_acting(self) -> bool:
        """Return whether the agent acts, instead of only standing."""
        return self.action != "stand"

    @property
    def deed(self) -> tuple[Agent, str, str]:
        """Return the agent, the action and its strength, as a caption states them."""
        return (self.agent, self.action, self.strength)


@dataclass(frozen=True)
class Scene:
    """A background, from a slot on. Every new scene starts with a hard cut."""

    slot: int
    pattern: str
    tone: str


@dataclass(frozen=True)
class Script:
    """One clip, or the filler between two clips of a source."""

    slots: int
    scenes: tuple[Scene, ...]
    figures: tuple[Figure, ...]

    @property
    def seconds(self) -> int:
        """Return the duration in seconds."""
        return self.slots * SLOT_SECONDS

    @property
    def events(self) -> tuple[Figure, ...]:
        """Return the acting figures in temporal order. Figures in the same slot act simultaneously."""
        return tuple(figure for figure in self.figures if figure.is_acting)

    @property
    def agents(self) -> tuple[Agent, ...]:
        """Return all agents that appear, sorted."""
        return tuple(sorted({figure.agent for figure in self.figures}))

    @property
    def deeds(self) -> frozenset[tuple[Agent, str, str]]:
        """Return the deeds of all events."""
        return frozenset(event.deed for event in self.events)

    @property
    def actions(self) -> frozenset[str]:
        """Return the actions that occur."""
        return frozenset(event.action for event in self.events)

    def story_digest(self) -> str:
        """Return a digest of the events and their slots. Scripts with equal digests have the same captions."""
        return value_digest(sorted([e.slot, e.agent.name, e.action, e.strength] for e in self.events))

    def with_slots_exchanged(self, first: int, second: int) -> "Script":
        """Return the counterfactual with the events of two slots exchanged, and the same scenes."""
        new_slot = {first: second, second: first}
        figures = (replace(figure, slot=new_slot.get(figure.slot, figure.slot)) for figure in self.figures)
        return replace(self, figures=tuple(sorted(figures, key=lambda figure: figure.slot)))

    def with_scenes_exchanged(self, first: int, second: int) -> "Script":
        """Return the counterfactual with two scenes exchanged, and the same events."""
        order = [{first: second, second: first}.get(index, index) for index in range(len(self.scenes))]
        # The slots at which scenes start remain.
        scenes = [replace(self.scenes[index], slot=scene.slot) for index, scene in zip(order, self.scenes, strict=True)]
        return replace(self, scenes=tuple(scenes))

    def cuts(self) -> tuple[float, ...]:
        """Return the times of the hard cuts in seconds."""
        return tuple(float(scene.slot * SLOT_SECONDS) for scene in self.scenes[1:])


@dataclass(frozen=True)
class Part:
    """A part of a source: a clip to be trimmed, or filler."""

    start: int  # seconds
    script: Script
    is_clip: bool


@dataclass(frozen=True)
class Source:
    """A longer video from which clips are trimmed."""

    source_id: str
    parts: tuple[Part, ...]

    @property
    def seconds(self) -> int:
        """Return the duration in seconds."""
        return sum(part.script.seconds for part in self.parts)

    def clips(self) -> dict[str, Script]:
        """Return the clips by their VELOCITI-like id `v_<source>_seg_<start>_<end>`."""
        return {self.clip_id(part): part.script for part in self.parts if part.is_clip}

    def clip_id(self, part: Part) -> str:
        """Return the released id of a clip."""
        return f"v_{self.source_id}_seg_{part.start}_{part.start + part.script.seconds}"


def to_json(value: Script | Source) -> dict[str, Any]:
    """Return a form that can be written as JSON."""
    return asdict(value)


def script_from_json(value: dict[str, Any]) -> Script:
    """Return the script from the form that `to_json` returns."""
    figures = (Figure(**{**figure, "agent": Agent(**figure["agent"])}) for figure in value["figures"])
    return Script(value["slots"], tuple(Scene(**scene) for scene in value["scenes"]), tuple(figures))


def scenes_are_cut(scenes: tuple[Scene, ...]) -> bool:
    """Return whether adjacent scenes differ in tone, which makes every cut visible."""
    return all(before.tone != after.tone for before, after in pairwise(scenes))

"""The script of a clip: who stands or does what, where and when. The script is the annotation."""

from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

from reprise.core.files import value_digest

COLOURS = ("red", "blue", "green", "yellow", "purple", "white")
SHAPES = ("circle", "square", "triangle", "star", "cross")
PATTERNS = ("plain", "stripes", "checker", "gradient")
TONES = ("slate", "earth", "moss", "plum", "fog")
STRENGTHS = ("strong", "weak")

SLOTS = 5
SLOT_SECONDS = 2
CLIP_SECONDS = SLOTS * SLOT_SECONDS
FPS = 24
SIZE = 128


class Action(NamedTuple):
    """One thing an agent can do, and the words for it."""

    name: str
    verb: str
    direction: str
    gerund: str
    strong: str
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
    """One who can act: a shape of a colour; no two in a clip are the same."""

    colour: str
    shape: str

    @property
    def name(self) -> str:
        """`red circle`."""
        return f"{self.colour} {self.shape}"


AGENTS = tuple(Agent(colour, shape) for colour in COLOURS for shape in SHAPES)


def is_held_out(agent: Agent, action: str) -> bool:
    """Whether training never shows or names this pair: one action of every agent, three agents of every action."""
    index = AGENTS.index(agent)
    return (3 * index + index // 10) % len(ACTIONS) == ACTION_NAMES.index(action)


@dataclass(frozen=True)
class Figure:
    """An agent on stage during one slot; `x` and `floor` are where it starts, in shares of the canvas."""

    agent: Agent
    slot: int
    action: str
    strength: str
    x: float
    floor: float
    radius: float

    @property
    def acts(self) -> bool:
        """Whether it does something, or only stands by."""
        return self.action != "stand"

    @property
    def deed(self) -> tuple[Agent, str, str]:
        """What a caption of it states."""
        return (self.agent, self.action, self.strength)


@dataclass(frozen=True)
class Scene:
    """A background from one slot on; a new scene is a hard cut."""

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
        """How long it takes."""
        return self.slots * SLOT_SECONDS

    @property
    def events(self) -> tuple[Figure, ...]:
        """What happens, in order of time; two in one slot happen at once."""
        return tuple(figure for figure in self.figures if figure.acts)

    @property
    def agents(self) -> tuple[Agent, ...]:
        """Everyone who appears, sorted by name."""
        return tuple(sorted({figure.agent for figure in self.figures}))

    @property
    def deeds(self) -> frozenset[tuple[Agent, str, str]]:
        """All that is true of single events."""
        return frozenset(event.deed for event in self.events)

    @property
    def actions(self) -> frozenset[str]:
        """The actions that occur."""
        return frozenset(event.action for event in self.events)

    def story_digest(self) -> str:
        """A digest of what happens when, whatever the staging: scripts that share it are the same to a caption."""
        return value_digest(sorted([e.slot, e.agent.name, e.action, e.strength] for e in self.events))

    def with_slots_exchanged(self, one: int, other: int) -> "Script":
        """The counterfactual in which what happens in two slots happens in the other order; the scenes stay."""
        moved = {one: other, other: one}
        figures = (replace(figure, slot=moved.get(figure.slot, figure.slot)) for figure in self.figures)
        return replace(self, figures=tuple(sorted(figures, key=lambda figure: figure.slot)))

    def with_scenes_exchanged(self, one: int, other: int) -> "Script":
        """The counterfactual in which two scenes come in the other order; the events stay."""
        order = [{one: other, other: one}.get(place, place) for place in range(len(self.scenes))]
        scenes = [replace(self.scenes[place], slot=scene.slot) for place, scene in zip(order, self.scenes, strict=True)]
        return replace(self, scenes=tuple(scenes))

    def cuts(self) -> tuple[float, ...]:
        """The instants of the hard cuts, in seconds."""
        return tuple(float(scene.slot * SLOT_SECONDS) for scene in self.scenes[1:])


@dataclass(frozen=True)
class Part:
    """A stretch of a source: a clip to be cut out, or filler."""

    start: int
    script: Script
    is_clip: bool


@dataclass(frozen=True)
class Source:
    """A longer video that clips are cut from."""

    source_id: str
    parts: tuple[Part, ...]

    @property
    def seconds(self) -> int:
        """How long it takes."""
        return sum(part.script.seconds for part in self.parts)

    def clips(self) -> dict[str, Script]:
        """The clips by their VELOCITI-like id `v_<source>_seg_<start>_<end>`."""
        return {self.clip_id(part): part.script for part in self.parts if part.is_clip}

    def clip_id(self, part: Part) -> str:
        """The released id of one clip."""
        return f"v_{self.source_id}_seg_{part.start}_{part.start + part.script.seconds}"


def to_json(value: Script | Source) -> dict[str, Any]:
    """A JSON-able form."""
    return asdict(value)


def script_from_json(value: dict[str, Any]) -> Script:
    """The inverse of `to_json` for a script."""
    figures = (Figure(**{**figure, "agent": Agent(**figure["agent"])}) for figure in value["figures"])
    return Script(value["slots"], tuple(Scene(**scene) for scene in value["scenes"]), tuple(figures))


def scenes_are_cut(scenes: tuple[Scene, ...]) -> bool:
    """Whether every two neighbours differ in tone, so that a cut shows."""
    return all(before.tone != after.tone for before, after in pairwise(scenes))

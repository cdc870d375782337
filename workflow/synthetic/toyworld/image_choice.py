"""Write stills of the evaluation clips as releases of MMBench and MMStar, with questions of all categories.

Each function from `tone` to `on_a_slope` makes a question of one kind about a still. `MMBENCH` and `MMSTAR` list these
functions with their categories.
"""

import base64
import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import cv2
from reprise.core.files import write_text

from synthetic.toyworld.generate import EVALUATION_SEED, Dice, evaluation_sources
from synthetic.toyworld.render import render_frame
from synthetic.toyworld.script import AGENTS, COLOURS, PATTERNS, SLOT_SECONDS, TONES, Figure, Scene, Script

MMBENCH_COLUMNS = (
    "index", "question", "hint", "A", "B", "C", "D", "answer", "category", "image", "l2-category", "split",
)  # fmt: skip
MMSTAR_COLUMNS = ("index", "question", "image", "answer", "category", "l2_category", "meta_info")
LETTERS = ("A", "B", "C", "D")
CORNERS = {"circle": 0, "triangle": 3, "square": 4, "star": 10, "cross": 12}
QUESTIONS_PER_IMAGE = 2
ROTATION_STEP = 1_000_000  # MMBench repeats a question with rotated options, at an index that is larger by this step


class Still(NamedTuple):
    """The first frame of a slot in which no figure blinks."""

    script: Script
    slot: int
    scene: Scene
    figures: tuple[Figure, ...]

    @property
    def seconds(self) -> float:
        """Return the time of the still in seconds."""
        return float(self.slot * SLOT_SECONDS)

    def image(self) -> str:
        """Return the image as in the releases: a PNG file, encoded as base64."""
        frame = render_frame(self.script, self.seconds)
        is_encoded, content = cv2.imencode(".png", cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))
        if not is_encoded:
            raise RuntimeError("OpenCV could not encode a picture as PNG")
        return base64.b64encode(content.tobytes()).decode("ascii")


class Question(NamedTuple):
    """A question with its options."""

    text: str
    right_option: str
    wrong_options: tuple[str, ...]


Maker = Callable[[Still, Dice], Question | None]


def _sample_wrong_options(dice: Dice, right: str, options: Sequence[str], count: int = 3) -> tuple[str, ...]:
    return tuple(dice.sample([option for option in options if option != right], count))


def tone(still: Still, dice: Dice) -> Question:
    return Question(
        "What is the background like?", still.scene.tone, _sample_wrong_options(dice, still.scene.tone, TONES)
    )


def style(still: Still, dice: Dice) -> Question:
    return Question("How was this picture made?", "It was drawn.", ("It was photographed.",))


def colour(still: Still, dice: Dice) -> Question:
    agent = dice.pick(still.figures).agent
    return Question(
        f"What colour is the {agent.shape}?", agent.colour, _sample_wrong_options(dice, agent.colour, COLOURS)
    )


def place(still: Still, dice: Dice) -> Question | None:
    figure = dice.pick(still.figures)
    left_half, right_half = "In the left half.", "In the right half."
    right = right_half if figure.x > 0.5 else left_half
    options = (left_half, right_half)
    return Question(f"Where is the {figure.agent.name}?", right, _sample_wrong_options(dice, right, options, 1))


def side(still: Still, dice: Dice) -> Question | None:
    if len(still.figures) < 2 or abs(still.figures[0].x - still.figures[1].x) < 0.2:
        return None
    first, second = dice.sample(still.figures, 2)
    right, wrong = ("left", "right") if first.x < second.x else ("right", "left")
    return Question(f"On which side of the {second.agent.name} is the {first.agent.name}?", right, (wrong,))


def larger(still: Still, dice: Dice) -> Question | None:
    if len(still.figures) < 2 or abs(still.figures[0].radius - still.figures[1].radius) < 0.02:
        return None
    larger_figure, smaller_figure = sorted(still.figures[:2], key=lambda figure: -figure.radius)
    wrong = (f"The {smaller_figure.agent.name}.", "They are of the same size.")
    return Question("Which of the two shapes is larger?", f"The {larger_figure.agent.name}.", wrong)


def fewer(still: Still, dice: Dice) -> Question:
    right = str(len(still.figures) - 1)
    return Question(
        "If one shape left, how many would be there?", right, _sample_wrong_options(dice, right, ("0", "1", "2", "5"))
    )


def corners(still: Still, dice: Dice) -> Question:
    shape = dice.pick(still.figures).agent.shape
    right = str(CORNERS[shape])
    return Question(
        f"How many corners has the {shape}?",
        right,
        _sample_wrong_options(dice, right, [str(count) for count in CORNERS.values()]),
    )


def company(still: Still, dice: Dice) -> Question:
    agent = dice.pick(still.figures).agent
    no, yes = "No, it is alone.", "Yes, there is another."
    right = yes if len(still.figures) > 1 else no
    return Question(f"Has the {agent.name} company?", right, _sample_wrong_options(dice, right, (no, yes), 1))


def pattern(still: Still, dice: Dice) -> Question:
    right = still.scene.pattern
    return Question("Which pattern has the background?", right, _sample_wrong_options(dice, right, PATTERNS))


def presence(still: Still, dice: Dice) -> Question:
    present = {figure.agent for figure in still.figures}
    absent = [f"a {agent.name}" for agent in AGENTS if agent not in present]
    right = f"a {dice.pick(still.figures).agent.name}"
    return Question("Which of these is in the picture?", right, tuple(dice.sample(absent, 3)))


def painted(still: Still, dice: Dice) -> Question:
    agent = dice.pick(still.figures).agent
    paint = dice.pick([colour_name for colour_name in COLOURS if colour_name != agent.colour])
    wrong = _sample_wrong_options(dice, paint, COLOURS)
    text = f"If the {agent.shape} were painted {paint}, what would be there?"
    return Question(text, f"a {paint} {agent.shape}", tuple(f"a {colour_name} {agent.shape}" for colour_name in wrong))


def all_corners(still: Still, dice: Dice) -> Question:
    total = sum(CORNERS[figure.agent.shape] for figure in still.figures)
    wrong = tuple(str(total + step) for step in (1, 2, 5))
    return Question("How many corners have all the shapes together?", str(total), wrong)


def on_a_slope(still: Still, dice: Dice) -> Question:
    shape = dice.pick(still.figures).agent.shape
    deeds = ("It would roll.", "It would slide.", "It would float away.", "It would melt.")
    right = "It would roll." if shape == "circle" else "It would slide."
    return Question(f"What would a wooden {shape} do on a slope?", right, _sample_wrong_options(dice, right, deeds))


# Function that makes a question, its fine category, and its coarse category.
MMBENCH: tuple[tuple[Maker, str, str], ...] = (
    (tone, "image_scene", "coarse_perception"),
    (colour, "attribute_recognition", "finegrained_perception (instance-level)"),
    (side, "spatial_relationship", "finegrained_perception (cross-instance)"),
    (larger, "attribute_comparison", "finegrained_perception (cross-instance)"),
    (fewer, "future_prediction", "logic_reasoning"),
    (corners, "physical_property_reasoning", "attribute_reasoning"),
    (company, "social_relation", "relation_reasoning"),
    (style, "image_style", "coarse_perception"),
    (place, "object_localization", "finegrained_perception (instance-level)"),
)
MMSTAR: tuple[tuple[Maker, str, str], ...] = (
    (pattern, "image scene and topic", "coarse perception"),
    (colour, "attribute & celebrity recognition", "fine-grained perception"),
    (presence, "single-instance reasoning", "instance reasoning"),
    (painted, "common reasoning", "logical reasoning"),
    (all_corners, "numeric commonsense and calculation", "math"),
    (on_a_slope, "natural science", "science & technology"),
)


def select_stills() -> list[Still]:
    """Return a still of the first clip of every evaluation source."""
    return [still_of(next(iter(source.clips().values()))) for source in evaluation_sources()]


def still_of(script: Script) -> Still:
    """Return the start of the slot with the most figures. Slots with a blinking figure are skipped."""
    figures_by_slot = {
        slot: tuple(figure for figure in script.figures if figure.slot == slot) for slot in range(script.slots)
    }
    slots_without_blink = [
        slot
        for slot, figures in figures_by_slot.items()
        if figures and all(figure.action != "blink" for figure in figures)
    ]
    slot = max(slots_without_blink, key=lambda candidate: (len(figures_by_slot[candidate]), candidate))
    scene = next(scene for scene in reversed(script.scenes) if scene.slot <= slot)
    return Still(script, slot, scene, figures_by_slot[slot])


class StillQuestion(NamedTuple):
    """A question about a still, with its options in order."""

    still_index: int
    question: Question
    options: tuple[str, ...]
    fine: str
    coarse: str


def still_questions(
    stills: Sequence[Still], makers: Sequence[tuple[Maker, str, str]], seed: int
) -> Iterator[StillQuestion]:
    """Yield the questions about each still. Kinds of questions that occurred least often are preferred."""
    counts = [0] * len(makers)
    for still_index, still in enumerate(stills):
        dice = Dice(EVALUATION_SEED, seed + still_index)
        remaining = QUESTIONS_PER_IMAGE
        for index in sorted(range(len(makers)), key=lambda index: counts[index]):
            maker, fine, coarse = makers[index]
            question = maker(still, dice) if remaining else None
            if question:
                counts[index] += 1
                remaining -= 1
                options = tuple(dice.shuffled((question.right_option, *question.wrong_options)))
                yield StillQuestion(still_index, question, options, fine, coarse)


def mmbench_rows(stills: Sequence[Still]) -> list[list[str]]:
    """Return rows in the released format. The first row of a still has the image; later rows have that row's index."""
    rows: list[list[str]] = []
    first_index_by_still: dict[int, str] = {}
    for number, entry in enumerate(still_questions(stills, MMBENCH, 4_000_000), start=1):
        hint = "The picture shows shapes on a stage." if number % 5 == 0 else ""
        for turn in range(len(entry.options)):
            options = entry.options[turn:] + entry.options[:turn]
            cells = [*options, *[""] * (len(LETTERS) - len(options))]
            image = first_index_by_still.get(entry.still_index) or stills[entry.still_index].image()
            index = str(number + ROTATION_STEP * turn)
            first_index_by_still.setdefault(entry.still_index, index)
            answer = LETTERS[options.index(entry.question.right_option)]
            rows.append([index, entry.question.text, hint, *cells, answer, entry.fine, image, entry.coarse, "dev"])
    return rows


def mmstar_rows(stills: Sequence[Still]) -> list[list[str]]:
    """Return rows in the released format, with the options in the question."""
    rows = []
    for number, entry in enumerate(still_questions(stills, MMSTAR, 5_000_000)):
        option_list = ", ".join(f"{letter}: {text}" for letter, text in zip(LETTERS, entry.options, strict=True))
        answer = LETTERS[entry.options.index(entry.question.right_option)]
        origin = json.dumps({"source": "toy world", "split": "val", "image_path": f"images/{entry.still_index}.png"})
        text = f"{entry.question.text}\nOptions: {option_list}"
        image = stills[entry.still_index].image()
        rows.append([str(number), text, image, answer, entry.coarse, entry.fine, origin])
    return rows


def write_tables(folder: Path, mmbench: Sequence[Still], mmstar: Sequence[Still]) -> None:
    """Write `MMBench_DEV_TOY.tsv` and `MMStar.tsv`, two questions about each of these stills."""
    _write(folder / "MMBench_DEV_TOY.tsv", MMBENCH_COLUMNS, mmbench_rows(mmbench))
    _write(folder / "MMStar.tsv", MMSTAR_COLUMNS, mmstar_rows(mmstar))


def _write(path: Path, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter="\t", lineterminator="\n").writerows([columns, *rows])
    write_text(path, buffer.getvalue())

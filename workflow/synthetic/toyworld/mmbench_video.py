"""Write evaluation clips as a release of MMBench-Video: questions on 26 abilities, and some subtitles.

Each function from `topic` to `future` makes a question of one kind and its answer from a clip's script, by random
choices of the dice. `MAKERS` lists these functions with the abilities that the questions test.
"""

import csv
import io
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

from reprise.core.files import write_text
from reprise.media.subtitles import Cue

from synthetic.toyworld import captions
from synthetic.toyworld.generate import EVALUATION_SEED, EVALUATION_SOURCES, Dice, evaluation_sources
from synthetic.toyworld.image_choice import select_stills, write_tables
from synthetic.toyworld.render import write_video
from synthetic.toyworld.script import ACTION, AGENTS, SLOT_SECONDS, Agent, Figure, Script

COLUMNS = ("index", "video", "video_type", "question", "answer", "dimensions", "video_path")
QUESTIONS_PER_VIDEO = 5
SET_VIDEO_COUNT = 6
# Actions that change the size of an agent, and actions that lift it.
SIZE_CHANGES = frozenset({"grow", "shrink", "stretch"})
LIFTS = frozenset({"jump", "float"})
UNKNOWN = "There is no way to know from the video."


Maker = Callable[[Script, Dice], tuple[str, str] | None]  # returns a question and its answer, if the script has any


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _format_names(agents: set[Agent]) -> str:
    """Return the names as a sentence, such as `The blue star and the red circle.`, or `Nobody.`."""
    if not agents:
        return "Nobody."
    names = " and ".join(f"the {agent.name}" for agent in sorted(agents))
    return f"{names[0].upper()}{names[1:]}."


def _pick_event(script: Script, dice: Dice) -> Figure:
    """Return a random event of a clip."""
    return dice.pick(script.events)


def _describe_deeds(script: Script, agent: Agent) -> str:
    """Return all deeds of an agent as sentences."""
    deeds = [
        captions.format_verb_phrase(event.action, event.strength) for event in script.events if event.agent == agent
    ]
    return " ".join(f"It {deed}." for deed in deeds)


def _simultaneous_pair(script: Script, dice: Dice) -> tuple[Figure, Figure] | None:
    """Return a random pair of figures in the same slot, or None."""
    pairs = [(first, second) for first, second in combinations(script.figures, 2) if first.slot == second.slot]
    return dice.pick(pairs) if pairs else None


def topic(script: Script, dice: Dice) -> tuple[str, str]:
    return "What is this video about?", f"It is about what {_format_names(set(script.agents))[:-1].lower()} do."


def emotion(script: Script, dice: Dice) -> tuple[str, str]:
    strong = sum(event.strength == "strong" for event in script.events)
    return "What is the mood of the video?", "Lively." if 2 * strong > len(script.events) else "Calm."


def scene(script: Script, dice: Dice) -> tuple[str, str]:
    first = script.scenes[0]
    return "What does the first background look like?", f"It is {first.tone} with a {first.pattern} pattern."


def style(script: Script, dice: Dice) -> tuple[str, str]:
    return "How is the video made?", f"It is an animation of {_count(len(script.scenes), 'shot')}."


def ocr(script: Script, dice: Dice) -> tuple[str, str]:
    return "What words are written in the video?", "No words are written."


def objects(script: Script, dice: Dice) -> tuple[str, str]:
    return "Which shapes appear?", _format_names(set(script.agents))


def attribute(script: Script, dice: Dice) -> tuple[str, str] | None:
    unique_agents = [
        agent for agent in script.agents if sum(agent.shape == other.shape for other in script.agents) == 1
    ]
    if not unique_agents:
        return None
    agent = dice.pick(unique_agents)
    return f"What colour is the {agent.shape}?", f"It is {agent.colour}."


def event_of(script: Script, dice: Dice) -> tuple[str, str]:
    event = _pick_event(script, dice)
    return f"Who is {captions.format_gerund_phrase(event.action, event.strength)}?", f"The {event.agent.name}."


def motion(script: Script, dice: Dice) -> tuple[str, str]:
    agent = _pick_event(script, dice).agent
    return f"What does the {agent.name} do?", _describe_deeds(script, agent)


def counting(script: Script, dice: Dice) -> tuple[str, str]:
    return "How many different shapes appear?", f"{_count(len(script.agents), 'shape')} appear."


def spatial(script: Script, dice: Dice) -> tuple[str, str] | None:
    pair = _simultaneous_pair(script, dice)
    if pair is None or abs(pair[0].x - pair[1].x) < 0.2:
        return None
    first, second = pair
    side = "left" if first.x < second.x else "right"
    return f"When they begin, on which side of the {second.agent.name} is the {first.agent.name}?", f"On its {side}."


def with_object(script: Script, dice: Dice) -> tuple[str, str] | None:
    pairs = [
        (event, figure)
        for event in script.events
        for figure in script.figures
        if figure.slot == event.slot and not figure.is_acting
    ]
    if not pairs:
        return None
    event, bystander = dice.pick(pairs)
    doing = captions.format_gerund_phrase(event.action, event.strength)
    return f"What does the {bystander.agent.name} do while the {event.agent.name} is {doing}?", "It stands there."


def interaction(script: Script, dice: Dice) -> tuple[str, str]:
    doubles = [
        {first.agent, second.agent} for first, second in combinations(script.events, 2) if first.slot == second.slot
    ]
    return "Which two act at the same time?", _format_names(doubles[0]) if doubles else "Nobody."


def hallucination(script: Script, dice: Dice) -> tuple[str, str]:
    absent = [agent for agent in AGENTS if agent not in script.agents]
    return f"What does the {dice.pick(absent).name} do?", UNKNOWN


def structure(script: Script, dice: Dice) -> tuple[str, str]:
    return "List all that happens, in order.", captions.description(script)


def arithmetic(script: Script, dice: Dice) -> tuple[str, str]:
    return "If every deed were done twice, how many deeds would there be?", f"{2 * len(script.events)} deeds."


def physical_property(script: Script, dice: Dice) -> tuple[str, str]:
    return "What changes its size?", _format_names(
        {event.agent for event in script.events if event.action in SIZE_CHANGES}
    )


def function(script: Script, dice: Dice) -> tuple[str, str]:
    return "What could get over a low wall?", _format_names(
        {event.agent for event in script.events if event.action in LIFTS}
    )


def identity(script: Script, dice: Dice) -> tuple[str, str]:
    event = _pick_event(script, dice)
    other_events = [other for other in script.events if other.agent == event.agent and other != event]
    doing = captions.format_gerund_phrase(event.action, event.strength)
    deeds = " ".join(f"It {captions.format_verb_phrase(other.action, other.strength)}." for other in other_events)
    return f"What else does the thing that is {doing} do?", deeds or "Nothing."


def natural(script: Script, dice: Dice) -> tuple[str, str]:
    kinds = {event.action for event in script.events}
    has_opposites = any(
        {first, second} <= kinds
        for first, second in (("slide_left", "slide_right"), ("float", "sink"), ("grow", "shrink"))
    )
    return "Are two of the deeds opposites of each other?", "Yes, they are." if has_opposites else "No, none are."


def physical_relation(script: Script, dice: Dice) -> tuple[str, str] | None:
    pair = _simultaneous_pair(script, dice)
    if pair is None or abs(pair[0].radius - pair[1].radius) < 0.02:
        return None
    first, second = pair
    larger = max(pair, key=lambda figure: figure.radius)
    return f"Which begins larger, the {first.agent.name} or the {second.agent.name}?", f"The {larger.agent.name}."


def social(script: Script, dice: Dice) -> tuple[str, str] | None:
    if len(script.agents) < 2:
        return None
    first, second = dice.sample(script.agents, 2)
    slots = [{figure.slot for figure in script.figures if figure.agent == agent} for agent in (first, second)]
    answer = "Together." if slots[0] & slots[1] else "Apart."
    return f"Are the {first.name} and the {second.name} ever seen together or always apart?", answer


def common_sense(script: Script, dice: Dice) -> tuple[str, str]:
    event = _pick_event(script, dice)
    return f"Would a real {event.agent.shape} be {ACTION[event.action].gerund} by itself?", "No, it needs to be moved."


def counterfactual(script: Script, dice: Dice) -> tuple[str, str]:
    agent = _pick_event(script, dice).agent
    return f"Who would act if the {agent.name} did not?", _format_names(
        {event.agent for event in script.events} - {agent}
    )


def causal(script: Script, dice: Dice) -> tuple[str, str] | None:
    slides = [event for event in script.events if event.action in {"slide_left", "slide_right"}]
    if not slides:
        return None
    event = dice.pick(slides)
    deed = captions.format_verb_phrase(event.action, event.strength)
    return f"Why does the {event.agent.name} end up elsewhere?", f"Because it {deed}."


def future(script: Script, dice: Dice) -> tuple[str, str]:
    last = max(script.events, key=lambda event: (event.slot, event.agent))
    deed = captions.format_verb_phrase(last.action, last.strength)
    return f"What may the {last.agent.name} do next?", f"It may be that it {deed} again."


# Function that makes a question, and the abilities of the question.
MAKERS: tuple[tuple[Maker, tuple[str, ...]], ...] = (
    (topic, ("Video Topic",)),
    (emotion, ("Video Emotion",)),
    (scene, ("Video Scene",)),
    (style, ("Video Style", "Counting")),
    (ocr, ("OCR",)),
    (objects, ("Object Recognition",)),
    (attribute, ("Attribute Recognition",)),
    (event_of, ("Event Recognition",)),
    (motion, ("Human Motion",)),
    (counting, ("Object Recognition", "Counting")),
    (spatial, ("Spatial Relationship",)),
    (with_object, ("Human-object Interaction",)),
    (interaction, ("Human Interaction",)),
    (hallucination, ("Hallucination",)),
    (structure, ("Structuralized Image-Text Understanding",)),
    (arithmetic, ("Counting", "Mathematical Calculation")),
    (physical_property, ("Physical Property",)),
    (function, ("Function Reasoning",)),
    (identity, ("Identity Reasoning",)),
    (natural, ("Natural Relation",)),
    (physical_relation, ("Physical Relation",)),
    (social, ("Social Relation",)),
    (common_sense, ("Common Sense Reasoning",)),
    (counterfactual, ("Counterfactual Reasoning",)),
    (causal, ("Event Recognition", "Causal Reasoning")),
    (future, ("Future Prediction",)),
)


# The simple questions of video sets.
SET_MAKERS = tuple((maker, abilities) for maker, abilities in MAKERS if maker in (objects, attribute, motion))


def select_videos(sources: int = EVALUATION_SOURCES) -> dict[str, Script]:
    """Return the scripts of the first clips of all evaluation sources by clip id, which is the name of the video."""
    return dict(next(iter(source.clips().items())) for source in evaluation_sources(sources))


def build_rows(sources: int = EVALUATION_SOURCES) -> list[list[str]]:
    """Return the rows of the released table. Kinds of questions that occurred least often are preferred."""
    table_rows: list[list[str]] = []
    counts = [0] * len(MAKERS)
    for number, (video, script) in enumerate(select_videos(sources).items()):
        dice = Dice(EVALUATION_SEED, 3_000_000 + number)
        target = len(table_rows) + QUESTIONS_PER_VIDEO
        for index in sorted(range(len(MAKERS)), key=lambda index: counts[index]):
            maker, abilities = MAKERS[index]
            pair = maker(script, dice) if len(table_rows) < target else None
            if pair:
                counts[index] += 1
                table_rows.append(
                    [str(len(table_rows)), video, "Animation", *pair, str(list(abilities)), f"./video/{video}.mp4"]
                )
    return table_rows


def build_cues(script: Script) -> list[Cue]:
    """Return cues that state each event during its slot."""
    return [
        Cue(event.slot * SLOT_SECONDS, (event.slot + 1) * SLOT_SECONDS, captions.caption(*event.deed))
        for event in sorted(script.events, key=lambda event: (event.slot, event.agent))
    ]


def subtitles(script: Script) -> str:
    """Return the spoken cues as WebVTT."""
    cues = [f"{_format_time(cue.start_s)} --> {_format_time(cue.end_s)}\n{cue.text}\n" for cue in build_cues(script)]
    return "\n".join(["WEBVTT\n", *cues])


def _format_time(seconds: float) -> str:
    return f"00:{int(seconds) // 60:02d}:{int(seconds) % 60:02d}.000"


def write_release(folder: Path, sources: int = EVALUATION_SOURCES) -> None:
    """Write `MMBench-Video.tsv` and its optional parts: subtitles, image benchmarks, another video set."""
    buffer = io.StringIO()
    csv.writer(buffer, delimiter="\t", lineterminator="\n").writerows([COLUMNS, *build_rows(sources)])
    write_text(folder / "MMBench-Video.tsv", buffer.getvalue())
    for video, script in list(select_videos(sources).items())[::2]:
        write_text(folder / "subtitles" / f"{video}.vtt", subtitles(script))
    stills = select_stills()
    write_tables(folder, stills[::2], stills[1::2])
    write_set(folder / "sets" / "toy-clips")


def write_set(folder: Path) -> None:
    """Write a video set with its manifest: the last clips of a few sources, with simple questions."""
    buffer = io.StringIO()
    manifest = csv.writer(buffer, lineterminator="\n")
    manifest.writerow(("video", "question", "answer", "capability"))
    for number, source in enumerate(evaluation_sources()[:SET_VIDEO_COUNT]):
        video, script = list(source.clips().items())[-1]
        folder.mkdir(parents=True, exist_ok=True)
        write_video(script, folder / f"{video}.mp4")
        for maker, (first_ability, *_) in SET_MAKERS:
            pair = maker(script, Dice(EVALUATION_SEED, 6_000_000 + number))
            if pair:
                manifest.writerow((f"{video}.mp4", *pair, first_ability))
    write_text(folder.with_suffix(".csv"), buffer.getvalue())

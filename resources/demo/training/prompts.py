"""Define the prompts of the training: the pipeline's own strings and a few of the toy world's."""

import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from synthetic.toyworld import captions
from synthetic.toyworld.script import CLIP_SECONDS, PATTERNS, SLOT_SECONDS, TONES

REPOSITORY = Path(__file__).resolve().parents[3]
DESCRIBE = "Describe the video."
# The suffix of Vinoground's chain-of-thought prompt (resources/prompts/vinoground.yaml).
THINK = " please think step by step"

# The chat template of the public LLaVA-OneVision checkpoints: the video comes first in a message, then its texts.
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + ' ' }}"
    "{% if message['content'] is string %}{{ '\\n' + message['content'] }}{% else %}"
    "{% for part in message['content'] if part['type'] == 'image' %}{{ '<image>' }}{% endfor %}"
    "{% for part in message['content'] if part['type'] == 'video' %}{{ '<video>' }}{% endfor %}"
    "{% for part in message['content'] if part['type'] == 'text' %}{{ '\\n' + part['text'] }}{% endfor %}{% endif %}"
    "{{ '<|im_end|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


class Prompt(NamedTuple):
    """One prompt: the user's text with `{placeholders}`, and a system text or an empty string."""

    user: str
    system: str


@cache
def prompts_of(benchmark: str) -> dict[str, Prompt]:
    """Return the pipeline's prompts of a benchmark."""
    path = REPOSITORY / "resources" / "prompts" / f"{benchmark}.yaml"
    entries: dict[str, dict[str, str]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {name: Prompt(entry["user"], entry.get("system", "")) for name, entry in entries.items()}


@cache
def prompts() -> dict[str, Prompt]:
    """Return all prompts by name; `describe` and `ask` belong to the toy world."""
    return {**prompts_of("velociti"), "describe": Prompt(DESCRIBE, ""), "ask": Prompt("{question}", "")}


def messages(user: str, system: str = "", video: bool = True) -> list[dict[str, Any]]:
    """Return the conversation of one question, as the pipeline builds it."""
    content: list[dict[str, str]] = [{"type": "video"}] if video else []
    turns = [{"role": "system", "content": [{"type": "text", "text": system}]}] if system else []
    return [*turns, {"role": "user", "content": [*content, {"type": "text", "text": user}]}]


def rendered(user: str, system: str = "", video: bool = True) -> str:
    """Render the chat template; a test compares the text with that of the processor."""
    head = f"<|im_start|>system \n{system}<|im_end|>" if system else ""
    return f"{head}<|im_start|>user {'<video>' if video else ''}\n{user}<|im_end|><|im_start|>assistant\n"


# Frequent phrases of the toy releases of the other benchmarks. Each is one token, and their ids follow all other ids.
LATER_PHRASES = (
    *("Which caption best describes this video?\nA.", "\nB.", " The answer is", "\n1.", "\n2.", "\n3."),
    "\nAnswer with the option's letter from the given choices directly.",
    "Here are three captions of other videos.",
    "\nDescribe the video.",
    "Which video segment matches this caption? Note: The video contains two segments separated by a 2-second black "
    "frame. Caption:",
    ". A. First segment (before black frame), B. Second segment (after black frame)",
    *(THINK, "First segment:", " Second segment:"),
    *(f" the background is {surface}" for surface in captions.SURFACES.values()),
    *(f" {tone}" for tone in TONES),
    *("What is this video about?", "It is about what", "What is the mood of the video?", "Lively.", "Calm."),
    *("What does the first background look like?", "It is", " with a", " pattern."),
    *(f" {pattern}" for pattern in PATTERNS),
    *("How is the video made?", "It is an animation of", " shots.", " shot.", "What words are written in the video?"),
    *("No words are written.", "Which shapes appear?", "What colour is the", "How many different shapes appear?"),
    *(" shapes appear.", "When they begin, on which side of the", " is the", "On its left.", "On its right."),
    *("What does the", " do while the", "It stands there.", "Which two act at the same time?", "Nobody."),
    *("There is no way to know from the video.", "List all that happens, in order."),
    *("If every deed were done twice, how many deeds would there be?", " deeds.", "What changes its size?"),
    *("What could get over a low wall?", "Are two of the deeds opposites of each other?", "Yes, they are."),
    *("No, none are.", "Which begins larger, the", ", or the", "Are the", " and the"),
    *(" ever seen together or always apart?", "Together.", "Apart.", "Would a real", " by itself?"),
    *("No, it needs to be moved.", "Who would act if the", " did not?", "Why does the", " end up elsewhere?"),
    *("Because it", "What may the", " do next?", "It may be that it", " again.", " four times", " once"),
    *("Question: ", "\nOptions:", "\nA.", "\nC.", "\nD."),
    "\nPlease select the correct answer from the options above. \n",
    *("Hint: The picture shows shapes on a stage.\n", "What is the background like?", "How was this picture made?"),
    *("It was drawn.", "It was photographed.", "Where is the", "In the left half.", "In the right half."),
    *("On which side of the", "Which of the two shapes is larger?", "They are of the same size."),
    *("If one shape left, how many would be there?", "How many corners has the", "Has the", " company?"),
    *("No, it is alone.", "Yes, there is another.", "Which pattern has the background?"),
    *("Which of these is in the picture?", "If the", " were painted", ", what would be there?"),
    *("How many corners have all the shapes together?", "What would a wooden", " do on a slope?"),
    *("It would roll.", "It would slide.", "It would float away.", "It would melt.", "\nSubtitle: {\n"),
    *(f"    '{second}.0' - '{second + SLOT_SECONDS}.0': " for second in range(0, CLIP_SECONDS, SLOT_SECONDS)),
    "\n}",
)


def phrases() -> list[str]:
    """Return the fixed sentences of all prompts, each to become one token; a system text is one phrase."""
    sentences: set[str] = set()
    for prompt in prompts().values():
        sentences.add(prompt.system)
        for segment in re.split(r"\{\w+\}", prompt.user):
            # Sentences keep the blank or line break before them; short texts are not made into one token.
            parts = re.split(r"(?<=[.?:])(?=\s\S)", segment.rstrip(" "))
            sentences.update(sentence for sentence in parts if len(sentence.strip()) > 8)
    return sorted(sentences - {""})

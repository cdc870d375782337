"""The prompts that the models are trained with: the pipeline's own strings and a few of the toy world's."""

import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

REPOSITORY = Path(__file__).resolve().parents[4]
PROMPT_FILE = REPOSITORY / "resources" / "prompts" / "velociti.yaml"
DESCRIBE = "Describe the video."

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
    """One prompt: the user's text with `{placeholders}`, and a system text or none."""

    user: str
    system: str


@cache
def prompts() -> dict[str, Prompt]:
    """All prompts by name; `describe` and `ask` are the toy world's own."""
    entries: dict[str, dict[str, str]] = yaml.safe_load(PROMPT_FILE.read_text(encoding="utf-8"))
    found = {name: Prompt(entry["user"], entry.get("system", "")) for name, entry in entries.items()}
    return {**found, "describe": Prompt(DESCRIBE, ""), "ask": Prompt("{question}", "")}


def messages(user: str, system: str = "", video: bool = True) -> list[dict[str, Any]]:
    """The conversation of one question, as the pipeline builds it."""
    content: list[dict[str, str]] = [{"type": "video"}] if video else []
    turns = [{"role": "system", "content": [{"type": "text", "text": system}]}] if system else []
    return [*turns, {"role": "user", "content": [*content, {"type": "text", "text": user}]}]


def rendered(user: str, system: str = "", video: bool = True) -> str:
    """What the chat template makes of it; a test holds this against the processor."""
    head = f"<|im_start|>system \n{system}<|im_end|>" if system else ""
    return f"{head}<|im_start|>user {'<video>' if video else ''}\n{user}<|im_end|><|im_start|>assistant\n"


def phrases() -> list[str]:
    """The fixed sentences of all prompts, each to become one token; a system text is one phrase."""
    found: set[str] = set()
    for prompt in prompts().values():
        found.add(prompt.system)
        for piece in re.split(r"\{\w+\}", prompt.user):
            # Sentences keep the blank or line break before them; a single word stays text.
            sentences = re.split(r"(?<=[.?:])(?=\s\S)", piece.rstrip(" "))
            found.update(sentence for sentence in sentences if len(sentence.strip()) > 8)
    return sorted(found - {""})

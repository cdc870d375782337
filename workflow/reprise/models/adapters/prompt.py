"""A checkpoint's chat template: the text of a question, and whether it has a place for a video or for images."""

from collections.abc import Sequence
from typing import Any

from jinja2 import TemplateError

from reprise.core.log import log

SYSTEM, USER = "The system text.", "The question."


class Template:
    """Renders questions; tells once what the template cannot do."""

    def __init__(self, processor: Any) -> None:
        self._processor = processor
        self._prints_system = self._count_of_system() == 1

    def render(self, system: str, prompt: str, visuals: Sequence[str] = ()) -> str:
        """The text that the model reads: after `visuals`, such as `video` or several times `image`, the question.

        A template that prints the system text twice, or not at all, is given it before the question instead.
        """
        if system and not self._prints_system:
            system, prompt = "", f"{system}\n\n{prompt}"
        return self._rendered(system, prompt, visuals)

    def places(self, visuals: Sequence[str], token: str | None) -> int:
        """How many of these videos or images the template has a place for."""
        if token is None:
            return 0
        try:
            return self._rendered("", USER, visuals).count(token)
        except TemplateError:
            return 0

    def _count_of_system(self) -> int:
        try:
            count = self._rendered(SYSTEM, USER, ()).count(SYSTEM)
        except TemplateError:  # some refuse the role
            count = 0
        if count != 1:
            log.info(f"the chat template prints the system text {count} times: it is put before the question instead")
        return count

    def _rendered(self, system: str, prompt: str, visuals: Sequence[str]) -> str:
        content = [{"type": kind} for kind in visuals] + [{"type": "text", "text": prompt}]
        messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
        if system:
            messages.insert(0, {"role": "system", "content": [{"type": "text", "text": system}]})
        return str(self._processor.apply_chat_template(messages, add_generation_prompt=True, tokenize=False))

"""A checkpoint's chat template: the text of a question, and whether it has a place for a video or for images."""

from collections.abc import Mapping, Sequence
from typing import Any

from reprise.core.errors import UserError
from reprise.core.log import log

SYSTEM, USER = "The system text.", "The question."


class Template:
    """Renders questions; tells once what the template cannot do."""

    def __init__(self, processor: Any, arguments: Mapping[str, Any]) -> None:
        """`arguments` are those that the model's file gives the template, such as `enable_thinking`."""
        self._processor, self._arguments = processor, dict(arguments)
        try:
            self._rendered("", USER, ())
        except Exception as error:  # of the template's code, in any of its words
            words = getattr(processor, "tokenizer", processor)
            raise UserError(
                f"{words.name_or_path}: its chat template (chat_template.jinja, or in processor_config.json or "
                f"tokenizer_config.json) cannot render a question: {type(error).__name__}: {error}. Correct it, or use "
                "a revision whose template works."
            ) from error
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
        try:
            return self._rendered("", USER, visuals).count(token) if token is not None else 0
        except Exception as error:  # some refuse what they have no place for
            log.debug(f"the chat template shows no {visuals[0]}: {error}")
            return 0

    def _count_of_system(self) -> int:
        try:
            count = self._rendered(SYSTEM, USER, ()).count(SYSTEM)
        except Exception as error:  # some refuse the role
            log.debug(f"the chat template takes no system text: {error}")
            count = 0
        if count != 1:
            log.info(f"the chat template prints the system text {count} times: it is put before the question instead")
        return count

    def _rendered(self, system: str, prompt: str, visuals: Sequence[str]) -> str:
        content = [{"type": kind} for kind in visuals] + [{"type": "text", "text": prompt}]
        messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
        if system:
            messages.insert(0, {"role": "system", "content": [{"type": "text", "text": system}]})
        given = self._arguments | {"add_generation_prompt": True, "tokenize": False}
        return str(self._processor.apply_chat_template(messages, **given))

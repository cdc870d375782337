"""Baselines with scores known in closed form, which test the pipeline and replace models in a rehearsal."""

import hashlib
import json
from collections.abc import Iterator, Sequence

from reprise.core.errors import UserError
from reprise.models.base import Answer, ClipFrames, ModelSpec, Request
from reprise.models.settings import ConstantSettings, RandomSettings

# Marks the final answer in prompts that ask for a chain of thought.
OUTPUT_MARKER = "<<<output>>>"


def _certain(request: Request, option: str) -> Answer:
    if request.ask in ("score", "similarity"):
        return Answer(scores=tuple(float(candidate == option) for candidate in request.options))
    return Answer(text=option)


class OracleBaseline:
    """Answer with the expected option."""

    def __init__(self, spec: ModelSpec) -> None:
        del spec  # nothing to load

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            yield _certain(request, request.expected)


class ConstantBaseline:
    """Answer with the option at one fixed index, such as always Yes; open questions get a fixed sentence."""

    def __init__(self, spec: ModelSpec) -> None:
        settings = ConstantSettings.model_validate(spec.settings)
        self._index, self._text = settings.option, settings.text

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            if not request.options and self._text:
                yield Answer(text=self._text)
                continue
            if not 0 <= self._index < len(request.options):
                raise UserError(
                    f"{request.request_id}: settings.option of the constant baseline is {self._index}, but the options "
                    f"are {list(request.options)}. Set it to a valid index, from 0."
                )
            yield _certain(request, request.options[self._index])


class RandomBaseline:
    """Draw an independent uniform score per option, from the seed and the question alone.

    An open question is answered by one of the texts in the settings. If the expected answer is a JSON object, the
    answer is an object with the same keys.
    """

    def __init__(self, spec: ModelSpec) -> None:
        settings = RandomSettings.model_validate(spec.settings)
        self._seed, self._texts = settings.seed, settings.texts or [""]

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            if not request.options:
                keys, question = _keys(request.expected), (clip.clip_id, request.prompt)
                text = (
                    self._text(*question)
                    if keys is None
                    else json.dumps({key: self._text(*question, key) for key in keys})
                )
                yield Answer(text=text)
                continue
            draws = tuple(self._uniform(clip.clip_id, request.prompt, option) for option in request.options)
            if request.ask == "score":
                yield Answer(scores=tuple(draw / sum(draws) for draw in draws))
            elif request.ask == "similarity":
                yield Answer(scores=draws)
            else:
                choice = max(zip(draws, request.options, strict=True))[1]
                needs_marker = OUTPUT_MARKER in request.system or OUTPUT_MARKER in request.prompt
                yield Answer(text=f"{OUTPUT_MARKER}{choice}<<</output>>>" if needs_marker else choice)

    def _text(self, *question: str) -> str:
        return self._texts[int(self._uniform(*question) * len(self._texts)) % len(self._texts)]

    def _uniform(self, *question: str) -> float:
        digest = hashlib.sha256("\n".join((str(self._seed), *question)).encode()).digest()
        return (int.from_bytes(digest[:7]) + 1) / 2**56


def _keys(expected: str) -> list[str] | None:
    """Return the keys of a JSON object; None for any other text."""
    try:
        value = json.loads(expected) if expected.startswith("{") else None
    except ValueError:
        return None
    return list(value) if isinstance(value, dict) else None

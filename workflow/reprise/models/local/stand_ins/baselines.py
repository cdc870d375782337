"""Baselines whose scores are known in closed form: they test the pipeline and stand in for models in a rehearsal."""

import hashlib
import json
from collections.abc import Iterator, Sequence

from reprise.core.errors import UserError
from reprise.models.base import Answer, Clip, ModelSpec, Request
from reprise.models.settings import ConstantSettings, RandomSettings

# Where a prompt wants the answer of a chain of thought.
OUTPUT = "<<<output>>>"


def _certain(request: Request, option: str) -> Answer:
    if request.ask in ("score", "similarity"):
        return Answer(scores=tuple(float(one == option) for one in request.options))
    return Answer(text=option)


class Oracle:
    """Knows the expected option."""

    def __init__(self, spec: ModelSpec) -> None:
        del spec  # nothing to load

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            yield _certain(request, request.expected)


class Constant:
    """Says the option at one fixed place, whatever is asked: always Yes, always A; one sentence to open questions."""

    def __init__(self, spec: ModelSpec) -> None:
        settings = ConstantSettings.model_validate(spec.settings)
        self._place, self._text = settings.option, settings.text

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            if not request.options and self._text:
                yield Answer(text=self._text)
                continue
            if not 0 <= self._place < len(request.options):
                raise UserError(
                    f"{request.request_id}: the constant baseline was told to take option {self._place} "
                    f"of {list(request.options)}. Set settings.option in its file to a place that exists."
                )
            yield _certain(request, request.options[self._place])


class Random:
    """Draws a score per option, independent and uniform, from the seed and the question alone.

    An open question is answered by one of the texts that its settings list; where the expected answer is a JSON object,
    by an object with the same keys.
    """

    def __init__(self, spec: ModelSpec) -> None:
        settings = RandomSettings.model_validate(spec.settings)
        self._seed, self._texts = settings.seed, settings.texts or [""]

    def answers(self, clip: Clip, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            if not request.options:
                keys, about = _keys(request.expected), (clip.clip_id, request.prompt)
                said = (
                    self._text(*about) if keys is None else json.dumps({key: self._text(*about, key) for key in keys})
                )
                yield Answer(text=said)
                continue
            draws = tuple(self._uniform(clip.clip_id, request.prompt, option) for option in request.options)
            if request.ask == "score":
                yield Answer(scores=tuple(draw / sum(draws) for draw in draws))
            elif request.ask == "similarity":
                yield Answer(scores=draws)
            else:
                chosen = max(zip(draws, request.options, strict=True))[1]
                is_block_wanted = OUTPUT in request.system or OUTPUT in request.prompt
                yield Answer(text=f"{OUTPUT}{chosen}<<</output>>>" if is_block_wanted else chosen)

    def _text(self, *question: str) -> str:
        return self._texts[int(self._uniform(*question) * len(self._texts)) % len(self._texts)]

    def _uniform(self, *question: str) -> float:
        digest = hashlib.sha256("\n".join((str(self._seed), *question)).encode()).digest()
        return (int.from_bytes(digest[:7]) + 1) / 2**56


def _keys(expected: str) -> list[str] | None:
    """The keys of a JSON object; none of any other text."""
    try:
        value = json.loads(expected) if expected.startswith("{") else None
    except ValueError:
        return None
    return list(value) if isinstance(value, dict) else None

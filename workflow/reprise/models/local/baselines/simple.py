"""Answer without a model: baselines whose scores are known, for tests and rehearsals."""

import hashlib
import json
from collections.abc import Iterator, Sequence

from reprise.core.errors import UserError
from reprise.models.base import Answer, ClipFrames, ModelSpec, Request
from reprise.models.settings import ConstantSettings, RandomSettings

# Marks the final answer in prompts that ask for a chain of thought.
OUTPUT_MARKER = "<<<output>>>"


def _answer_with(request: Request, option: str) -> Answer:
    """Return an answer that chooses an option with certainty."""
    if request.request_type in ("score", "similarity"):
        return Answer(scores=tuple(float(candidate == option) for candidate in request.options))
    return Answer(text=option)


class OracleBaseline:
    """Answer with the expected option."""

    def __init__(self, spec: ModelSpec) -> None:
        del spec  # nothing to load

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            yield _answer_with(request, request.expected)


class ConstantBaseline:
    """Answer with the option at a fixed index, such as always Yes, and open questions with a fixed sentence."""

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
            yield _answer_with(request, request.options[self._index])


class RandomBaseline:
    """Draw a uniform score per option, from the seed and the question only.

    The answer to an open question is one of the texts in the settings. If the expected answer is a JSON object, the
    answer is an object with the same keys.
    """

    def __init__(self, spec: ModelSpec) -> None:
        settings = RandomSettings.model_validate(spec.settings)
        self._seed, self._candidate_texts = settings.seed, settings.texts or [""]

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            if not request.options:
                expected_keys, question_seed = _parse_keys(request.expected), (clip.clip_id, request.prompt)
                text = (
                    self._draw_text(*question_seed)
                    if expected_keys is None
                    else json.dumps({key: self._draw_text(*question_seed, key) for key in expected_keys})
                )
                yield Answer(text=text)
                continue
            uniform_scores = tuple(
                self._draw_uniform(clip.clip_id, request.prompt, option) for option in request.options
            )
            if request.request_type == "score":
                yield Answer(scores=tuple(score / sum(uniform_scores) for score in uniform_scores))
            elif request.request_type == "similarity":
                yield Answer(scores=uniform_scores)
            else:
                choice = max(zip(uniform_scores, request.options, strict=True))[1]
                needs_marker = OUTPUT_MARKER in request.system or OUTPUT_MARKER in request.prompt
                yield Answer(text=f"{OUTPUT_MARKER}{choice}<<</output>>>" if needs_marker else choice)

    def _draw_text(self, *seed_parts: str) -> str:
        """Return one of the texts in the settings."""
        text_count = len(self._candidate_texts)
        return self._candidate_texts[int(self._draw_uniform(*seed_parts) * text_count) % text_count]

    def _draw_uniform(self, *seed_parts: str) -> float:
        """Return a number above 0 and up to 1, which the seed and the parts determine."""
        digest = hashlib.sha256("\n".join((str(self._seed), *seed_parts)).encode()).digest()
        return (int.from_bytes(digest[:7]) + 1) / 2**56


def _parse_keys(expected: str) -> list[str] | None:
    """Return the keys of a JSON object; None for any other text."""
    try:
        value = json.loads(expected) if expected.startswith("{") else None
    except ValueError:
        return None
    return list(value) if isinstance(value, dict) else None

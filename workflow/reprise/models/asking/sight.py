"""Whether a model sees its clips: the same questions with the plan's frames, without, with others, and in reverse."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from statistics import mean

from reprise.models.asking.ahead import Asked
from reprise.models.asking.outcomes import Model, ask
from reprise.models.base import Answer, Clip, Request
from reprise.reading.readers import read_by_table

PLAN, BLIND, ANOTHER, REVERSED = "the plan's frames", "no frames", "another clip's frames", "the frames in reverse"
# The same input gives the same numbers but for the last digits.
ALIKE = 1e-6


@dataclass(frozen=True)
class Differing:
    """How many answers are others than with the plan's frames, and by how much a probability is another at most."""

    count: int
    of: int
    most: float


@dataclass(frozen=True)
class Sight:
    """What came out."""

    clips: int
    frames: tuple[int, ...]
    """of each clip that was asked about, those that reached the model"""
    tokens_a_frame: float
    differing: dict[str, Differing]
    readable: float
    """share of the answers that name an option; of scores, the probability that the options hold together"""
    failures: Counter[str]
    message: str
    """of the first failure"""
    seconds: float
    """of a question, in the mean"""
    questions: int

    @property
    def is_blind(self) -> bool:
        """Whether another clip's frames never change an answer."""
        return self.differing[ANOTHER].of > 0 and self.differing[ANOTHER].count == 0


def sight_of(model: Model, asked: Sequence[Asked]) -> Sight:
    """Ask all questions in every way; at least two clips, all of them with frames."""
    found = {view: [_answers(model, one) for one in clips] for view, clips in _views(asked).items()}
    planned = [answer for answers, _ in found[PLAN] for answer in answers]
    fine = [
        (request, answer)
        for one, (answers, _) in zip(asked, found[PLAN], strict=True)
        for request, answer in zip(one.requests, answers, strict=True)
        if not answer.error
    ]
    failures = [answer for answers, _ in found[PLAN] for answer in answers if answer.error]
    return Sight(
        clips=len(asked),
        frames=tuple(max((answer.frames_shown for answer in answers), default=0) for answers, _ in found[PLAN]),
        tokens_a_frame=_tokens_a_frame(found[PLAN], found[BLIND]),
        differing={view: _differing(found[PLAN], found[view]) for view in found if view != PLAN},
        readable=mean(_readable(request, answer) for request, answer in fine) if fine else 0.0,
        failures=Counter(answer.error for answer in failures),
        message=failures[0].message if failures else "",
        seconds=sum(seconds for _, seconds in found[PLAN]) / max(1, len(planned)),
        questions=len(planned),
    )


def _views(asked: Sequence[Asked]) -> dict[str, list[Asked]]:
    """The questions about each clip, shown in every way. Another clip shows as many frames, so that a model which does
    not see them cannot tell the two apart."""
    others = [*asked[1:], *asked[:1]]
    return {
        PLAN: list(asked),
        BLIND: [one._replace(clip=replace(one.clip, path=None, indices=(), times_s=())) for one in asked],
        ANOTHER: [one._replace(clip=_filled(one.clip, other.clip)) for one, other in zip(asked, others, strict=True)],
        REVERSED: [one._replace(clip=replace(one.clip, indices=one.clip.indices[::-1])) for one in asked],
    }


def _filled(clip: Clip, other: Clip) -> Clip:
    """A clip with the frames of another."""
    count = len(clip.indices)
    return replace(
        other,
        clip_id=clip.clip_id,
        indices=tuple(islice(cycle(other.indices), count)),
        times_s=tuple(islice(cycle(other.times_s), count)),
    )


def _answers(model: Model, asked: Asked) -> tuple[list[Answer], float]:
    outcomes = {request.request_id: (answer, seconds) for request, answer, seconds in ask(model, *asked)}
    in_order = [outcomes[request.request_id] for request in asked.requests]
    return [answer for answer, _ in in_order], sum(seconds for _, seconds in in_order)


Found = Sequence[tuple[list[Answer], float]]


def _pairs(planned: Found, others: Found) -> list[tuple[Answer, Answer]]:
    """Answers to the same question that both came."""
    both = [pair for (one, _), (other, _) in zip(planned, others, strict=True) for pair in zip(one, other, strict=True)]
    return [(one, other) for one, other in both if not one.error and not other.error]


def _differing(planned: Found, others: Found) -> Differing:
    pairs = _pairs(planned, others)
    changes = [_change(one, other) for one, other in pairs]
    return Differing(sum(change > ALIKE for change in changes), len(pairs), max(changes, default=0.0))


def _change(one: Answer, other: Answer) -> float:
    if one.scores:
        return max(abs(before - after) for before, after in zip(one.scores, other.scores, strict=True))
    return float(one.text != other.text)


def _tokens_a_frame(planned: Found, blind: Found) -> float:
    pairs = [pair for pair in _pairs(planned, blind) if pair[0].frames_shown]
    return mean((one.tokens_in - other.tokens_in) / one.frames_shown for one, other in pairs) if pairs else 0.0


def _readable(request: Request, answer: Answer) -> float:
    if answer.scores:
        return sum(answer.scores)
    return float(
        bool(read_by_table(answer.text, request.options, ()).value if request.options else answer.text.strip())
    )

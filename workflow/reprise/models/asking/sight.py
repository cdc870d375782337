"""Whether a model sees its clips: the same questions with the plan's frames, without, with others, and in reverse."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from statistics import mean

from reprise.models.asking.outcomes import Model, Outcome, ask
from reprise.models.base import Answer, Clip, Due
from reprise.reading.robust import read_robust

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


def sight_of(model: Model, asked: Sequence[Due]) -> Sight:
    """Ask all questions in every way; at least two clips, all of them with frames. Another clip shows as many frames:
    a model which does not see them cannot tell the two apart."""
    others = [*asked[1:], *asked[:1]]
    views = {
        PLAN: list(asked),
        BLIND: [one._replace(clip=replace(one.clip, path=None, indices=(), times_s=())) for one in asked],
        ANOTHER: [one._replace(clip=_filled(one.clip, other.clip)) for one, other in zip(asked, others, strict=True)],
        REVERSED: [one._replace(clip=replace(one.clip, indices=one.clip.indices[::-1])) for one in asked],
    }
    by_clip = {view: [_outcomes(model, one) for one in clips] for view, clips in views.items()}
    found = {view: [outcome for outcomes in clips for outcome in outcomes] for view, clips in by_clip.items()}
    planned = found.pop(PLAN)
    pairs = {
        view: [
            (one.answer, other.answer)
            for one, other in zip(planned, outcomes, strict=True)
            if not one.answer.error and not other.answer.error
        ]
        for view, outcomes in found.items()
    }
    tokens = [(one.tokens_in - other.tokens_in) / one.frames_shown for one, other in pairs[BLIND] if one.frames_shown]
    fine = [_readable(outcome) for outcome in planned if not outcome.answer.error]
    failures = [outcome.answer for outcome in planned if outcome.answer.error]
    return Sight(
        clips=len(asked),
        frames=tuple(max((one.answer.frames_shown for one in clip), default=0) for clip in by_clip[PLAN]),
        tokens_a_frame=mean(tokens) if tokens else 0.0,
        differing={view: _differing(both) for view, both in pairs.items()},
        readable=mean(fine) if fine else 0.0,
        failures=Counter(answer.error for answer in failures),
        message=failures[0].message if failures else "",
        seconds=sum(outcome.seconds for outcome in planned) / max(1, len(planned)),
        questions=len(planned),
    )


def _filled(clip: Clip, other: Clip) -> Clip:
    count = len(clip.indices)
    return replace(
        other,
        clip_id=clip.clip_id,
        indices=tuple(islice(cycle(other.indices), count)),
        times_s=tuple(islice(cycle(other.times_s), count)),
    )


def _outcomes(model: Model, asked: Due) -> list[Outcome]:
    found = {outcome.request.request_id: outcome for outcome in ask(model, asked.clip, asked.requests)}
    return [found[request.request_id] for request in asked.requests]


def _differing(pairs: Sequence[tuple[Answer, Answer]]) -> Differing:
    changes = [
        max(abs(before - after) for before, after in zip(one.scores, other.scores, strict=True))
        if one.scores
        else float(one.text != other.text)
        for one, other in pairs
    ]
    return Differing(sum(change > ALIKE for change in changes), len(pairs), max(changes, default=0.0))


def _readable(outcome: Outcome) -> float:
    answer, options = outcome.answer, outcome.request.options
    if answer.scores:
        return sum(answer.scores)
    return float(bool(read_robust(answer.text, options, ()).value if options else answer.text.strip()))

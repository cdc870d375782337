"""The vision check: it repeats a model's requests without frames, with another clip's frames and in reverse order.

A model that uses the video answers some of these requests differently.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from statistics import mean

from reprise.models.asking.outcomes import Model, Outcome, ask
from reprise.models.base import Answer, Clip, Due
from reprise.reading.robust import read_robust

PLAN, BLIND, ANOTHER, REVERSED = "the plan's frames", "no frames", "another clip's frames", "the frames in reverse"
# The same input gives the same probabilities up to rounding errors.
ALIKE = 1e-6


@dataclass(frozen=True)
class Differing:
    """The answers of one ablation that differ from those with the planned frames."""

    count: int
    """number of differing answers"""
    of: int
    """number of answers that can be compared"""
    most: float
    """largest difference of a probability; 1 for a differing text"""


@dataclass(frozen=True)
class Sight:
    """The result of the vision check of one model."""

    clips: int
    frames: tuple[int, ...]
    """number of frames of each clip that reached the model"""
    tokens_a_frame: float
    differing: dict[str, Differing]
    readable: float
    """share of the answers that name an option; for scores, the mean probability of all options together"""
    failures: Counter[str]
    message: str
    """message of the first failure"""
    seconds: float
    """mean time of a request"""
    questions: int

    @property
    def is_blind(self) -> bool:
        """Return whether another clip's frames never change an answer."""
        return self.differing[ANOTHER].of > 0 and self.differing[ANOTHER].count == 0


def sight_of(model: Model, batches: Sequence[Due]) -> Sight:
    """Run the vision check on the requests about at least two clips, all of them with frames.

    The frames of another clip are as many as the clip's own, so that a model that ignores their content receives the
    same input.
    """
    mismatched = [*batches[1:], *batches[:1]]
    ablations = {
        PLAN: list(batches),
        BLIND: [batch._replace(clip=replace(batch.clip, path=None, indices=(), times_s=())) for batch in batches],
        ANOTHER: [
            batch._replace(clip=_substitute_frames(batch.clip, mismatch.clip))
            for batch, mismatch in zip(batches, mismatched, strict=True)
        ],
        REVERSED: [batch._replace(clip=replace(batch.clip, indices=batch.clip.indices[::-1])) for batch in batches],
    }
    by_clip = {name: [_outcomes(model, batch) for batch in variants] for name, variants in ablations.items()}
    by_ablation = {name: [outcome for outcomes in clips for outcome in outcomes] for name, clips in by_clip.items()}
    planned = by_ablation.pop(PLAN)
    pairs = {
        name: [
            (baseline.answer, ablated.answer)
            for baseline, ablated in zip(planned, outcomes, strict=True)
            if not baseline.answer.error and not ablated.answer.error
        ]
        for name, outcomes in by_ablation.items()
    }
    tokens_per_frame = [
        (baseline.tokens_in - blind.tokens_in) / baseline.frames_shown
        for baseline, blind in pairs[BLIND]
        if baseline.frames_shown
    ]
    readable = [_readable_share(outcome) for outcome in planned if not outcome.answer.error]
    failures = [outcome.answer for outcome in planned if outcome.answer.error]
    return Sight(
        clips=len(batches),
        frames=tuple(max((outcome.answer.frames_shown for outcome in clip), default=0) for clip in by_clip[PLAN]),
        tokens_a_frame=mean(tokens_per_frame) if tokens_per_frame else 0.0,
        differing={name: _compare(answers) for name, answers in pairs.items()},
        readable=mean(readable) if readable else 0.0,
        failures=Counter(answer.error for answer in failures),
        message=failures[0].message if failures else "",
        seconds=sum(outcome.seconds for outcome in planned) / max(1, len(planned)),
        questions=len(planned),
    )


def _substitute_frames(clip: Clip, source: Clip) -> Clip:
    """Return a clip with as many frames of the source clip as it has itself, repeated where the source has fewer."""
    count = len(clip.indices)
    return replace(
        source,
        clip_id=clip.clip_id,
        indices=tuple(islice(cycle(source.indices), count)),
        times_s=tuple(islice(cycle(source.times_s), count)),
    )


def _outcomes(model: Model, batch: Due) -> list[Outcome]:
    by_request = {outcome.request.request_id: outcome for outcome in ask(model, batch.clip, batch.requests)}
    return [by_request[request.request_id] for request in batch.requests]


def _compare(pairs: Sequence[tuple[Answer, Answer]]) -> Differing:
    changes = [
        max(
            abs(planned_score - ablated_score)
            for planned_score, ablated_score in zip(baseline.scores, ablated.scores, strict=True)
        )
        if baseline.scores
        else float(baseline.text != ablated.text)
        for baseline, ablated in pairs
    ]
    return Differing(sum(change > ALIKE for change in changes), len(pairs), max(changes, default=0.0))


def _readable_share(outcome: Outcome) -> float:
    """Return the probability of all options together, or for a text 1 if it names an option and else 0."""
    answer, options = outcome.answer, outcome.request.options
    if answer.scores:
        return sum(answer.scores)
    return float(bool(read_robust(answer.text, options, ()).value if options else answer.text.strip()))

"""The vision check: it repeats a model's requests without frames, with another clip's frames and in reverse order.

A model that uses the video answers some of these requests differently.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from statistics import mean

from reprise.extraction.robust import extract_robust
from reprise.models.base import Answer, ClipFrames, PendingRequests
from reprise.models.inference.outcomes import Outcome, QueryableModel, run_requests

PLANNED_FRAMES, TEXT_ONLY, MISMATCHED_CLIP, REVERSED_FRAMES = (
    "the plan's frames",
    "no frames",
    "another clip's frames",
    "the frames in reverse order",
)
# The same input gives the same probabilities up to rounding errors.
CHANGE_TOLERANCE = 1e-6


@dataclass(frozen=True)
class AnswerChanges:
    """The answers of one ablation that differ from those with the planned frames."""

    count: int
    """number of differing answers"""
    total: int
    """number of answers that can be compared"""
    max_change: float
    """largest difference of a probability; 1 for a differing text"""


@dataclass(frozen=True)
class VisionCheck:
    """The result of the vision check of one model."""

    clip_count: int
    frame_counts: tuple[int, ...]
    """number of frames of each clip that reached the model"""
    tokens_per_frame: float
    changes: dict[str, AnswerChanges]
    option_share: float
    """share of the answers that name an option; for scores, the mean probability of all options together"""
    failures: Counter[str]
    message: str
    """message of the first failure"""
    mean_seconds: float
    """mean time of a request"""
    request_count: int

    @property
    def is_video_ignored(self) -> bool:
        """Return whether another clip's frames never change an answer."""
        return self.changes[MISMATCHED_CLIP].total > 0 and self.changes[MISMATCHED_CLIP].count == 0


def run_vision_check(model: QueryableModel, batches: Sequence[PendingRequests]) -> VisionCheck:
    """Run the vision check on the requests about at least two clips, all of them with frames.

    The frames of another clip are as many as the clip's own, so that a model that ignores their content receives the
    same input.
    """
    mismatched = [*batches[1:], *batches[:1]]
    ablations = {
        PLANNED_FRAMES: list(batches),
        TEXT_ONLY: [batch._replace(clip=replace(batch.clip, path=None, indices=(), times_s=())) for batch in batches],
        MISMATCHED_CLIP: [
            batch._replace(clip=_substitute_frames(batch.clip, mismatch.clip))
            for batch, mismatch in zip(batches, mismatched, strict=True)
        ],
        REVERSED_FRAMES: [
            batch._replace(clip=replace(batch.clip, indices=batch.clip.indices[::-1])) for batch in batches
        ],
    }
    by_clip = {name: [_outcomes(model, batch) for batch in variants] for name, variants in ablations.items()}
    by_ablation = {name: [outcome for outcomes in clips for outcome in outcomes] for name, clips in by_clip.items()}
    planned = by_ablation.pop(PLANNED_FRAMES)
    pairs = {
        name: [
            (planned_outcome.answer, ablated.answer)
            for planned_outcome, ablated in zip(planned, outcomes, strict=True)
            if not planned_outcome.answer.error and not ablated.answer.error
        ]
        for name, outcomes in by_ablation.items()
    }
    tokens_per_frame = [
        (planned_answer.tokens_in - text_only.tokens_in) / planned_answer.frames_shown
        for planned_answer, text_only in pairs[TEXT_ONLY]
        if planned_answer.frames_shown
    ]
    readable = [_readable_share(outcome) for outcome in planned if not outcome.answer.error]
    failures = [outcome.answer for outcome in planned if outcome.answer.error]
    return VisionCheck(
        clip_count=len(batches),
        frame_counts=tuple(
            max((outcome.answer.frames_shown for outcome in clip), default=0) for clip in by_clip[PLANNED_FRAMES]
        ),
        tokens_per_frame=mean(tokens_per_frame) if tokens_per_frame else 0.0,
        changes={name: _compare(answers) for name, answers in pairs.items()},
        option_share=mean(readable) if readable else 0.0,
        failures=Counter(answer.error for answer in failures),
        message=failures[0].message if failures else "",
        mean_seconds=sum(outcome.seconds for outcome in planned) / max(1, len(planned)),
        request_count=len(planned),
    )


def _substitute_frames(clip: ClipFrames, source: ClipFrames) -> ClipFrames:
    """Return a clip with as many frames of the source clip as it has itself, repeated where the source has fewer."""
    count = len(clip.indices)
    return replace(
        source,
        clip_id=clip.clip_id,
        indices=tuple(islice(cycle(source.indices), count)),
        times_s=tuple(islice(cycle(source.times_s), count)),
    )


def _outcomes(model: QueryableModel, batch: PendingRequests) -> list[Outcome]:
    by_request = {outcome.request.request_id: outcome for outcome in run_requests(model, batch.clip, batch.requests)}
    return [by_request[request.request_id] for request in batch.requests]


def _compare(pairs: Sequence[tuple[Answer, Answer]]) -> AnswerChanges:
    changes = [
        max(
            abs(planned_score - ablated_score)
            for planned_score, ablated_score in zip(planned.scores, ablated.scores, strict=True)
        )
        if planned.scores
        else float(planned.text != ablated.text)
        for planned, ablated in pairs
    ]
    return AnswerChanges(sum(change > CHANGE_TOLERANCE for change in changes), len(pairs), max(changes, default=0.0))


def _readable_share(outcome: Outcome) -> float:
    """Return the probability of all options together, or for a text 1 if it names an option and else 0."""
    answer, options = outcome.answer, outcome.request.options
    if answer.scores:
        return sum(answer.scores)
    return float(bool(extract_robust(answer.text, options, ()).value if options else answer.text.strip()))

"""Check that a model uses the video: repeat requests without frames, with mismatched frames and in reverse order.

A model that uses the video changes some of its answers.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, cycle, islice
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
# Rounding errors change probabilities by less than this, so smaller differences are no change.
CHANGE_TOLERANCE = 1e-6


@dataclass(frozen=True)
class AnswerChanges:
    """The differences between answers under one ablation and answers with the planned frames."""

    changed_count: int
    """number of differing answers"""
    compared_count: int
    """number of answers that can be compared"""
    max_change: float
    """largest difference of a probability; 1 if a text differs"""


@dataclass(frozen=True)
class VisionCheck:
    """The result of the vision check of one model."""

    clip_count: int
    frame_counts: tuple[int, ...]
    """number of frames of each clip that reached the model"""
    tokens_per_frame: float
    """mean number of prompt tokens per frame; 0 if unknown"""
    changes: dict[str, AnswerChanges]
    """changes by ablation: TEXT_ONLY, MISMATCHED_CLIP and REVERSED_FRAMES"""
    option_share: float
    """share of the answers that name an option; for scores, the mean probability of all options together"""
    failures: Counter[str]
    first_failure_message: str
    """message of the first failure"""
    mean_seconds: float
    """mean time of a request"""
    request_count: int

    @property
    def is_video_ignored(self) -> bool:
        """Return whether no answer changes with another clip's frames."""
        return self.changes[MISMATCHED_CLIP].compared_count > 0 and self.changes[MISMATCHED_CLIP].changed_count == 0


def run_vision_check(model: QueryableModel, batches: Sequence[PendingRequests]) -> VisionCheck:
    """Run the vision check on requests about at least two clips with frames.

    A mismatched clip has as many frames as the clip itself. A changed answer therefore shows that the model uses the
    content of the frames, not only their number.
    """
    mismatched_batches = [*batches[1:], *batches[:1]]
    batches_by_condition = {
        PLANNED_FRAMES: list(batches),
        TEXT_ONLY: [batch._replace(clip=replace(batch.clip, path=None, indices=(), times_s=())) for batch in batches],
        MISMATCHED_CLIP: [
            batch._replace(clip=_substitute_frames(batch.clip, mismatch.clip))
            for batch, mismatch in zip(batches, mismatched_batches, strict=True)
        ],
        REVERSED_FRAMES: [
            batch._replace(clip=replace(batch.clip, indices=batch.clip.indices[::-1])) for batch in batches
        ],
    }
    clip_outcomes_by_condition = {
        name: [_collect_outcomes(model, batch) for batch in condition_batches]
        for name, condition_batches in batches_by_condition.items()
    }
    outcomes_by_condition = {
        name: list(chain.from_iterable(clip_outcomes)) for name, clip_outcomes in clip_outcomes_by_condition.items()
    }
    planned = outcomes_by_condition.pop(PLANNED_FRAMES)
    # Ablation -> pairs of answers with the planned frames and under the ablation, without failures.
    answer_pairs = {
        name: [
            (planned_outcome.answer, ablated.answer)
            for planned_outcome, ablated in zip(planned, outcomes, strict=True)
            if not planned_outcome.answer.error and not ablated.answer.error
        ]
        for name, outcomes in outcomes_by_condition.items()
    }
    tokens_per_frame = [
        (planned_answer.tokens_in - text_only.tokens_in) / planned_answer.frames_shown
        for planned_answer, text_only in answer_pairs[TEXT_ONLY]
        if planned_answer.frames_shown
    ]
    option_shares = [_compute_option_share(outcome) for outcome in planned if not outcome.answer.error]
    failures = [outcome.answer for outcome in planned if outcome.answer.error]
    return VisionCheck(
        clip_count=len(batches),
        frame_counts=tuple(
            max((outcome.answer.frames_shown for outcome in clip_outcomes), default=0)
            for clip_outcomes in clip_outcomes_by_condition[PLANNED_FRAMES]
        ),
        tokens_per_frame=mean(tokens_per_frame) if tokens_per_frame else 0.0,
        changes={name: _count_changes(pairs) for name, pairs in answer_pairs.items()},
        option_share=mean(option_shares) if option_shares else 0.0,
        failures=Counter(answer.error for answer in failures),
        first_failure_message=failures[0].message if failures else "",
        mean_seconds=sum(outcome.seconds for outcome in planned) / max(1, len(planned)),
        request_count=len(planned),
    )


def _substitute_frames(clip: ClipFrames, source: ClipFrames) -> ClipFrames:
    """Return a clip with the frames of the source clip, repeated or cut to the clip's own number of frames."""
    count = len(clip.indices)
    return replace(
        source,
        clip_id=clip.clip_id,
        indices=tuple(islice(cycle(source.indices), count)),
        times_s=tuple(islice(cycle(source.times_s), count)),
    )


def _collect_outcomes(model: QueryableModel, batch: PendingRequests) -> list[Outcome]:
    """Return the last outcome of each request, in the order of the requests."""
    outcome_by_request = {
        outcome.request.request_id: outcome for outcome in run_requests(model, batch.clip, batch.requests)
    }
    return [outcome_by_request[request.request_id] for request in batch.requests]


def _count_changes(pairs: Sequence[tuple[Answer, Answer]]) -> AnswerChanges:
    """Compare pairs of answers with the planned and with ablated frames."""
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


def _compute_option_share(outcome: Outcome) -> float:
    """Return the probability of all options together, or for a text 1 if it names an option and else 0."""
    answer, options = outcome.answer, outcome.request.options
    if answer.scores:
        return sum(answer.scores)
    return float(bool(extract_robust(answer.text, options, ()).value if options else answer.text.strip()))

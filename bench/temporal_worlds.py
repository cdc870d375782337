"""Simulate models that answer from the frames they are shown, to test the verdicts of temporal profiles.

A model receives frames, never the name of the condition. Each has known abilities, so each verdict is right or wrong.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from reprise.media.ablations import MISMATCHED, MISMATCHED_KINDS, NONE, SHUFFLED, place_frames
from reprise.stats.intervals import FloatArray
from reprise.temporal.conditions import BEST_FRAMES, CONDITIONS, PLANNED
from reprise.temporal.rules import (
    ConditionAnswers,
    Rule,
    RuleResult,
    Samples,
    apply_rules,
    compare_conditions,
)
from reprise.temporal.threshold import OptionRates, estimate_rates

Frames = NDArray[np.int64]
"""One row per clip: the planned number of each shown frame; those of a mismatched clip are `FOREIGN` larger."""
Flags = NDArray[np.bool_]

FRAME_COUNT = 8  # Planned frames of a clip.
FOREIGN = 1000
NOISE = 0.1
"""probability that a model answers at random although its evidence decides the question"""
UNSURE = 0.6
"""weight of pure chance in the confidence of the model that is often unsure"""
SENSITIVITY = 2.0
"""distance of the evidence for Yes between questions with the answers Yes and No, in standard deviations"""
READER_SHARE = 0.75
"""share of the questions that a model which reads the text answers right while frames do not confuse it"""
LEVEL = 0.95
LOSS_CLIPS = 200_000
"""number of clips with which true losses are measured"""
SHUFFLES = 512  # shuffled orders per simulation; clips draw from them


class Answers(NamedTuple):
    """The answers to one question per clip."""

    right: Flags
    refused: Flags | None = None
    confidences: FloatArray | None = None
    """how sure the model is of each answer; None if it is equally sure of all"""
    is_in_words: bool = False
    """whether the model answers Yes or No, so that its score depends on how readily it says Yes"""


@dataclass(frozen=True)
class World:
    """What the clips of a simulation show: where the events are that a question is about."""

    first_event: NDArray[np.int64]
    second_event: NDArray[np.int64]
    """a later frame, at least two frames after the first event"""
    luck: FloatArray
    """one number from 0 to 1 per clip; the same under every condition, as for a deterministic model that guesses"""
    is_yes_right: Flags
    """whether Yes is the right answer"""
    evidence: FloatArray
    """how much the text of each question speaks for Yes: standard normal, before it is moved towards the truth"""


Model = Callable[[Frames, World, np.random.Generator], Answers]
"""Shown frames, the clips' events and a random generator -> the answers."""


def make_world(clips: int, rng: np.random.Generator) -> World:
    """Draw the events of so many clips."""
    first = rng.integers(0, FRAME_COUNT - 2, clips)
    second = np.array([rng.integers(event + 2, FRAME_COUNT) for event in first])
    is_yes_right = rng.random(clips) < 0.5
    return World(first, second, rng.random(clips), is_yes_right, rng.standard_normal(clips))


def show(condition: str, clips: int, shuffled_orders: Frames, rng: np.random.Generator, position: int = 1) -> Frames:
    """Return the frames that each clip shows under a condition, as the workflow places them.

    `position` is the frame that a condition of the single-frame probe shows.
    """
    if condition == NONE:
        return np.empty((clips, 0), dtype=np.int64)
    if condition == SHUFFLED:
        return shuffled_orders[rng.integers(len(shuffled_orders), size=clips)]
    if condition in (PLANNED, MISMATCHED):
        order = list(range(FRAME_COUNT))
    else:
        transform = {"show": condition, "position": position}
        order = [frame for _, frame in place_frames(transform, range(FRAME_COUNT), "clip", None)[0]]
    return np.tile(np.array(order) + FOREIGN * (condition in MISMATCHED_KINDS), (clips, 1))


def draw_shuffles() -> Frames:
    """Return `SHUFFLES` shuffled orders of a clip's frames, as the workflow draws them."""
    placements = (
        place_frames({"show": SHUFFLED, "seed": 0}, range(FRAME_COUNT), f"clip{number}", None)[0]
        for number in range(SHUFFLES)
    )
    return np.array([[frame for _, frame in placement] for placement in placements])


# Models


def _answer(decided: Flags, world: World, rng: np.random.Generator, wrong: Flags | None = None) -> Answers:
    """Answer right where the evidence decides, wrong where it misleads, and else by a guess that frames do not change.

    A share `NOISE` of the answers is a fresh guess.
    """
    right = np.where(decided, True, world.luck < 0.5)
    if wrong is not None:
        right = np.where(wrong, False, right)
    noisy = rng.random(len(right)) < NOISE
    is_sure = (decided if wrong is None else decided | wrong) & ~noisy
    confidences = rng.random(len(right)) * 0.6 + 0.4 * is_sure
    return Answers(np.where(noisy, rng.random(len(right)) < 0.5, right), confidences=confidences)


def _has(frames: Frames, event: NDArray[np.int64]) -> Flags:
    """Return whether each clip shows the frame of its event."""
    return (frames == event[:, np.newaxis]).any(axis=1)


def _jumps(frames: Frames) -> Flags:
    """Return whether a clip's frames are neither all repeated nor in steps of one."""
    return (np.abs(np.diff(frames, axis=1)) > 1).any(axis=1)


def _position(frames: Frames, event: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where an event is shown, counted from 0; -1 if it is not shown."""
    matches = frames == event[:, np.newaxis]
    return np.where(matches.any(axis=1), matches.argmax(axis=1), -1) if frames.shape[1] else np.full(len(event), -1)


def last_moment(frames: Frames, world: World, rng: np.random.Generator) -> Answers:
    """Look only at the last position, whose planned frame decides the question."""
    decided = frames[:, -1] == FRAME_COUNT - 1 if frames.shape[1] else np.zeros(len(frames), dtype=bool)
    return _answer(decided, world, rng)


def fixed_position(frames: Frames, world: World, rng: np.random.Generator) -> Answers:
    """Look only at the third position, whose planned frame decides the question."""
    decided = frames[:, 2] == 2 if frames.shape[1] > 2 else np.zeros(len(frames), dtype=bool)
    return _answer(decided, world, rng)


def middle_positions(frames: Frames, world: World, rng: np.random.Generator) -> Answers:
    """Look only at the two middle positions, whose frames decide the question in either order."""
    if frames.shape[1] < FRAME_COUNT:
        return text_only(frames, world, rng)
    middle = np.sort(frames[:, FRAME_COUNT // 2 - 1 : FRAME_COUNT // 2 + 1], axis=1)
    return _answer((middle == [FRAME_COUNT // 2 - 1, FRAME_COUNT // 2]).all(axis=1), world, rng)


def last_two_positions(frames: Frames, world: World, rng: np.random.Generator) -> Answers:
    """Look only at the last two positions, whose frames decide the question in either order."""
    if frames.shape[1] < FRAME_COUNT:
        return text_only(frames, world, rng)
    last = np.sort(frames[:, -2:], axis=1)
    return _answer((last == [FRAME_COUNT - 2, FRAME_COUNT - 1]).all(axis=1), world, rng)


def one_informative_frame(frames: Frames, world: World, rng: np.random.Generator) -> Answers:
    """Answer right if the frame of the first event is shown, at any position."""
    return _answer(_has(frames, world.first_event), world, rng)


def often_unsure(frames: Frames, world: World, rng: np.random.Generator) -> Answers:
    """Answer as `one_informative_frame`, with a confidence that finds about 60 % of what single frames show."""
    answers = one_informative_frame(frames, world, rng)
    assert answers.confidences is not None
    is_sure = answers.confidences > 0.6
    return answers._replace(confidences=UNSURE * rng.random(len(frames)) + (1 - UNSURE) * is_sure)


def equally_sure(frames: Frames, world: World, rng: np.random.Generator) -> Answers:
    """Answer as `one_informative_frame`, equally sure of all answers."""
    return one_informative_frame(frames, world, rng)._replace(confidences=None)


def less_sure(frames: Frames, world: World, rng: np.random.Generator) -> Answers:
    """Answer as `one_informative_frame`, but with a confidence that misleads the choice of the best frame."""
    answers = one_informative_frame(frames, world, rng)
    assert answers.confidences is not None
    return answers._replace(confidences=1 - answers.confidences)


def bag_of_frames(frames: Frames, world: World, rng: np.random.Generator) -> Answers:
    """Answer right if the frames of both events are shown, at any positions."""
    return _answer(_has(frames, world.first_event) & _has(frames, world.second_event), world, rng)


def bag_that_fails_on_jumps(frames: Frames, world: World, rng: np.random.Generator) -> Answers:
    """Answer as `bag_of_frames`, but guess if successive frames are far apart."""
    decided = _has(frames, world.first_event) & _has(frames, world.second_event) & ~_jumps(frames)
    return _answer(decided, world, rng)


def bag_that_fails_on_unusual_input(frames: Frames, world: World, rng: np.random.Generator) -> Answers:
    """Answer as `bag_of_frames`, but guess unless the frames follow each other forward."""
    is_usual = (np.diff(frames, axis=1) == 1).all(axis=1) if frames.shape[1] == FRAME_COUNT else np.False_
    return _answer(_has(frames, world.first_event) & _has(frames, world.second_event) & is_usual, world, rng)


def direction_of_motion(frames: Frames, world: World, rng: np.random.Generator) -> Answers:
    """Answer right if most steps between the clip's own frames go forward, and wrong if most go back."""
    is_own = frames < FOREIGN
    steps = np.where(is_own[:, 1:] & is_own[:, :-1], np.sign(np.diff(frames, axis=1)), 0).sum(axis=1)
    return _answer(steps > 2, world, rng, steps < -2)


def order_of_events(frames: Frames, world: World, rng: np.random.Generator) -> Answers:
    """Answer right if both events are shown in their order, and wrong if they are shown in the opposite order."""
    first, second = _position(frames, world.first_event), _position(frames, world.second_event)
    has_both = (first >= 0) & (second >= 0)
    return _answer(has_both & (first < second), world, rng, has_both & (first > second))


def text_only(frames: Frames, world: World, rng: np.random.Generator) -> Answers:
    """Guess from the text, whatever frames are shown."""
    return _answer(np.zeros(len(frames), dtype=bool), world, rng)


def text_only_that_refuses(frames: Frames, world: World, rng: np.random.Generator) -> Answers:
    """Guess from the text, but refuse to answer without any frame."""
    answers = text_only(frames, world, rng)
    refused = np.full(len(frames), frames.shape[1] == 0)
    return answers._replace(right=answers.right & ~refused, refused=refused)


def refusing_text_reader(frames: Frames, world: World, rng: np.random.Generator) -> Answers:
    """Answer from the text, but refuse without any frame, and guess if the frames do not follow each other forward."""
    is_usual = frames.shape[1] == FRAME_COUNT and (np.diff(frames, axis=1) == 1).all()
    answers = _answer((world.luck < READER_SHARE) & is_usual, world, rng)
    refused = np.full(len(frames), frames.shape[1] == 0)
    return answers._replace(right=answers.right & ~refused, refused=refused)


def text_only_with_some_refusals(frames: Frames, world: World, rng: np.random.Generator) -> Answers:
    """Guess from the text, and refuse 4 % of the questions unless all frames are shown in order."""
    answers = text_only(frames, world, rng)
    refused = np.zeros(len(frames), dtype=bool) if _is_planned(frames) else rng.random(len(frames)) < 0.04
    return answers._replace(right=answers.right & ~refused, refused=refused)


@dataclass(frozen=True)
class Threshold:
    """How a model answers Yes or No from the text. Its threshold for Yes moves unless all frames are shown in order."""

    move: float
    """in standard deviations of the evidence of questions whose answer is No"""
    ratio: float = 1.0
    """standard deviation of the evidence of questions whose answer is Yes, divided by that of the others"""
    planned: float = 0.0
    """threshold with the planned frames"""
    is_worse_without_frames: bool = False
    """whether half of the answers are guesses without frames"""


THRESHOLDS = {
    "little": Threshold(0.25),
    "much": Threshold(0.6),
    "biased before": Threshold(0.6, planned=0.5),
    "evidence for Yes less varied": Threshold(0.6, ratio=0.7),
    "evidence for Yes more varied": Threshold(-0.6, ratio=1.4),
    "worse without frames": Threshold(0.6, is_worse_without_frames=True),
}
"""name of a model that answers from the text -> how its threshold for Yes moves"""


def text_only_with_moved_threshold(
    threshold: Threshold, frames: Frames, world: World, rng: np.random.Generator
) -> Answers:
    """Answer Yes or No from the text."""
    scale = np.where(world.is_yes_right, threshold.ratio, 1.0)
    evidence = scale * world.evidence + SENSITIVITY * (world.is_yes_right - 0.5)
    says_yes = evidence > threshold.planned + (0.0 if _is_planned(frames) else threshold.move)
    if threshold.is_worse_without_frames and not frames.shape[1]:
        says_yes = np.where(rng.random(len(frames)) < 0.5, says_yes, rng.random(len(frames)) < 0.5)
    return Answers(says_yes == world.is_yes_right, is_in_words=True)


def in_words(answer: Model, frames: Frames, world: World, rng: np.random.Generator) -> Answers:
    """Answer as another model, but by Yes or No."""
    return answer(frames, world, rng)._replace(is_in_words=True)


def _is_planned(frames: Frames) -> bool:
    """Return whether all frames are shown in order."""
    return bool(frames.shape[1] == FRAME_COUNT and (np.diff(frames, axis=1) == 1).all() and frames.max() < FOREIGN)


def coin_flip(frames: Frames, world: World, rng: np.random.Generator) -> Answers:
    """Guess anew under each condition."""
    return Answers(rng.random(len(frames)) < 0.5)


@dataclass(frozen=True)
class SimulatedModel:
    """A model with the claims that are true of it; all other claims are false."""

    title: str
    answer: Model
    true_claims: frozenset[Rule]


def _model(title: str, answer: Model, *true_claims: Rule) -> SimulatedModel:
    return SimulatedModel(title, answer, frozenset(true_claims))


BAG = (Rule.VIDEO, Rule.SINGLE_FRAMES, Rule.SEVERAL_FRAMES)  # Claims that are true of models that need two frames.
MODELS = (
    _model("last moment only", last_moment, Rule.VIDEO, Rule.SHUFFLING),
    _model("one position only", fixed_position, Rule.VIDEO, Rule.SINGLE_FRAMES, Rule.SHUFFLING, Rule.ORDER),
    _model("two middle positions, in any order", middle_positions, *BAG, Rule.SHUFFLING),
    _model("last two positions, in any order", last_two_positions, *Rule),
    _model("one informative frame anywhere", one_informative_frame, Rule.VIDEO, Rule.SINGLE_FRAMES),
    _model("one informative frame, often unsure", often_unsure, Rule.VIDEO, Rule.SINGLE_FRAMES),
    _model("one informative frame, equally sure of all", equally_sure, Rule.VIDEO, Rule.SINGLE_FRAMES),
    _model("one informative frame, less sure with it", less_sure, Rule.VIDEO, Rule.SINGLE_FRAMES),
    _model("bag of frames", bag_of_frames, *BAG),
    _model("bag that fails on jumps", bag_that_fails_on_jumps, *BAG, Rule.SHUFFLING),
    _model("bag that fails on unusual input", bag_that_fails_on_unusual_input, *Rule),
    _model("direction of motion", direction_of_motion, *Rule),
    _model("order of two distant events", order_of_events, *Rule),
    _model("order of two distant events, in words", partial(in_words, order_of_events), *Rule),
    _model("text only", text_only),
    _model("text only, refuses without frames", text_only_that_refuses),
    _model("text only, refuses without frames, confused by changed ones", refusing_text_reader),
    _model("text only, refuses 4 % of altered input", text_only_with_some_refusals),
    *(
        _model(f"text only, threshold moved: {name}", partial(text_only_with_moved_threshold, threshold))
        for name, threshold in THRESHOLDS.items()
    ),
    _model("coin flip", coin_flip),
)


def simulate_answers(
    model: Model, clips: int, shuffles: Frames, rng: np.random.Generator, used_share: float = 1.0
) -> dict[str, ConditionAnswers]:
    """Return a model's answers under every condition; it uses its ability on a share of the clips."""
    world, answers = make_world(clips, rng), {}
    is_able = rng.random(clips) < used_share

    def answer(condition: str, position: int = 1) -> ConditionAnswers:
        """Return the answers under one condition; clips on which the model is not able get a guess."""
        right, refused, confidences, is_in_words = model(show(condition, clips, shuffles, rng, position), world, rng)
        confidences = np.zeros(clips) if confidences is None else confidences
        if used_share < 1:
            guess = _answer(np.zeros(clips, dtype=bool), world, rng)
            assert guess.confidences is not None
            right, confidences = (
                np.where(is_able, right, guess.right),
                np.where(is_able, confidences, guess.confidences),
            )
        lost_share = 0.0 if refused is None else float(refused.mean())
        options = {"all": _count_options(right, world.is_yes_right)} if is_in_words else None
        return ConditionAnswers(right.astype(np.float64), lost_share, lost_share, options, confidences)

    for condition in CONDITIONS:
        answers[condition] = answer(condition)
    for condition, ablation in BEST_FRAMES.items():
        answers[condition] = _choose_best([answer(ablation, position) for position in range(1, FRAME_COUNT + 1)])
    return answers


def _count_options(right: Flags, is_yes_right: Flags) -> OptionRates:
    """Return how often the answers are Yes."""
    says_yes = right == is_yes_right
    counts = (is_yes_right, says_yes & is_yes_right, ~is_yes_right, says_yes & ~is_yes_right)
    return estimate_rates(*(int(count.sum()) for count in counts))


def _choose_best(frames: Sequence[ConditionAnswers]) -> ConditionAnswers:
    """Return each question's answer from the frame with the most confident one; of equal ones, the earliest frame."""
    confidences = np.array([frame.confidences for frame in frames])
    best, questions = confidences.argmax(axis=0), np.arange(confidences.shape[1])
    values = np.array([frame.values for frame in frames])[best, questions]
    lost_share = float(np.mean([frame.lost_share for frame in frames]))
    return ConditionAnswers(values, lost_share, lost_share, confidences=confidences.max(axis=0))


def simulate_profile(
    model: Model, clips: int, benchmarks: int, shuffles: Frames, rng: np.random.Generator, used_share: float = 1.0
) -> list[dict[Rule, RuleResult]]:
    """Return the verdicts on a model on several benchmarks of so many clips."""
    samples = Samples(np.full(clips, "all"), np.arange(clips).astype(str))
    comparisons = [
        compare_conditions(simulate_answers(model, clips, shuffles, rng, used_share), samples, LEVEL)
        for _ in range(benchmarks)
    ]
    return apply_rules(comparisons, LEVEL)


class Losses(NamedTuple):
    """A model's true losses under the ablations that show its clip's frames."""

    losses: dict[str, float]
    """condition -> planned score minus its score, from 0 to 1"""
    discordance: float
    """share of questions whose answers differ in being right, under the condition with the smallest loss"""


def measure_losses(model: Model, used_share: float, shuffles: Frames, rng: np.random.Generator) -> Losses:
    """Measure a model's losses on many clips, whose sampling error is small."""
    answers = simulate_answers(model, LOSS_CLIPS, shuffles, rng, used_share)
    planned = answers[PLANNED].values
    losses = {
        condition: float((planned - result.values).mean())
        for condition, result in answers.items()
        if condition not in (PLANNED, NONE, MISMATCHED)
    }
    weakest = min(losses, key=losses.__getitem__)
    return Losses(losses, float((planned != answers[weakest].values).mean()))

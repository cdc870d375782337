"""Chance levels by enumeration: every outcome of a guessing model is listed and the right ones are counted."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import prod
from typing import NamedTuple, TypeVar

Outcome = TypeVar("Outcome")


class PairChance(NamedTuple):
    """Chance of Vinoground's three scores on a counterfactual pair."""

    text: float
    video: float
    group: float


class Similarities(NamedTuple):
    """A pair's four similarities (any order of their ranks): caption and video of the same or the other half."""

    caption0_video0: int
    caption0_video1: int
    caption1_video0: int
    caption1_video1: int


class Answers(NamedTuple):
    """Whether each of a pair's four two-way questions is answered right."""

    caption_for_video0: bool
    caption_for_video1: bool
    video_for_caption0: bool
    video_for_caption1: bool


def chance_strict() -> float:
    """Strict entailment by random yes/no answers: yes to the right caption and no to the wrong one."""
    return share(list(product(["yes", "no"], repeat=2)), lambda answers: answers == ("yes", "no"))


def chance_classic() -> float:
    """Classic entailment by random continuous scores: the right caption scores higher than the wrong one."""
    return share(list(permutations(range(2))), lambda scores: scores[0] > scores[1])


def chance_all_right(options_per_question: Sequence[Sequence[int]]) -> float | None:
    """Share of videos all of whose questions are guessed right; for each video its questions' numbers of options."""
    if not options_per_question:
        return None
    return float(sum(map(chance_of_one_video, options_per_question), Fraction()) / len(options_per_question))


def chance_of_one_video(options: Sequence[int]) -> Fraction:
    """Chance of guessing all of one video's questions right."""
    if not options or min(options) < 1:
        raise ValueError(f"a video needs questions with at least one option each, got {list(options)}")
    return Fraction(1, prod(options))


def chance_all_above(pairs: Sequence[tuple[str, str]]) -> float:
    """Every pair's first text gets a larger random score than its second one; a text has one score for all its pairs.

    Any of the texts that are still compared is equally likely to have the largest score of them.
    """

    @cache
    def share_of(open_pairs: frozenset[tuple[str, str]]) -> Fraction:
        if not open_pairs:
            return Fraction(1)
        texts = {text for pair in open_pairs for text in pair}
        largest = texts - {second for _, second in open_pairs}
        rest = (share_of(frozenset(pair for pair in open_pairs if pair[0] != text)) for text in sorted(largest))
        return sum(rest, Fraction()) / len(texts)

    return float(share_of(frozenset(pairs)))


def chance_pair_similarities() -> PairChance:
    """Vinoground by four independent continuous similarities, as a contrastive model compares them."""
    outcomes = [Similarities(*ranks) for ranks in permutations(range(4))]
    return PairChance(
        share(outcomes, text_by_similarity),
        share(outcomes, video_by_similarity),
        share(outcomes, lambda pair: text_by_similarity(pair) and video_by_similarity(pair)),
    )


def chance_pair_answers() -> PairChance:
    """Vinoground by four independent random answers, as a model that is asked four two-way questions gives them."""
    outcomes = [Answers(*right) for right in product([True, False], repeat=4)]
    return PairChance(
        share(outcomes, lambda pair: pair.caption_for_video0 and pair.caption_for_video1),
        share(outcomes, lambda pair: pair.video_for_caption0 and pair.video_for_caption1),
        share(outcomes, all),
    )


def text_by_similarity(pair: Similarities) -> bool:
    """Each video is closer to its own caption than to the other."""
    return pair.caption0_video0 > pair.caption1_video0 and pair.caption1_video1 > pair.caption0_video1


def video_by_similarity(pair: Similarities) -> bool:
    """Each caption is closer to its own video than to the other."""
    return pair.caption0_video0 > pair.caption0_video1 and pair.caption1_video1 > pair.caption1_video0


def share(outcomes: Sequence[Outcome], right: Callable[[Outcome], bool]) -> float:
    """Share of equally likely outcomes that are right."""
    return float(Fraction(sum(map(right, outcomes)), len(outcomes)))

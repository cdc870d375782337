"""Compute chance levels by enumeration: list every outcome of a guessing model and count the right ones."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations
from math import prod


def chance_all_right(options_per_question: Sequence[Sequence[int]]) -> float | None:
    """Return the share of videos all of whose questions are guessed right.

    Args:
        options_per_question: For each video, the numbers of options of its questions.
    """
    shares = [Fraction(1, prod(options)) for options in options_per_question]
    return float(sum(shares) / len(shares)) if shares else None


def chance_all_above(pairs: Sequence[tuple[str, str]]) -> float:
    """Return the chance that every pair's first text gets a larger random score than its second.

    A text has one score for all its pairs, and no two scores are equal. Each of the texts in open pairs is equally
    likely to have the largest score. The text that has it must not be second in a pair; it decides the pairs in which
    it is first, and the remaining pairs stay open.
    """

    @cache
    def probability(open_pairs: frozenset[tuple[str, str]]) -> Fraction:
        if not open_pairs:
            return Fraction(1)
        texts = {text for pair in open_pairs for text in pair}
        possible_largest = texts - {second for _, second in open_pairs}
        terms = (
            probability(frozenset(pair for pair in open_pairs if pair[0] != text)) for text in sorted(possible_largest)
        )
        return sum(terms, Fraction()) / len(texts)

    return float(probability(frozenset(pairs)))


def chance_pair_similarities() -> dict[str, float]:
    """Return the chance levels of Vinoground's three scores for four independent random similarities.

    All orders of the similarities of two captions and two videos are enumerated. A text score needs each video closer
    to its own caption; a video score needs each caption closer to its own video.
    """
    text, video = [], []
    for caption0_video0, caption0_video1, caption1_video0, caption1_video1 in permutations(range(4)):
        text.append(caption0_video0 > caption1_video0 and caption1_video1 > caption0_video1)
        video.append(caption0_video0 > caption0_video1 and caption1_video1 > caption1_video0)
    group = [text_right and video_right for text_right, video_right in zip(text, video, strict=True)]
    scores = {"text": text, "video": video, "group": group}
    return {name: float(Fraction(sum(right), len(right))) for name, right in scores.items()}

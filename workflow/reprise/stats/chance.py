"""Chance levels by enumeration: every outcome of a guessing model is listed and the right ones are counted."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations
from math import prod


def chance_all_right(options_per_question: Sequence[Sequence[int]]) -> float | None:
    """Share of videos all of whose questions are guessed right; for each video its questions' numbers of options."""
    shares = [Fraction(1, prod(options)) for options in options_per_question]
    return float(sum(shares) / len(shares)) if shares else None


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


def chance_pair_similarities() -> dict[str, float]:
    """Vinoground's three scores by four independent similarities, as a contrastive model compares them.

    In every order of the similarities of both captions to both videos, those of the same half are compared with those
    of the other: a text score needs each video closer to its own caption, a video score each caption to its own video.
    """
    text, video = [], []
    for own0, caption0_video1, caption1_video0, own1 in permutations(range(4)):
        text.append(own0 > caption1_video0 and own1 > caption0_video1)
        video.append(own0 > caption0_video1 and own1 > caption1_video0)
    both = [one and other for one, other in zip(text, video, strict=True)]
    scores = {"text": text, "video": video, "group": both}
    return {name: float(Fraction(sum(right), len(right))) for name, right in scores.items()}

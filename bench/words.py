"""Sentences of made-up words. Imports nothing, so that a machine without the workflow's libraries can use them."""

from random import Random

SYLLABLES = [first + vowel for first in "bdfgklmnprst" for vowel in "aeiou"]
WORDS = [first + last for first in SYLLABLES for last in SYLLABLES[::5]]


def sentence(draw: Random, words: int) -> str:
    """Return a sentence of made-up words, common ones more often."""
    chosen = [WORDS[int(len(WORDS) * draw.random() ** 2)] for _ in range(words)]
    return f"{' '.join(chosen).capitalize()}."

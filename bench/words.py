"""Generate sentences of made-up words. Imports no library, so that it also runs without the workflow's environment."""

from random import Random

SYLLABLES = [first + vowel for first in "bdfgklmnprst" for vowel in "aeiou"]
WORDS = [first + last for first in SYLLABLES for last in SYLLABLES[::5]]


def sentence(random: Random, words: int) -> str:
    """Return a sentence of made-up words, in which common words occur more often."""
    # The square of a uniform random number is small more often than large, so early words are common.
    selection = [WORDS[int(len(WORDS) * random.random() ** 2)] for _ in range(words)]
    return f"{' '.join(selection).capitalize()}."

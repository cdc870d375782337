"""The ranges of TemporalBench's analyses; beside the taxonomy, so that annotations and requests do not hang on it."""

from reprise.benchmarks.analysing import Range

WORDS = (
    Range("words_to_20", 0, 20),
    Range("words_to_40", 20, 40),
    Range("words_to_60", 40, 60),
    Range("words_to_80", 60, 80),
    Range("words_above_80", 80),
)
"""questions by the number of words of the right caption"""

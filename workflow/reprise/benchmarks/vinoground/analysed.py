"""The ranges of Vinoground's analyses; beside the taxonomy, so that annotations and requests do not hang on it."""

from reprise.benchmarks.analysing import Range

LENGTHS = (
    Range("length_to_5", 0, 5),
    Range("length_to_10", 5, 10),
    Range("length_to_20", 10, 20),
    Range("length_above_20", 20),
)
"""pairs by the seconds of the longer of their videos"""
BLACK = (Range("black_to_10", -1, 0.1), Range("black_to_20", 0.1, 0.2), Range("black_above_20", 0.2))
"""pairs by the share of black frames, in percent, of the two videos joined"""
ANALYSED = tuple(one.group for one in (*LENGTHS, *BLACK))

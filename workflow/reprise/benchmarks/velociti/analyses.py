"""Groups of VELOCITI's analyses: facets of understanding, and kinds of negation."""

from reprise.benchmarks.analysing import Analyses
from reprise.benchmarks.velociti.analysed import FACETS

ANALYSES = Analyses(frozenset(FACETS))

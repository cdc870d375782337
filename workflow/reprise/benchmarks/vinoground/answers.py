"""Select Vinoground's answers for a judge, which extracts the chosen option from an answer's reasoning."""

from reprise.benchmarks.asking import answers_as_given

ANSWERS = {"questions": answers_as_given}

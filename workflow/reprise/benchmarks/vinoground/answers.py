"""Select Vinoground's answers for a judge, which extracts the chosen option from an answer's reasoning."""

from reprise.benchmarks.question_forms import select_all_answers

ANSWERS = {"questions": select_all_answers}

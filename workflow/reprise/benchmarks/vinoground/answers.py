"""What a judge is shown of Vinoground's answers, to say which option each comes to: the steps that lead to it."""

from reprise.benchmarks.asking import answers_as_given

ANSWERS = {"questions": answers_as_given}

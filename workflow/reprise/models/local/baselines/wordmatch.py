"""Rate answers without a model, by the words that an answer shares with the reference.

This judge makes tests possible where no language model can run. It ignores synonyms and negation, so its ratings are
not comparable with published ratings.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from reprise.core.errors import UserError
from reprise.models.base import Answer, ClipFrames, ModelSpec, Request
from reprise.models.settings import WordMatchSettings

WORD = re.compile(r"[a-z0-9]+")
STOP_WORDS = frozenset({"a", "an", "the"})
# The reference and the answer in the prompt of MMBench-Video's judge.
ANSWER_PAIR = re.compile(
    r"Groundtruth answer:(?P<reference>.*?)\nCandidate answer:(?P<candidate>.*)\nYour response:", re.DOTALL
)


class WordMatch:
    """Reply with the maximum rating times the overlap, rounded; the overlap is the F1 or the recall of the words."""

    def __init__(self, spec: ModelSpec) -> None:
        self._measure = WordMatchSettings.model_validate(spec.settings).measure

    def answers(self, clip: ClipFrames, requests: Sequence[Request]) -> Iterator[Answer]:
        for request in requests:
            texts = ANSWER_PAIR.search(request.prompt)
            if texts is None:
                raise UserError(
                    f"{request.request_id}: wordmatch needs a judge's prompt with the lines 'Groundtruth answer:' and "
                    "'Candidate answer:'. Use it as a judge with such a prompt."
                )
            overlap = compute_overlap(texts["reference"], texts["candidate"], self._measure)
            # The options of a rating are its values in ascending order; those of MMBench-Video are 0 to 3.
            max_rating = int(request.options[-1]) if request.options else 3
            yield Answer(text=str(int(max_rating * overlap + 0.5)))


def compute_overlap(reference: str, candidate: str, measure: str) -> float:
    """Return the overlap of two texts as F1 or recall of their words, without articles and punctuation."""
    reference_words, candidate_words = count_words(reference), count_words(candidate)
    common_count = (reference_words & candidate_words).total()
    if common_count == 0:
        return float(not reference_words and not candidate_words)
    recall, precision = common_count / reference_words.total(), common_count / candidate_words.total()
    return recall if measure == "recall" else 2 * recall * precision / (recall + precision)


def count_words(text: str) -> Counter[str]:
    """Count the words of a text, without articles."""
    return Counter(word for word in WORD.findall(text.lower()) if word not in STOP_WORDS)

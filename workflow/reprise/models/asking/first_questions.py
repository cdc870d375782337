"""The first questions of a run: what all of them show is found out before the others are asked."""

from collections.abc import Callable, Iterable
from statistics import mean

from reprise.core.errors import UserError
from reprise.media.errors import STATUSES as MEDIA_STATUSES
from reprise.models.adapters import ADAPTERS, SHARE
from reprise.models.asking.reasons import TRANSIENT, in_words
from reprise.models.base import Answer, Request
from reprise.models.keys import ModelRunKey, RunKey
from reprise.models.settings import HALF

# A model that has answered nothing yet is given up when this many questions, about two clips at least, fail alike.
FIRST_QUESTIONS = 8
ADVICE = {
    "out_of_memory": "Use a larger device, give the job more memory, or show the model fewer frames.",
    "beyond_context": "Show the model fewer frames, or smaller ones (`settings.max_pixels` in its file).",
}
AGAIN = "Run the same command again when the cause has passed."
CORRECT = "Correct the model's file or its adapter, then run the same command again."


class FirstFailures:
    """What became of them until one of them is answered."""

    def __init__(
        self,
        run: str,
        *,
        is_over: bool,
        answers_elsewhere: Callable[[], int] = int,
        is_piece: bool = False,
    ) -> None:
        """`answers_elsewhere` counts those that other jobs got from the model by now."""
        self._run = run
        self._answers_elsewhere = answers_elsewhere
        self._is_piece = is_piece
        self._failed: list[tuple[str, Answer]] = []
        self.is_over = is_over

    def note(self, clip: str, failed: Iterable[Answer], *, is_answered: bool) -> None:
        """What became of a clip's questions; a UserError when enough of them have failed alike."""
        if self.is_over:
            return
        self.is_over = is_answered
        self._failed += [(clip, answer) for answer in failed if answer.error not in MEDIA_STATUSES]
        if not is_answered and len(self._failed) >= FIRST_QUESTIONS and len({name for name, _ in self._failed}) > 1:
            self._decide()

    def end(self) -> None:
        """A UserError if all failed alike, be they few; the few of a piece of a run say nothing of the model."""
        if not self.is_over and (not self._is_piece or len(self._failed) >= FIRST_QUESTIONS):
            self._decide()

    def _decide(self) -> None:
        """A UserError if nothing was answered and all that failed did so alike."""
        if len({answer.error for _, answer in self._failed}) == 1 and not self._answers_elsewhere():
            _, first = self._failed[0]
            advice = ADVICE.get(first.error, AGAIN if first.error in TRANSIENT else CORRECT)
            raise UserError(
                f"{self._run}: the first {len(self._failed)} questions all failed: "
                f"{in_words(first.error, first.message)}. Nothing was recorded. {advice}"
            )
        self.is_over = True


class OptionShare:
    """How much of the probability the options of the first scored questions hold together.

    Of a model that begins its answers with other words, such as a thought, the table would look like any other.
    """

    def __init__(self, key: RunKey) -> None:
        self._run, self._least = key.run, 0.0
        if isinstance(key, ModelRunKey) and ADAPTERS[key.answers.adapter].beside_answers >= {SHARE}:
            self._least = float(key.serving.get(SHARE, HALF))
        self._shares: list[float] = []
        self._clips: set[str] = set()
        self.is_over = self._least == 0

    def note(self, clip: str, request: Request, answer: Answer) -> None:
        """An answer, be it of an earlier job; a UserError when those of enough questions hold too little."""
        if self.is_over or request.ask != "score" or not answer.scores:
            return
        self._shares.append(sum(answer.scores))
        self._clips.add(clip)
        if len(self._shares) >= FIRST_QUESTIONS and len(self._clips) > 1:
            self.end()

    def end(self) -> None:
        """A UserError if the options of the questions so far hold too little, be they few."""
        self.is_over = True
        share = mean(self._shares) if self._shares else 1.0
        if share < self._least:
            raise UserError(
                f"{self._run}: the options hold {100 * share:.2g} % of the probability of an answer's first token, in "
                f"the mean of the first {len(self._shares)} questions; at least {100 * self._least:g} % are wanted, or "
                "scores say nothing. Does the model think, or write something before its answer? See `reprise check`; "
                "set `template_arguments` in its file, or ask it by a protocol with `ask: choose` or `ask: write`. "
                "Where it is known to be right, lower `settings.option_share`."
            )

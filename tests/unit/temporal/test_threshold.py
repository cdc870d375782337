"""Test losses that a moved threshold explains, against hand computations and simulated answers."""

import numpy as np
import pytest
from reprise.temporal.threshold import RATIOS, OptionRates, estimate_rates, explain_loss, explain_losses


def test_a_loss_by_hand() -> None:
    """The evidence of both kinds of questions is at +1 and -1, the threshold at 0: 84.1 % of the answers are right.

    With the threshold at -1, the hits are Phi(2) = 97.7 %, the false alarms Phi(0) = 50 %: 73.9 % are Yes, and 73.9 %
    are right. If the evidence for Yes varies twice as much, the same planned rates have it at +2, and its hits rise to
    Phi(3 / 2) = 93.3 % only: 71.7 % are Yes, and 71.7 % right.
    """
    planned, moved = OptionRates(0.5, 0.841345, 0.158655), OptionRates(0.5, 0.977250, 0.5)
    assert explain_loss(planned, moved, 1.0) == pytest.approx(0.841345 - 0.738625, abs=1e-5)
    assert explain_loss(planned, OptionRates(0.5, 0.933193, 0.5), 2.0) == pytest.approx(0.841345 - 0.716596, abs=1e-5)
    assert explain_loss(planned, planned, 1.0) == pytest.approx(0.0, abs=1e-9)
    always_yes = OptionRates(0.5, 1 - 1e-9, 1 - 1e-9)
    assert explain_loss(planned, always_yes, 1.0) == pytest.approx(0.841345 - 0.5, abs=1e-4)
    assert explain_loss(OptionRates(0.5, 0.6, 0.6), always_yes, 1.0) == pytest.approx(0.0, abs=1e-6), "only guesses"


def test_only_the_share_of_the_other_condition_counts() -> None:
    """The model loses all information, but says Yes as often: the threshold explains nothing."""
    planned, guessing, moved = OptionRates(0.5, 0.9, 0.1), OptionRates(0.5, 0.5, 0.5), OptionRates(0.5, 0.95, 0.95)
    assert explain_losses({"a": planned}, {"a": guessing}) == pytest.approx(0.0, abs=1e-9)
    largest = max(explain_loss(planned, moved, ratio) for ratio in RATIOS)
    assert explain_losses({"a": planned, "b": planned}, {"a": guessing, "b": moved}) == pytest.approx(largest / 2)
    assert explain_losses({"a": planned}, None) == explain_losses(None, None) == 0.0


def test_rates_without_errors_stay_finite() -> None:
    """Half an answer is added to each side: 10 of 10 hits count as 10.5 of 11."""
    rates = estimate_rates(10, 10, 10, 0)
    assert rates == pytest.approx((0.5, 10.5 / 11, 0.5 / 11))
    assert explain_loss(rates, estimate_rates(10, 10, 10, 10), 1.0) == pytest.approx(0.45, abs=0.05)


@pytest.mark.parametrize(
    ("sensitivity", "move", "ratio"),
    [(1.0, 0.5, 1.0), (2.0, 0.3, 1.0), (2.0, -1.0, 1.0), (3.0, 1.5, 1.0), (1.0, 1.0, 0.7), (2.0, -0.6, 1.4)],
)
def test_simulated_losses_are_explained(sensitivity: float, move: float, ratio: float) -> None:
    generator = np.random.default_rng(3)
    is_yes = generator.random(200_000) < 0.4
    scale = np.where(is_yes, ratio, 1.0)
    evidence = scale * generator.standard_normal(200_000) + sensitivity * (is_yes - 0.5)

    def rates(threshold: float) -> tuple[OptionRates, float]:
        says_yes = evidence > threshold
        counts = (is_yes, says_yes & is_yes, ~is_yes, says_yes & ~is_yes)
        return estimate_rates(*(int(count.sum()) for count in counts)), float((says_yes == is_yes).mean())

    (planned, accuracy), (moved, moved_accuracy) = rates(0.2), rates(0.2 + move)
    assert explain_loss(planned, moved, ratio) == pytest.approx(max(0.0, accuracy - moved_accuracy), abs=0.004)

"""Exact binomial tests: hand-worked values and scipy."""

import pytest
from reprise.stats.binomial import Alternative, binomial_p
from scipy.stats import binomtest

CASES = [
    (k, n, chance)
    for n, ks in [(1, [0, 1]), (7, [0, 3, 7]), (500, [100, 125, 151]), (20_000, [4890, 5100])]
    for k in ks
    for chance in (1 / 6, 0.25, 0.5, 0.9)
]


def test_three_heads_of_three() -> None:
    assert binomial_p(3, 3, 0.5) == pytest.approx(1 / 8)
    assert binomial_p(3, 3, 0.5, "less") == pytest.approx(1)


def test_two_of_three_at_a_quarter() -> None:
    assert binomial_p(2, 3, 0.25) == pytest.approx(10 / 64)  # 3 x (1/16) x (3/4) + 1/64


def test_no_success_is_never_better_than_chance() -> None:
    assert binomial_p(0, 40, 0.25) == 1.0


@pytest.mark.parametrize("alternative", ["greater", "less"])
@pytest.mark.parametrize(("successes", "trials", "chance"), CASES)
def test_agrees_with_scipy(successes: int, trials: int, chance: float, alternative: Alternative) -> None:
    expected = binomtest(successes, trials, chance, alternative=alternative).pvalue
    assert binomial_p(successes, trials, chance, alternative) == pytest.approx(expected, rel=1e-7, abs=1e-300)


def test_no_trial_gives_none() -> None:
    assert binomial_p(0, 0, 0.5) is None


@pytest.mark.parametrize(("successes", "trials"), [(-1, 3), (4, 3), (0, -1)])
def test_impossible_counts_are_refused(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match="successes"):
        binomial_p(successes, trials, 0.5)


@pytest.mark.parametrize("chance", [0.0, 1.0, 25.0, float("nan")])
def test_a_chance_that_is_no_share_is_refused(chance: float) -> None:
    with pytest.raises(ValueError, match="chance must lie between 0 and 1"):
        binomial_p(1, 2, chance)


def test_an_unknown_alternative_is_refused() -> None:
    with pytest.raises(ValueError, match="'smaller'"):
        binomial_p(1, 2, 0.5, "smaller")  # type: ignore[arg-type]

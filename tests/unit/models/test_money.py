"""Test the cost ledger of a store, shared rate limits, and upper bounds of token usage."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store, read_lines
from reprise.models.inference.money import limits as limits_module
from reprise.models.inference.money.calls import TEMPLATE_TOKENS, TokenEstimator, parse_retry_after
from reprise.models.inference.money.limits import (
    FrameShape,
    ImageTokenFormula,
    ProviderLimits,
    RateLimiter,
    count_anthropic_tokens,
    estimate_max_gemini_tokens,
)
from reprise.models.inference.money.prices import Budget, Ledger, Price, RequestCost, TokenUsage

from tests.unit.requests import make_request

PRICE = Price(input=2.0, output=10.0, cached=0.5, date=date(2026, 11, 22), source="a page")


def dollars(amount: float) -> RequestCost:
    return RequestCost(amount, 0)


def test_a_price_is_per_million_tokens_and_cached_tokens_have_another() -> None:
    assert PRICE.compute_usd(TokenUsage(1_000_000, 100_000)) == pytest.approx(3.0)
    assert PRICE.compute_usd(TokenUsage(1_000_000, 0, cached=400_000)) == pytest.approx(0.6 * 2 + 0.4 * 0.5)
    assert PRICE.model_copy(update={"cached": None}).compute_usd(TokenUsage(1_000_000, 0, 400_000)) == 2.0


def test_requests_in_flight_count_until_they_are_settled(tmp_path: Path) -> None:
    ledger, budget = Ledger(tmp_path), Budget(usd=1.0)
    first = ledger.reserve("run", dollars(0.6), budget)
    assert first and ledger.reserve("run", dollars(0.5), budget) == "" and ledger.read_spending().usd == 0.6
    ledger.settle(first, dollars(0.2))
    assert ledger.reserve("run", dollars(0.8), budget), "exactly the budget"
    assert Ledger(tmp_path).read_spending().usd == pytest.approx(1.0), "another job reads the same total"


def spend(folder: Path) -> int:
    ledger = Ledger(folder)
    reservations = [ledger.reserve("run", dollars(1.0), Budget(usd=10.0)) for _ in range(6)]
    for reservation in filter(None, reservations):
        ledger.settle(reservation, dollars(1.0))
    return sum(map(bool, reservations))


def test_parallel_jobs_never_spend_more_than_the_budget(tmp_path: Path) -> None:
    with ProcessPoolExecutor(3, multiprocessing.get_context("fork")) as jobs:
        assert sum(jobs.map(spend, [tmp_path] * 3)) == 10
    assert Ledger(tmp_path).read_spending().usd == pytest.approx(10)


def test_a_damaged_line_is_named_and_dropped_by_repair(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    reservations = [ledger.reserve("run", dollars(1.0), Budget(usd=9)) for _ in range(3)]
    lines = ledger.path.read_bytes().splitlines(keepends=True)
    ledger.path.write_bytes(b"".join([lines[0], lines[1].replace(b"1.0", b"9.0"), lines[2]]))
    with pytest.raises(UserError, match=r"spent\.jsonl: a line is damaged.*store --repair"):
        Ledger(tmp_path).read_spending()
    assert list(Store(tmp_path).repair_logs()) == [f"{ledger.path}: dropped line 2 of 3"]
    assert Ledger(tmp_path).read_spending().usd == 2.0
    ledger.settle(reservations[1], dollars(0.5))
    assert Ledger(tmp_path).read_spending().usd == ledger.read_spending().usd == 2.5, (
        "a settled amount counts without its reservation"
    )
    assert len(list(read_lines(ledger.path))) == 3


# --- limits -------------------------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that the test advances."""
    fake_time = SimpleNamespace(now=1000.0, time=lambda: fake_time.now)
    monkeypatch.setattr(limits_module, "time", fake_time)
    return fake_time


def count_sendable(clock: SimpleNamespace, limiters: list[RateLimiter], tokens: int, seconds: float) -> int:
    """Return the number of requests that jobs can send within some seconds if they send as often as allowed."""
    end, sent_count = clock.now + seconds, 0
    while clock.now < end:
        for limiter in limiters:
            while limiter.try_acquire(tokens) == 0:
                sent_count += 1
        clock.now += 1
    return sent_count


@pytest.mark.parametrize(
    ("limits", "tokens", "max_requests"),
    [
        (ProviderLimits(requests_per_minute=60), 1, 60),
        (ProviderLimits(tokens_per_minute=6000, requests_per_minute=30), 50, 30),
        (ProviderLimits(tokens_per_minute=600), 900, 1),  # a request above the limit is sent nevertheless
    ],
)
def test_jobs_share_a_rate_limit(
    tmp_path: Path, clock: SimpleNamespace, limits: ProviderLimits, tokens: int, max_requests: int
) -> None:
    limiters = [RateLimiter(tmp_path, limits, "host:80") for _ in range(2)]
    first = count_sendable(clock, limiters, tokens, 60)
    assert 1 <= first <= max_requests * (1 + limits_module.BURST_S / limits_module.MINUTE_S) + 1
    assert 0.9 * max_requests - 1 <= count_sendable(clock, limiters, tokens, 60) <= max_requests + 1


def test_unused_tokens_are_refunded(tmp_path: Path, clock: SimpleNamespace) -> None:
    limiter = RateLimiter(tmp_path, ProviderLimits(tokens_per_minute=1200), "host")
    assert limiter.try_acquire(1300) == 0 and limiter.try_acquire(1) > 0
    limiter.refund(1290)
    assert limiter.try_acquire(1) == 0


def test_a_wait_pauses_all_jobs_of_its_group(tmp_path: Path, clock: SimpleNamespace) -> None:
    limits = ProviderLimits(requests_per_minute=6000, shared="us")
    first, second = RateLimiter(tmp_path, limits, "a"), RateLimiter(tmp_path, limits, "b")
    unrelated = RateLimiter(tmp_path, limits.model_copy(update={"shared": None}), "b")
    first.pause(7)
    assert second.try_acquire(1) == pytest.approx(7) and unrelated.try_acquire(1) == 0
    clock.now += 7.1
    assert second.try_acquire(1) == 0


def test_slots_are_shared_by_jobs(tmp_path: Path) -> None:
    limiters = [RateLimiter(tmp_path, ProviderLimits(concurrency=2), "host") for _ in range(2)]
    slots = [limiter.acquire_slot() for limiter in limiters]
    assert slots[0] and slots[1] and limiters[0].acquire_slot() is None, "both slots are in use"
    slots[0].release()
    assert limiters[1].acquire_slot() is not None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "soon"}, None),
    ],
)
def test_the_wait_that_a_server_requests_is_parsed(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after(headers) == seconds


# --- estimates -------------------------------------------------------------------------------------------------------

FRAMES = FrameShape(8, 280, 140)


@pytest.mark.parametrize(
    ("image_tokens", "vendor_formula", "tokens"),
    [
        (50, None, 8 * 50),
        (None, count_anthropic_tokens, 8 * 10 * 5),
        (7, count_anthropic_tokens, 8 * 7),
        (None, estimate_max_gemini_tokens, 8 * 258 * 4 * 2),
    ],
)
def test_the_token_bound_of_a_request_counts_its_frames_and_bytes(
    image_tokens: int | None, vendor_formula: ImageTokenFormula | None, tokens: int
) -> None:
    estimator = TokenEstimator(image_tokens, vendor_formula, is_paid=True)
    assert estimator.estimate_max_usage(make_request("für", "write"), FRAMES, 8) == TokenUsage(
        tokens + 4 + TEMPLATE_TOKENS, 8
    )
    assert estimator.estimate_max_usage(make_request("für", "write"), None, 8) == TokenUsage(4 + TEMPLATE_TOKENS, 8)


def test_the_tokens_of_frames_at_an_unknown_vendor_are_required() -> None:
    with pytest.raises(UserError, match=r"settings\.image_tokens of the model's file: missing.*`image_tokens: 1500`"):
        TokenEstimator(None, None, is_paid=True).estimate_max_usage(make_request("x", "write"), FRAMES, 8)
    assert TokenEstimator(None, None, is_paid=False).estimate_max_usage(
        make_request("x", "write"), FRAMES, 8
    ) == TokenUsage(1 + TEMPLATE_TOKENS, 8)

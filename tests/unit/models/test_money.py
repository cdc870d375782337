"""What may be spent and sent: the ledger of a store, limits that jobs keep together, and what a question may take."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store, read_lines
from reprise.models.asking.money import limits as module
from reprise.models.asking.money.calls import TEMPLATE_TOKENS, Estimates, asked_wait
from reprise.models.asking.money.limits import Gate, ProviderLimits, Shown, TokensOfImage, by_aspect, by_patches
from reprise.models.asking.money.prices import Budget, Entry, Ledger, Price, Used

from tests.unit.asked import request

PRICE = Price(input=2.0, output=10.0, cached=0.5, date=date(2026, 11, 22), source="a page")


def dollars(amount: float) -> Entry:
    return Entry(amount, 0)


def test_a_price_is_for_a_million_tokens_and_what_was_cached_costs_its_own() -> None:
    assert PRICE.usd(Used(1_000_000, 100_000)) == pytest.approx(3.0)
    assert PRICE.usd(Used(1_000_000, 0, cached=400_000)) == pytest.approx(0.6 * 2 + 0.4 * 0.5)
    assert PRICE.model_copy(update={"cached": None}).usd(Used(1_000_000, 0, 400_000)) == 2.0


def test_what_is_on_its_way_counts_until_it_is_settled(tmp_path: Path) -> None:
    ledger, budget = Ledger(tmp_path), Budget(usd=1.0)
    first = ledger.reserve("run", dollars(0.6), budget)
    assert first and ledger.reserve("run", dollars(0.5), budget) == "" and ledger.spent().usd == 0.6
    ledger.settle(first, dollars(0.2))
    assert ledger.reserve("run", dollars(0.8), budget), "exactly the budget"
    assert Ledger(tmp_path).spent().usd == pytest.approx(1.0), "another job reads the same"


def spend(folder: Path) -> int:
    ledger = Ledger(folder)
    names = [ledger.reserve("run", dollars(1.0), Budget(usd=10.0)) for _ in range(6)]
    for name in filter(None, names):
        ledger.settle(name, dollars(1.0))
    return sum(map(bool, names))


def test_jobs_that_spend_at_once_never_spend_more(tmp_path: Path) -> None:
    with ProcessPoolExecutor(3, multiprocessing.get_context("fork")) as jobs:
        assert sum(jobs.map(spend, [tmp_path] * 3)) == 10
    assert Ledger(tmp_path).spent().usd == pytest.approx(10)


def test_a_damaged_line_is_named_and_dropped_by_repair(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    names = [ledger.reserve("run", dollars(1.0), Budget(usd=9)) for _ in range(3)]
    lines = ledger.path.read_bytes().splitlines(keepends=True)
    ledger.path.write_bytes(b"".join([lines[0], lines[1].replace(b"1.0", b"9.0"), lines[2]]))
    with pytest.raises(UserError, match=r"spent\.jsonl: a line is damaged.*store --repair"):
        Ledger(tmp_path).spent()
    assert list(Store(tmp_path).repair()) == [f"{ledger.path}: dropped line 2 of 3"]
    assert Ledger(tmp_path).spent().usd == 2.0
    ledger.settle(names[1], dollars(0.5))
    assert Ledger(tmp_path).spent().usd == ledger.spent().usd == 2.5, "what was settled counts without its reservation"
    assert len(list(read_lines(ledger.path))) == 3


# --- limits -------------------------------------------------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A time that passes when the test says so."""
    found = SimpleNamespace(now=1000.0, time=lambda: found.now)
    monkeypatch.setattr(module, "time", found)
    return found


def sent_in(clock: SimpleNamespace, gates: list[Gate], tokens: int, seconds: float) -> int:
    """How many requests pass in so many seconds, of jobs that send whenever they may."""
    end, sent = clock.now + seconds, 0
    while clock.now < end:
        for gate in gates:
            while gate.wait_for(tokens) == 0:
                sent += 1
        clock.now += 1
    return sent


@pytest.mark.parametrize(
    ("limits", "tokens", "most"),
    [
        (ProviderLimits(requests_per_minute=60), 1, 60),
        (ProviderLimits(tokens_per_minute=6000, requests_per_minute=30), 50, 30),
        (ProviderLimits(tokens_per_minute=600), 900, 1),  # a request that is larger than the limit is sent nevertheless
    ],
)
def test_jobs_keep_a_limit_together(
    tmp_path: Path, clock: SimpleNamespace, limits: ProviderLimits, tokens: int, most: int
) -> None:
    gates = [Gate(tmp_path, limits, "host:80") for _ in range(2)]
    first = sent_in(clock, gates, tokens, 60)
    assert 1 <= first <= most * (1 + module.BURST_S / module.MINUTE_S) + 1
    assert 0.9 * most - 1 <= sent_in(clock, gates, tokens, 60) <= most + 1


def test_tokens_that_were_not_taken_are_given_back(tmp_path: Path, clock: SimpleNamespace) -> None:
    gate = Gate(tmp_path, ProviderLimits(tokens_per_minute=1200), "host")
    assert gate.wait_for(1300) == 0 and gate.wait_for(1) > 0
    gate.correct(1290)
    assert gate.wait_for(1) == 0


def test_who_is_asked_to_wait_holds_all_of_its_group(tmp_path: Path, clock: SimpleNamespace) -> None:
    limits = ProviderLimits(requests_per_minute=6000, shared="us")
    one, other = Gate(tmp_path, limits, "a"), Gate(tmp_path, limits, "b")
    elsewhere = Gate(tmp_path, limits.model_copy(update={"shared": None}), "b")
    one.hold(7)
    assert other.wait_for(1) == pytest.approx(7) and elsewhere.wait_for(1) == 0
    clock.now += 7.1
    assert other.wait_for(1) == 0


def test_places_are_shared_by_jobs(tmp_path: Path) -> None:
    one, other = (Gate(tmp_path, ProviderLimits(concurrency=2), "host") for _ in range(2))
    first, second = one.slot(), other.slot()
    assert first and second and one.slot() is None, "both are taken"
    first.release()
    assert other.slot() is not None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "soon"}, None),
    ],
)
def test_how_long_a_server_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_wait(headers) == seconds


# --- estimates -------------------------------------------------------------------------------------------------------

FRAMES = Shown(8, 280, 140)


@pytest.mark.parametrize(
    ("image_tokens", "by_vendor", "tokens"),
    [(50, None, 8 * 50), (None, by_patches, 8 * 10 * 5), (7, by_patches, 8 * 7), (None, by_aspect, 8 * 258 * 4 * 2)],
)
def test_a_question_takes_at_most_what_its_frames_and_its_bytes_are(
    image_tokens: int | None, by_vendor: TokensOfImage | None, tokens: int
) -> None:
    estimates = Estimates(image_tokens, by_vendor, is_paid=True)
    assert estimates.worst(request("für", "write"), FRAMES, 8) == Used(tokens + 4 + TEMPLATE_TOKENS, 8)
    assert estimates.worst(request("für", "write"), None, 8) == Used(4 + TEMPLATE_TOKENS, 8)


def test_what_frames_may_cost_at_an_unknown_vendor_must_be_said() -> None:
    with pytest.raises(UserError, match=r"settings\.image_tokens of the model's file: missing.*`image_tokens: 1500`"):
        Estimates(None, None, is_paid=True).worst(request("x", "write"), FRAMES, 8)
    assert Estimates(None, None, is_paid=False).worst(request("x", "write"), FRAMES, 8) == Used(1 + TEMPLATE_TOKENS, 8)

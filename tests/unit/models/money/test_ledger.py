"""The ledger of what was spent: never above the budget, whoever writes, and whatever a kill leaves."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from functools import partial
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.store import Store, read_lines
from reprise.models.asking.money.prices import Budget, Entry, Ledger, Price, Spent, Used

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


def test_dollars_and_tokens_of_unknown_price_are_counted_apart(tmp_path: Path) -> None:
    ledger, budget = Ledger(tmp_path), Budget(usd=1.0, tokens=100)
    assert ledger.reserve("run", Entry.of(Used(60, 40), None), budget)
    assert ledger.reserve("run", Entry.of(Used(0, 1), None), budget) == ""
    assert ledger.reserve("run", Entry.of(Used(0, 10_000), PRICE), budget)
    assert ledger.spent() == Spent(pytest.approx(0.1), 100)


def spend(folder: Path, count: int) -> int:
    """As a job does that reserves one dollar after the other."""
    ledger = Ledger(folder)
    names = [ledger.reserve("run", dollars(1.0), Budget(usd=10.0)) for _ in range(count)]
    for name in names:
        if name:
            ledger.settle(name, dollars(1.0))
    return sum(map(bool, names))


def test_jobs_that_spend_at_once_never_spend_more(tmp_path: Path) -> None:
    with ProcessPoolExecutor(3, multiprocessing.get_context("fork")) as jobs:
        granted = list(jobs.map(partial(spend, tmp_path), [6, 6, 6]))
    assert sum(granted) == 10 and Ledger(tmp_path).spent().usd == pytest.approx(10.0)


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

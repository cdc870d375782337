"""ProviderLimits that jobs of a machine keep together, and estimates of what a question may take."""

import multiprocessing
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import ValidationError
from reprise.core.errors import UserError
from reprise.models.asking.money import limits as module
from reprise.models.asking.money.calls import TEMPLATE_TOKENS, Estimates, asked_wait
from reprise.models.asking.money.limits import Gate, ProviderLimits, Shown, TokensOfImage, by_aspect, by_patches
from reprise.models.asking.money.prices import Used

from tests.unit.asked import request


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
        (ProviderLimits(requests_per_minute=6), 1, 6),
        (ProviderLimits(tokens_per_minute=6000), 50, 120),
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


def test_a_state_that_a_kill_cut_short_starts_anew(tmp_path: Path, clock: SimpleNamespace) -> None:
    gate = Gate(tmp_path, ProviderLimits(requests_per_minute=1), "host")
    assert gate.wait_for(1) == 0 < gate.wait_for(1)
    (tmp_path / "host" / "state.json").write_text('{"requests": -')
    assert gate.wait_for(1) == 0


def hold_a_place(folder: Path, told: "multiprocessing.synchronize.Event") -> None:
    place = Gate(folder, ProviderLimits(concurrency=1), "host").slot()
    assert place is not None
    told.set()
    multiprocessing.Event().wait()


def test_places_are_shared_by_jobs_and_freed_by_a_kill(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    told, gate = context.Event(), Gate(tmp_path, ProviderLimits(concurrency=2), "host")
    job = context.Process(target=hold_a_place, args=(tmp_path, told))
    job.start()
    told.wait()
    own = gate.slot()
    assert own is not None and gate.slot() is None, "both are taken"
    job.kill()
    job.join()
    assert gate.slot() is not None


def test_a_group_has_a_name_that_a_folder_can_have() -> None:
    with pytest.raises(ValidationError, match="shared"):
        ProviderLimits(shared="../us")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
        (None, None),
    ],
)
def test_how_long_a_server_asks_to_wait(headers: dict[str, str] | None, seconds: float | None) -> None:
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


def test_after_the_first_answer_the_servers_own_count_is_used() -> None:
    estimates = Estimates(5000, None, is_paid=True)
    estimates.learn(FRAMES, 900)
    assert estimates.worst(request("x", "write"), FRAMES, 8).input == 900 + 1 + TEMPLATE_TOKENS
    assert estimates.worst(request("x", "write"), FRAMES._replace(width=281), 8).input == 40_000 + 1 + TEMPLATE_TOKENS
    estimates.learn(FRAMES, 0)
    assert estimates.worst(request("x", "write"), FRAMES, 8).input == 900 + 1 + TEMPLATE_TOKENS, (
        "a server that counts nothing says nothing"
    )


def test_what_frames_may_cost_at_an_unknown_vendor_must_be_said() -> None:
    with pytest.raises(UserError, match=r"settings\.image_tokens of the model's file: missing.*`image_tokens: 1500`"):
        Estimates(None, None, is_paid=True).worst(request("x", "write"), FRAMES, 8)
    assert Estimates(None, None, is_paid=False).worst(request("x", "write"), FRAMES, 8) == Used(1 + TEMPLATE_TOKENS, 8)

"""Test jobs that query each of the three kinds of vendors: budgets, kills, secrets."""

import json
import random
import re
import signal
import time
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import polars as pl
import pytest
from reprise.core.errors import UserError
from reprise.core.schemas import RESPONSES, read_table
from reprise.core.store import Store, read_lines
from reprise.models.inference.money.calls import TEMPLATE_TOKENS
from reprise.models.inference.money.prices import Budget, Ledger
from reprise.models.inference.response_cache import ResponseCache, get_response_cache_path
from reprise.models.keys import ModelRunKey

from tests.unit.models import chat_server as chat
from tests.unit.models import vendor_servers as vendors
from tests.unit.models.chat_server import ChatServer, ReceivedRequest, ServerReply, completion, error, reply_correctly
from tests.unit.stages import served_job as served
from tests.unit.stages.served_job import Job, make_key, make_text_batches, run_in_process

# Amount that is reserved for a prompt of four letters without frames.
RESERVED_USD = ((4 + TEMPLATE_TOKENS) * 1000 + 8 * 10_000) / 1_000_000


def compute_usd(frame_count: int) -> float:
    """Return the cost of an answer by the token counts of the server."""
    return ((chat.TEXT_TOKENS + frame_count * chat.FRAME_TOKENS) * 1000 + 1 * 10_000) / 1_000_000


class Vendor(NamedTuple):
    reply_correctly: vendors.Behaviour
    error: Callable[..., ServerReply]
    prompt: Callable[[ReceivedRequest], str]
    respond: Callable[[ReceivedRequest, str], dict[str, Any]]
    key_header: str
    settings: dict[str, Any]


VENDORS = {
    "openai": Vendor(reply_correctly, error, lambda received: received.prompt, completion, "authorization", {"check_frames": False, "image_tokens": 50}),
    "anthropic": Vendor(vendors.reply_as_anthropic, vendors.anthropic_error, lambda received: received.prompt, vendors.anthropic_reply, "authorization", {}),
    "gemini": Vendor(vendors.reply_as_gemini, vendors.gemini_error, vendors.prompt_of, vendors.gemini_reply, "x-goog-api-key", {}),
}  # fmt: skip
# These tests start jobs: for one vendor, or for each with FAULTS=whole.
some_vendors = pytest.mark.parametrize("name", VENDORS if served.IS_FULL_TEST else ["openai"])


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def make_paid_key(server: ChatServer, name: str, **settings: Any) -> ModelRunKey:
    all_settings = {"price": served.PRICE, "key": "VENDOR_API_KEY", **VENDORS[name].settings, **settings}
    return make_key(server, name, **all_settings)


def list_prompts(server: ChatServer, name: str, since: int = 0) -> list[str]:
    return [VENDORS[name].prompt(received) for received in server.received[since:]]


def read_spent_usd(store: Path) -> float:
    return Ledger(store).read_spending().usd


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_API_KEY", served.KEY)


@pytest.mark.parametrize("name", VENDORS)
def test_the_budget_is_never_exceeded_and_no_answer_is_lost(tmp_path: Path, name: str) -> None:
    batches, request_count, usd = make_text_batches(), 16, compute_usd(frame_count=0)
    with ChatServer(VENDORS[name].reply_correctly) as server:
        key, budget = (
            make_paid_key(server, name, concurrency=3),
            Budget(9.5 * compute_usd(frame_count=0) + RESERVED_USD),
        )
        for _ in range(2):
            with pytest.raises(UserError) as caught:
                run_in_process(key, batches, tmp_path, budget)
            answered = len(server.received)
            assert read_spent_usd(tmp_path) == pytest.approx(answered * usd) and read_spent_usd(tmp_path) <= budget.usd
        assert 3 <= answered < 12 and len(ResponseCache(get_response_cache_path(Store(tmp_path), key.key))) == answered
        assert f"b/p/s/m: the budget is too small for another request: ${answered * usd:.4f} of $" in str(caught.value)
        assert "Answers so far are kept" in str(caught.value) and "Raise `budget_usd:`" in str(caught.value)
        rows, timings = run_in_process(key, batches, tmp_path)
        received = list_prompts(server, name)
        assert len(received) == len(set(received)) == request_count == len(rows), "no request is paid for twice"
        assert read_spent_usd(tmp_path) == pytest.approx(request_count * usd)
        assert run_in_process(key, batches, tmp_path, Budget())[0] == rows, "cached responses need no budget"
        assert len(server.received) == request_count
    assert sum(row["usd"] for row in timings) == pytest.approx(request_count * usd)
    assert sum(row["tokens_in"] for row in timings) == request_count * chat.TEXT_TOKENS
    assert sum(row["tokens_out"] for row in timings) == request_count and timings[0]["served"] == [chat.MODEL]


def test_a_model_of_unknown_price_stops_at_the_token_budget(tmp_path: Path) -> None:
    with ChatServer() as server:
        key = make_paid_key(server, "openai", price=None, concurrency=2)
        with pytest.raises(UserError, match="0 tokens of 0 are used.*Raise `budget_tokens:`"):
            run_in_process(key, make_text_batches(), tmp_path, Budget(1000, 0))
        assert server.received == [], "no request is sent without a budget"
        with pytest.raises(UserError, match="tokens of 300 are used"):
            run_in_process(key, make_text_batches(), tmp_path, Budget(0, 300))
        used = Ledger(tmp_path).read_spending().tokens
        assert used == len(server.received) * (chat.TEXT_TOKENS + 1) <= 300 and len(server.received) >= 3


def test_a_failure_that_may_have_been_billed_counts_with_its_worst_case(tmp_path: Path) -> None:
    def reply(received: ReceivedRequest) -> ServerReply:
        faults = {
            "c0 1": replace(reply_correctly(received), delay=5),
            "c0 2": error(500),
            "c0 3": ServerReply(b"<html>"),
        }
        return faults.get(received.prompt, reply_correctly(received))

    with ChatServer(reply) as server:
        rows, _ = run_in_process(
            make_paid_key(server, "openai", timeout_s=0.5), make_text_batches(clip_count=1), tmp_path
        )
    assert [row["error"] for row in rows] == ["", "timeout", "server_error", "malformed"]
    assert read_spent_usd(tmp_path) == pytest.approx(compute_usd(frame_count=0) + 2 * RESERVED_USD), (
        "HTTP 500 costs nothing"
    )


@some_vendors
def test_killed_jobs_pay_for_no_answer_twice_and_give_the_same_result(job: Job, name: str) -> None:
    """Kill jobs at random moments, 20 with FAULTS=whole: cached responses are not requested again."""
    vendor, random_generator = VENDORS[name], random.Random(13)
    delays = {
        f"c{clip} {n}": random_generator.uniform(0.01, 0.3)
        for clip in range(served.CLIP_COUNT)
        for n in range(served.REQUESTS_PER_CLIP)
    }
    with ChatServer(
        lambda received: replace(vendor.reply_correctly(received), delay=delays[vendor.prompt(received)])
    ) as server:
        key = make_paid_key(server, name, concurrency=3)
        for kill in range(served.KILL_COUNT):
            cached_prompts, received_before = job.cached_prompts(key), len(server.received)
            process = job.start(key, VENDOR_API_KEY=served.KEY)
            kill_after = received_before + random_generator.randrange(4, 9)
            while len(server.received) < kill_after or len(job.cached_prompts(key)) < 2:
                assert process.poll() is None, job.log
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert not cached_prompts & set(list_prompts(server, name, received_before)), kill
        cached_prompts, received_before = job.cached_prompts(key), len(server.received)
        assert 2 <= len(cached_prompts) < served.CLIP_COUNT * served.REQUESTS_PER_CLIP
        assert job.run(key, VENDOR_API_KEY=served.KEY) == 0, job.log
        assert sorted(list_prompts(server, name, received_before)) == sorted(set(delays) - cached_prompts), (
            "each other request is sent once"
        )
        min_usd = len(server.received) * compute_usd(len(served.FRAMES)) - 1e-9
        assert read_spent_usd(job.store.root) >= min_usd, "requests in flight at a kill are counted"
        resumed = (job.folder / "out.parquet").read_bytes()
        get_response_cache_path(job.store, key.key).unlink()
        assert job.run(key, VENDOR_API_KEY=served.KEY) == 0, job.log
    assert (job.folder / "out.parquet").read_bytes() == resumed, "the result equals that without kills"


# A key without a known form, whose characters each encoding changes.
ODD_KEY = 'odd/4n8Qz+7"Wk2pLx9=Tb6vRc'
ALL_SPELLINGS = {
    "plain": ODD_KEY,
    "URL": quote(ODD_KEY, safe=""),
    "JSON": json.dumps(json.dumps(ODD_KEY)),
    "escapes": "".join(f"\\u{ord(character):04x}" for character in ODD_KEY),
    "base64": b64encode(f"user:{ODD_KEY}:x".encode()).decode(),
}
# Parts of each spelling without the characters that have several encodings.
PARTS = ("4n8Qz", "Wk2pLx9", "Tb6vRc", "\\u0034\\u006e", ALL_SPELLINGS["base64"][10:30])


@pytest.mark.parametrize("name", VENDORS)
def test_no_secret_is_left_anywhere(job: Job, name: str) -> None:
    """A server repeats the key in answers, errors, headers and names, while the SDKs log everything."""
    vendor, all_spellings = VENDORS[name], " ".join(ALL_SPELLINGS.values())

    def reply(received: ReceivedRequest) -> ServerReply:
        replies = {
            "1": vendor.error(400, "x", f"your key {all_spellings} is odd"),
            "2": ServerReply(b"<html>" + all_spellings.encode()),
            "3": ServerReply({"error": f"your key {all_spellings} is overloaded"}),
            "4": ServerReply(b"HTTP is " + all_spellings.encode(), 502),
        }
        answer = replies.get(
            vendor.prompt(received)[-1], ServerReply(vendor.respond(received, f"It is {all_spellings}, yes"))
        )
        return replace(answer, headers={**answer.headers, "X-Echo": quote(ODD_KEY), "X-Request-Id": ODD_KEY})

    environment = {"OPENAI_LOG": "debug", "ANTHROPIC_LOG": "debug", "VENDOR_API_KEY": ODD_KEY}
    with ChatServer(reply) as server:
        key = make_paid_key(server, name)
        assert job.run(key, **environment) == 0, job.log
        assert {received.headers[vendor.key_header].removeprefix("Bearer ") for received in server.received} == {
            ODD_KEY
        }
    rows = read_table(job.folder / "out.parquet", RESPONSES)
    failed = rows.filter(error="bad_request")
    assert failed.height == served.CLIP_COUNT and "is odd" in failed["message"][0]
    answers = rows.filter(error="")["text"]
    assert len(answers) == 2 * served.CLIP_COUNT and all(re.fullmatch("It is .*, yes", text) for text in answers)
    files = [path for path in job.folder.rglob("*") if path.is_file()]
    assert {".parquet", ".jsonl"} <= {path.suffix for path in files}
    leaks = [(path, part) for path in files for part in PARTS if part in read_content(path)]
    assert leaks == []


def read_content(path: Path) -> str:
    """Return the text of a file, decompressed and without JSON escapes."""
    if path.suffix == ".parquet":
        return repr(pl.read_parquet(path).to_dicts()).replace(r"\\", "\\")
    if path.suffix == ".jsonl":
        return repr([list(line) for line in read_lines(path)]).replace(r"\\", "\\")
    return path.read_bytes().decode(errors="replace")

"""Jobs that ask each of the three kinds of vendors: money, kills, secrets."""

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
from reprise.models.asking.journal import Journal, journal_path
from reprise.models.asking.money.calls import TEMPLATE_TOKENS
from reprise.models.asking.money.prices import Budget, Ledger
from reprise.models.keys import ModelRunKey

from tests.unit.models import chat_server as chat
from tests.unit.models import vendor_servers as vendors
from tests.unit.models.chat_server import Asked, ChatServer, Says, completion, error, well
from tests.unit.stages import served_job as served
from tests.unit.stages.served_job import Job, asked_here, blind_works, key_of

# What is reserved for a question of four letters, without frames.
RESERVED = ((4 + TEMPLATE_TOKENS) * 1000 + 8 * 10_000) / 1_000_000


def usd_of(frames: int) -> float:
    """What an answer costs on these servers, by their own counts."""
    return ((chat.TEXT_TOKENS + frames * chat.FRAME_TOKENS) * 1000 + 1 * 10_000) / 1_000_000


class Vendor(NamedTuple):
    well: vendors.Behaviour
    error: Callable[..., Says]
    prompt: Callable[[Asked], str]
    says: Callable[[Asked, str], dict[str, Any]]
    key_header: str
    settings: dict[str, Any]


VENDORS = {
    "openai": Vendor(well, error, lambda asked: asked.prompt, completion, "authorization", {"check_frames": False, "image_tokens": 50}),
    "anthropic": Vendor(vendors.anthropic_well, vendors.anthropic_error, lambda asked: asked.prompt, vendors.message, "authorization", {}),
    "gemini": Vendor(vendors.gemini_well, vendors.gemini_error, vendors.prompt_of, vendors.generated, "x-goog-api-key", {}),
}  # fmt: skip
# Jobs of their own: with FAULTS=whole for each vendor.
some_vendors = pytest.mark.parametrize("name", VENDORS if served.IS_WHOLE else ["openai"])


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def paid(server: ChatServer, name: str, **settings: Any) -> ModelRunKey:
    own = {"price": served.PRICE, "key": "VENDOR_API_KEY", **VENDORS[name].settings, **settings}
    return key_of(server, name, **own)


def prompts(server: ChatServer, name: str, since: int = 0) -> list[str]:
    return [VENDORS[name].prompt(asked) for asked in server.asked[since:]]


def spent(store: Path) -> float:
    return Ledger(store).spent().usd


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_API_KEY", served.KEY)


@pytest.mark.parametrize("name", VENDORS)
def test_the_budget_stops_before_it_is_crossed_and_nothing_is_lost(tmp_path: Path, name: str) -> None:
    works, all_of_them, usd = blind_works(), 16, usd_of(frames=0)
    with ChatServer(VENDORS[name].well) as server:
        key, budget = paid(server, name, concurrency=3), Budget(9.5 * usd_of(frames=0) + RESERVED)
        for _ in range(2):
            with pytest.raises(UserError) as stopped:
                asked_here(key, works, tmp_path, budget)
            answered = len(server.asked)
            assert spent(tmp_path) == pytest.approx(answered * usd) and spent(tmp_path) <= budget.usd
        assert 3 <= answered < 12 and len(Journal(journal_path(Store(tmp_path), key.key))) == answered
        assert f"b/p/s/m: the budget does not hold another question: ${answered * usd:.4f} of $" in str(stopped.value)
        assert "Answers so far are kept" in str(stopped.value) and "Raise `budget_usd:`" in str(stopped.value)
        rows, timings = asked_here(key, works, tmp_path)
        asked = prompts(server, name)
        assert len(asked) == len(set(asked)) == all_of_them == len(rows), "nothing is paid for twice"
        assert spent(tmp_path) == pytest.approx(all_of_them * usd)
        assert asked_here(key, works, tmp_path, Budget())[0] == rows, "answers that are there need no budget"
        assert len(server.asked) == all_of_them
    assert sum(one["usd"] for one in timings) == pytest.approx(all_of_them * usd)
    assert sum(one["tokens_in"] for one in timings) == all_of_them * chat.TEXT_TOKENS
    assert sum(one["tokens_out"] for one in timings) == all_of_them and timings[0]["served"] == [chat.MODEL]


def test_a_model_of_unknown_price_stops_at_its_tokens(tmp_path: Path) -> None:
    with ChatServer() as server:
        key = paid(server, "openai", price=None, concurrency=2)
        with pytest.raises(UserError, match="0 tokens of 0 are used.*Raise `budget_tokens:`"):
            asked_here(key, blind_works(), tmp_path, Budget(1000, 0))
        assert server.asked == [], "no budget asks nothing"
        with pytest.raises(UserError, match="tokens of 300 are used"):
            asked_here(key, blind_works(), tmp_path, Budget(0, 300))
        used = Ledger(tmp_path).spent().tokens
        assert used == len(server.asked) * (chat.TEXT_TOKENS + 1) <= 300 and len(server.asked) >= 3


def test_a_failure_that_may_have_been_paid_for_counts_with_its_worst_case(tmp_path: Path) -> None:
    def says(asked: Asked) -> Says:
        faults = {"c0 1": replace(well(asked), delay=5), "c0 2": error(500), "c0 3": Says(b"<html>")}
        return faults.get(asked.prompt, well(asked))

    with ChatServer(says) as server:
        rows, _ = asked_here(paid(server, "openai", timeout_s=0.5), blind_works(clips=1), tmp_path)
    assert [row["error"] for row in rows] == ["", "timeout", "server_error", "malformed"]
    assert spent(tmp_path) == pytest.approx(usd_of(frames=0) + 2 * RESERVED), "nothing for HTTP 500"


@some_vendors
def test_kills_pay_for_no_answer_twice_and_end_the_same(job: Job, name: str) -> None:
    """At random moments, 20 of them with FAULTS=whole: what was kept when a job died is not asked again."""
    vendor, draw = VENDORS[name], random.Random(13)
    delays = {f"c{clip} {n}": draw.uniform(0.01, 0.3) for clip in range(served.CLIPS) for n in range(served.QUESTIONS)}
    with ChatServer(lambda asked: replace(vendor.well(asked), delay=delays[vendor.prompt(asked)])) as server:
        key = paid(server, name, concurrency=3)
        for kill in range(served.KILLS):
            kept, before = job.journaled(key), len(server.asked)
            process = job.start(key, VENDOR_API_KEY=served.KEY)
            enough = before + draw.randrange(4, 9)
            while len(server.asked) < enough or len(job.journaled(key)) < 2:
                assert process.poll() is None, job.log
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert not kept & set(prompts(server, name, before)), kill
        kept, before = job.journaled(key), len(server.asked)
        assert 2 <= len(kept) < served.CLIPS * served.QUESTIONS
        assert job.run(key, VENDOR_API_KEY=served.KEY) == 0, job.log
        assert sorted(prompts(server, name, before)) == sorted(set(delays) - kept), "each of the others once"
        least = len(server.asked) * usd_of(len(served.FRAMES)) - 1e-9
        assert spent(job.store.root) >= least, "what was on its way at a kill counts"
        resumed = (job.folder / "out.parquet").read_bytes()
        journal_path(job.store, key.key).unlink()
        assert job.run(key, VENDOR_API_KEY=served.KEY) == 0, job.log
    assert (job.folder / "out.parquet").read_bytes() == resumed, "as without a kill"


# No shape by which any key would be known, and characters that each way of writing it changes.
ODD_KEY = 'odd/4n8Qz+7"Wk2pLx9=Tb6vRc'
ALL_SPELLINGS = {
    "plain": ODD_KEY,
    "URL": quote(ODD_KEY, safe=""),
    "JSON": json.dumps(json.dumps(ODD_KEY)),
    "escapes": "".join(f"\\u{ord(character):04x}" for character in ODD_KEY),
    "base64": b64encode(f"user:{ODD_KEY}:x".encode()).decode(),
}
# Of every spelling a part without the characters that are written in several ways.
PARTS = ("4n8Qz", "Wk2pLx9", "Tb6vRc", "\\u0034\\u006e", ALL_SPELLINGS["base64"][10:30])


@pytest.mark.parametrize("name", VENDORS)
def test_no_secret_is_left_anywhere(job: Job, name: str) -> None:
    """Of a server that repeats the key in answers, errors, headers and names, with the SDKs' own logs turned on."""
    vendor, everything = VENDORS[name], " ".join(ALL_SPELLINGS.values())

    def says(asked: Asked) -> Says:
        replies = {
            "1": vendor.error(400, "x", f"your key {everything} is odd"),
            "2": Says(b"<html>" + everything.encode()),
            "3": Says({"error": f"your key {everything} is overloaded"}),
            "4": Says(b"HTTP is " + everything.encode(), 502),
        }
        reply = replies.get(vendor.prompt(asked)[-1], Says(vendor.says(asked, f"It is {everything}, yes")))
        return replace(reply, headers={**reply.headers, "X-Echo": quote(ODD_KEY), "X-Request-Id": ODD_KEY})

    loud = {"OPENAI_LOG": "debug", "ANTHROPIC_LOG": "debug", "VENDOR_API_KEY": ODD_KEY}
    with ChatServer(says) as server:
        key = paid(server, name)
        assert job.run(key, **loud) == 0, job.log
        assert {asked.headers[vendor.key_header].removeprefix("Bearer ") for asked in server.asked} == {ODD_KEY}
    rows = read_table(job.folder / "out.parquet", RESPONSES)
    failed = rows.filter(error="bad_request")
    assert failed.height == served.CLIPS and "is odd" in failed["message"][0]
    answers = rows.filter(error="")["text"]
    assert len(answers) == 2 * served.CLIPS and all(re.fullmatch("It is .*, yes", text) for text in answers)
    files = [path for path in job.folder.rglob("*") if path.is_file()]
    assert {".parquet", ".jsonl"} <= {path.suffix for path in files}
    holding = [(path, part) for path in files for part in PARTS if part in contents_of(path)]
    assert holding == []


def contents_of(path: Path) -> str:
    """What a file holds, where it is packed without its packing, and where it is JSON also without that."""
    if path.suffix == ".parquet":
        return repr(pl.read_parquet(path).to_dicts()).replace(r"\\", "\\")
    if path.suffix == ".jsonl":
        return repr([list(line) for line in read_lines(path)]).replace(r"\\", "\\")
    return path.read_bytes().decode(errors="replace")

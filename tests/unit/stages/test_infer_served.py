"""The inference job of a model at a server: answers in any order, kills, who answered, and what stays secret."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.core.errors import UserError
from reprise.core.schemas import CLIP_LEDGER, FRAME_PLAN, REQUESTS, TIMINGS, read_table, write_table
from reprise.core.store import Store, read_lines
from reprise.models.adapters import ADAPTERS
from reprise.models.adapters.base import Clip, Request
from reprise.models.failures import Failures
from reprise.models.journal import Journal, entry_id, journal_path
from reprise.models.keys import ModelRunKey
from reprise.models.lazy import lazy_model
from reprise.models.served import served_by
from reprise.models.settings import OpenAISettings
from reprise.stages.infer import Work, ask_all, prompt_digest

from tests.unit.asked import request
from tests.unit.models.chat_server import MODEL, Asked, ChatServer, Says, completion, error, well
from tests.unit.rows import request_row
from tests.unit.videos import RATE, barcode_video

KEY = "sk-test-0123456789abcdefghij"
IS_WHOLE = os.environ.get("FAULTS") == "whole"
KILLS, CLIPS = (20, 40) if IS_WHOLE else (2, 4)
QUESTIONS, FRAMES = 6, (2, 9, 30)


def key_of(server: ChatServer, **settings: Any) -> ModelRunKey:
    """The key of a run, its settings divided as planning does."""
    own = {"url": server.url, "server": "toy", "model": MODEL, "retries": 0, **settings}
    whole = OpenAISettings.model_validate(own).model_dump()
    beside = ADAPTERS["openai"].beside_answers
    return ModelRunKey.model_validate({
        "run": "b/p/s/m",
        "key": "k" * 64,
        "serving": {name: value for name, value in whole.items() if name in beside},
        "answers": {
            "adapter": "openai", "sampling": {"rule": "linspace"}, "model": {}, "dtype": "float32",
            "settings": {name: value for name, value in whole.items() if name not in beside},
            "attention": "sdpa", "trust_remote_code": False, "prompt": {"system": "", "user": "{x}"}, "form": "f",
            "ask": "write", "max_tokens": 8, "versions": {},
        },
    })  # fmt: skip


def works(*clips: tuple[str, Sequence[Request]]) -> list[Work]:
    return [Work(Clip(name, None, (), ()), f"recipe {name}", tuple(requests)) for name, requests in clips]


def questions(clip: str, count: int) -> list[Request]:
    return [request(f"{clip} {at}", "write", request_id=f"{clip}#{at}") for at in range(count)]


def asked_by(server: ChatServer, asked: list[Work], folder: Path, **settings: Any) -> list[dict[str, Any]]:
    """The rows of responses of one job; those of its timings are kept beside."""
    key = key_of(server, **settings)
    with lazy_model(key, Store(folder), 1) as model:
        rows, timings = ask_all(asked, model, Journal(folder / "j"), Failures(folder / "f", 3), key)
    (folder / "timings.json").write_text(json.dumps(timings))
    return rows


def test_who_answered_stands_with_every_answer(tmp_path: Path) -> None:
    asked = works(("a", questions("a", 3)), ("b", questions("b", 1)))
    with ChatServer() as server:
        rows = asked_by(server, asked, tmp_path)
    assert [row["text"] for row in rows] == ["0", "1", "2", "0"] and {row["error"] for row in rows} == {""}
    assert [row["served"] for row in json.loads((tmp_path / "timings.json").read_text())] == [[MODEL], [MODEL]]
    journal = Journal(tmp_path / "j")
    assert {served_by(journal.get(entry)) for work in asked for entry in work.entries} == {MODEL}
    assert all(line[-1] == MODEL for line in read_lines(tmp_path / "j"))


def test_a_job_whose_answers_are_there_needs_neither_server_nor_key(tmp_path: Path) -> None:
    asked = works(("a", questions("a", 3)))
    with ChatServer() as server:
        rows = asked_by(server, asked, tmp_path)
    assert asked_by(server, asked, tmp_path, key="MISSING_API_KEY") == rows


def test_another_models_answers_are_no_answers_and_are_kept_out(tmp_path: Path) -> None:
    asked = works(("a", questions("a", 6)))
    with ChatServer(lambda one: Says(completion(one, model="toy-2" if one.prompt == "a 3" else MODEL))) as server:
        rows = asked_by(server, asked, tmp_path)
    assert [row["error"] for row in rows] == ["", "", "", "other_model", "", ""]
    assert len(Journal(tmp_path / "j")) == 5


def test_failures_are_asked_again_and_answers_are_not(tmp_path: Path) -> None:
    asked = works(("a", questions("a", 4)), ("b", questions("b", 4)))
    with ChatServer(lambda one: error(500) if one.prompt in ("a 1", "b 0") else well(one)) as server:
        rows = asked_by(server, asked, tmp_path)
    assert Counter(row["error"] for row in rows) == {"": 6, "server_error": 2}
    with ChatServer() as server:
        rows = asked_by(server, asked, tmp_path)
        assert sorted(server.prompts) == ["a 1", "b 0"]
    assert {row["error"] for row in rows} == {""} and Failures(tmp_path / "f", 3).due() == Counter()


def test_a_question_that_two_clips_share_is_paid_for_once(tmp_path: Path) -> None:
    shared = [replace(one, request_id=f"x#{at}") for at, one in enumerate(questions("a", 2))]
    asked = [replace(work, recipe="") for work in works(("a", questions("a", 2)), ("b", shared))]
    with ChatServer() as server:
        rows = asked_by(server, asked, tmp_path)
        assert sorted(server.prompts) == ["a 0", "a 1"]
    assert [row["text"] for row in rows] == ["0", "1", "0", "1"]


def test_a_server_that_fails_alike_from_the_start_ends_the_job(tmp_path: Path) -> None:
    asked = works(*((clip, questions(clip, 5)) for clip in "abcdefgh"))
    with ChatServer(lambda one: Says(completion(one, model="toy-2"))) as server:
        with pytest.raises(UserError, match=r"questions all failed: other_model .*'toy-2' answered, not 'toy-1'"):
            asked_by(server, asked, tmp_path, concurrency=2)
        assert len(server.asked) < 15
    assert not (tmp_path / "j").exists() and not (tmp_path / "f").exists()


def test_a_mistake_loses_no_answer(tmp_path: Path) -> None:
    asked = works(*((clip, questions(clip, 5)) for clip in "abcd"))
    with ChatServer(lambda one: error(401) if one.prompt == "c 2" else well(one)) as server:
        with pytest.raises(UserError, match="refuses the key"):
            asked_by(server, asked, tmp_path)
        answered = len(server.asked) - 1
    assert len(Journal(tmp_path / "j")) == answered >= 8


def test_a_server_that_dies_in_the_middle_is_given_up(tmp_path: Path) -> None:
    asked = works(*((clip, questions(clip, 5)) for clip in "abcdefgh"))
    with ChatServer(lambda one: well(one) if one.prompt[0] in "ab" else error(503, message="shutting down")) as server:
        with pytest.raises(UserError, match=r"the last 6 questions .* server_error: HTTP 503: shutting down\. Answers"):
            asked_by(server, asked, tmp_path, concurrency=2)
        assert len(server.asked) < 20, "the others are not tried"
    assert len(Journal(tmp_path / "j")) == 10
    with ChatServer() as server:
        rows = asked_by(server, asked, tmp_path, concurrency=2)
        assert len(server.asked) == 30 and {row["error"] for row in rows} == {""}


# --- whole jobs ------------------------------------------------------------------------------------------------------


@pytest.fixture
def job(tmp_path: Path) -> "Job":
    return Job(tmp_path)


class Job:
    """The inputs of the stage: clips in a store, frames of them, and questions."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.store = folder, Store(folder / "store")
        video = barcode_video(folder / "v.mp4", 48, width=32, height=32)
        ledger, plans, rows = [], [], []
        for at in range(CLIPS):
            name, copy = f"c{at}", folder / f"{at}.mp4"
            copy.write_bytes(video.read_bytes())
            kept = self.store.keep_file(copy, "clips", f"{at:064d}", ".mp4")
            plans.append({"clip_id": name, "indices": FRAMES, "times_s": [one / RATE for one in FRAMES], "note": ""})
            ledger.append({
                "clip_id": name, "unit": name, "status": "ok", "object": str(kept.relative_to(self.store.root)),
                "recipe": f"recipe {at}", "sha256": self.store.digest(kept), "bytes": kept.stat().st_size,
                "black_start": None, "black_end": None, "message": "",
            })  # fmt: skip
            rows += [
                request_row(
                    f"{name}.{n}#pos", clip_id=name, ask="write", prompt=f"{name} {n}", max_tokens=8, options=[]
                )
                for n in range(QUESTIONS)
            ]
        write_table(pl.DataFrame(ledger, schema=CLIP_LEDGER), folder / "clips.parquet", CLIP_LEDGER)
        write_table(pl.DataFrame(plans, schema=FRAME_PLAN), folder / "frames.parquet", FRAME_PLAN)
        write_table(pl.DataFrame(rows, schema=REQUESTS), folder / "requests.parquet", REQUESTS)
        self.entries = {
            entry_id(f"recipe {at}", prompt_digest(request(f"c{at} {n}", "write", max_tokens=8))): f"c{at} {n}"
            for at in range(CLIPS)
            for n in range(QUESTIONS)
        }

    def start(self, key: ModelRunKey, store: Path | None = None, **environment: str) -> subprocess.Popen[bytes]:
        (self.folder / "key.json").write_text(key.model_dump_json())
        inputs = {
            "key": "key.json", "requests": "requests.parquet", "frames": "frames.parquet", "ledgers": "clips.parquet",
            "store": str(store or "store"), "threads": "1", "attempts": "3", "out": "out.parquet", "timings": "t.parquet",
            "log": "log",
        }  # fmt: skip
        command = [sys.executable, "-m", "reprise.stages.infer"]
        command += [word for name, value in inputs.items() for word in (f"--{name}", value)]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(command, cwd=self.folder, stderr=log, env=os.environ | environment)

    def run(self, key: ModelRunKey, **environment: str) -> int:
        return self.start(key, **environment).wait(120)

    def journaled(self, key: ModelRunKey) -> set[str]:
        """The prompts whose answers are kept."""
        return {self.entries[str(line[0])] for line in read_lines(journal_path(self.store, key.key))}


def test_a_killed_job_pays_for_no_answer_twice_and_ends_the_same(job: Job) -> None:
    """Kills at random moments, 20 of them with FAULTS=whole: what was kept when a job died is not asked again."""
    draw = random.Random(13)
    delays = {f"c{clip} {n}": draw.uniform(0.01, 0.3) for clip in range(CLIPS) for n in range(QUESTIONS)}

    def says(asked: Asked) -> Says:
        return replace(well(asked), delay=delays[asked.prompt])

    with ChatServer(says) as server:
        key = key_of(server, concurrency=3, check_frames=False)
        for kill in range(KILLS):
            kept, before = job.journaled(key), len(server.asked)
            enough = before + draw.randrange(5, 10)
            process = job.start(key)
            while len(server.asked) < enough:
                assert process.poll() is None, (job.folder / "log").read_text()
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert not kept & set(server.prompts[before:]), kill
        kept, before = job.journaled(key), len(server.asked)
        assert 3 <= len(kept) < CLIPS * QUESTIONS
        assert job.run(key) == 0, (job.folder / "log").read_text()
        assert sorted(server.prompts[before:]) == sorted(set(delays) - kept), "each of the others once"
        resumed = (job.folder / "out.parquet").read_bytes()
        journal_path(job.store, key.key).unlink()
        assert job.run(key) == 0
    assert (job.folder / "out.parquet").read_bytes() == resumed, "as without a kill"
    timings = read_table(job.folder / "t.parquet", TIMINGS)
    assert timings["served"].to_list() == [[MODEL]] * CLIPS and timings["preprocess"].null_count() == 0


def test_no_secret_is_left_anywhere(job: Job) -> None:
    """Of a server that repeats the key in answers, errors and names, with the SDK's own log turned on."""

    def says(asked: Asked) -> Says:
        if asked.prompt.endswith("1"):
            return error(400, message=f"your key {KEY} is odd")
        return Says(completion(asked, f"{asked.headers['authorization']}"[:7], model=MODEL))

    with ChatServer(says) as server:
        key = key_of(server, key="VENDOR_API_KEY")
        assert job.run(key, VENDOR_API_KEY=KEY, OPENAI_LOG="debug") == 0
        assert {asked.headers["authorization"] for asked in server.asked} == {f"Bearer {KEY}"}
        server.says = lambda asked: error(401, message=f"Incorrect API key provided: {KEY}")
        journal_path(job.store, key.key).unlink()
        assert job.run(key, VENDOR_API_KEY=KEY, OPENAI_LOG="debug") == 1
    log = (job.folder / "log").read_text()
    assert "is odd" in log and "VENDOR_API_KEY" in log
    holding = [path for path in job.folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert holding == []

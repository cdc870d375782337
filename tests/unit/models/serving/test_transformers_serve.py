"""The adapter `openai` against a server that others wrote: `transformers serve` with the demo's language model."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from reprise.models.base import Answer
from reprise.models.local.text import TextAdapter
from reprise.models.remote.openai import OpenAIAdapter

from tests.unit.asked import BLIND, request, spec

CHECKPOINT = Path(__file__).parents[4] / "resources/demo/checkpoints/qwen2-text"
QUESTIONS = [f"Which is right about clip {number}?\nA. The ball rolls left.\nB. It rolls right." for number in range(6)]
OPTIONS = ("A", "B")
SERVED_AS = f"{CHECKPOINT}@main"
SECONDS = 120
PROGRAM = """
from transformers.cli.transformers import main
main()
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the server answers."""
    folder = tmp_path_factory.mktemp("server")
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    command = [sys.executable, "-c", PROGRAM, "serve", str(CHECKPOINT)]
    environment = os.environ | {"HF_HUB_CACHE": str(folder), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"],
            env=environment, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        _wait_for(f"http://127.0.0.1:{port}/health", process, folder / "log")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text()
        try:
            if httpx2.get(url, trust_env=False).status_code == 200:
                return
        except httpx2.HTTPError:
            time.sleep(0.2)
    raise AssertionError(log.read_text())


def ask(url: str, prompts: list[str], what: str = "write", **settings: Any) -> list[Answer]:
    adapter = OpenAIAdapter(spec(url=url, model=str(CHECKPOINT), retries=0, concurrency=2, **settings))
    return list(adapter.answers(BLIND, [request(prompt, what, OPTIONS) for prompt in prompts]))


def test_it_writes_what_the_checkpoint_writes(url: str) -> None:
    served = ask(url, QUESTIONS, served_as=SERVED_AS)
    direct = list(TextAdapter(spec(CHECKPOINT)).answers(BLIND, [request(prompt, "write") for prompt in QUESTIONS]))
    assert [(answer.error, answer.text) for answer in served] == [("", answer.text) for answer in direct]
    assert all(answer.text and answer.tokens_in > 0 for answer in served)


def test_it_names_another_model_than_was_asked_for(url: str) -> None:
    (answer,) = ask(url, QUESTIONS[:1])
    assert (answer.error, SERVED_AS in answer.message) == ("other_model", True)


def test_it_gives_no_scores_and_that_is_said(url: str) -> None:
    given = {"scores": "logprob_token_ids", "option_tokens": {"A": 5, "B": 6}, "served_as": SERVED_AS}
    (answer,) = ask(url, QUESTIONS[:1], "score", **given)
    assert (answer.error, "logprob_token_ids" in answer.message) == ("bad_request", True)

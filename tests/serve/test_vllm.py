"""vLLM behind the adapter `openai`: the numbers of `transformers`, the shared prefix, two runs at once, kills."""

import os
import re
import signal
import time
from dataclasses import replace
from pathlib import Path

import httpx2
import psutil
import pytest
from reprise.core.schemas import RESPONSES, read_table
from reprise.core.store import Store
from reprise.models.asking.money.prices import NO_BUDGET, Account
from reprise.models.base import Answer
from reprise.models.local.transformers import TransformersAdapter
from reprise.models.remote.openai import OpenAIAdapter
from reprise.models.remote.serving.settings import Hosting, Serving

from tests.serve.conftest import CHECKPOINT, NAME
from tests.unit.asked import BLIND, request, shown, spec
from tests.unit.stages.served_job import CLIPS, QUESTIONS, Job
from tests.unit.stages.test_infer_servers import hosted_key
from tests.unit.videos import barcode_video

FRAMES = (0, 5, 11, 17, 23, 29, 35, 41)
QUESTION = (
    "Carefully watch the video and pay attention to the sequence of events, the details and actions of persons. Here is a "
    "caption that describes the video: a {} circle moves to the left. Does the video entail the caption? Yes or No."
)
ASKED = [request(QUESTION.format(colour), "score", ("Yes", "No")) for colour in ("red", "green", "blue", "white")]
# The engine keeps whole blocks of 128 tokens.
LONG_START = 40 * "Look at the order of the events. "
CLOSE = 1e-4
VIDEO = {"frames": "video"}


def adapter(host: dict[str, str], folder: Path) -> OpenAIAdapter:
    """As `reprise check` makes it: nobody is paid by a server of our own."""
    own = Account(folder, "toy", None, NO_BUDGET, is_paid=False)
    asking = spec(**host, model=NAME, frames="video", scores="logprob_token_ids")
    return OpenAIAdapter(replace(asking, account=own))


def e(answer: Answer) -> float:
    yes, no = answer.scores
    return yes / (yes + no)


@pytest.mark.parametrize("indices", [FRAMES, FRAMES[:1], ()])
def test_scores_are_those_of_transformers(host: dict[str, str], tmp_path: Path, indices: tuple[int, ...]) -> None:
    clip = shown(barcode_video(tmp_path / "v.mp4"), indices) if indices else BLIND
    native = list(TransformersAdapter(spec(CHECKPOINT)).answers(clip, ASKED))
    served = list(adapter(host, tmp_path).answers(clip, ASKED))
    assert [one.frames_shown for one in served] == [len(indices)] * len(ASKED) == [one.frames_shown for one in native]
    for mine, its in zip(served, native, strict=True):
        assert abs(e(mine) - e(its)) <= CLOSE
        assert mine.scores == pytest.approx(its.scores, abs=CLOSE)
    assert len({e(one) for one in served}) == len(ASKED), "the caption matters"


def prefix_hits(host: dict[str, str]) -> float:
    """Tokens that the server did not compute again."""
    text = httpx2.get(f"{host['url'].removesuffix('/v1')}/metrics").text
    return sum(map(float, re.findall(r"^vllm:prefix_cache_hits_total\{.*\} (\S+)$", text, re.MULTILINE)))


def test_what_questions_of_a_clip_begin_with_is_computed_once(host: dict[str, str], tmp_path: Path) -> None:
    clip = shown(barcode_video(tmp_path / "other.mp4", width=160), FRAMES)
    asked = [replace(one, prompt=LONG_START + one.prompt) for one in ASKED]
    before = prefix_hits(host)
    answers = list(adapter(host, tmp_path).answers(clip, asked))
    assert {one.error for one in answers} == {""}
    assert prefix_hits(host) - before > 0.5 * sum(one.tokens_in for one in answers[1:]) > 0


def test_a_killed_job_leaves_no_engine_and_the_next_one_goes_on(
    server: tuple[Serving, Hosting], weights: Path, engines: Store, tmp_path: Path
) -> None:
    job = Job(tmp_path)
    (tmp_path / "envs").symlink_to(Path("envs").resolve())
    (job.store.root / "environments").symlink_to(engines.root.resolve() / "environments")
    key = hosted_key(job)
    serving, hosting = server
    answers = key.answers.model_copy(update={"serving": serving, "settings": key.answers.settings | VIDEO})
    key = key.model_copy(update={"answers": answers, "hosting": hosting, "checkpoint": str(weights)})
    process = job.start(key)
    while len(kept := job.journaled(key)) < 3:
        assert process.poll() is None, (job.folder / "log").read_text()
        time.sleep(0.02)
    engine = engine_of(process.pid)
    assert len(engine) >= 3, "its server and its workers"
    process.send_signal(signal.SIGKILL)
    process.wait()
    psutil.wait_procs(engine, timeout=20)
    assert not [one for one in engine if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
    assert kept <= (kept := job.journaled(key)) and len(kept) < CLIPS * QUESTIONS
    again = job.start(key)
    assert again.wait(600) == 0, (job.folder / "log").read_text()
    assert set(read_table(job.folder / "out.parquet", RESPONSES)["error"]) == {""}
    assert len(job.journaled(key)) == CLIPS * QUESTIONS


def engine_of(job: int) -> list[psutil.Process]:
    """All processes that a job's keeper has started, itself included."""
    return [one for one in psutil.Process(job).children(recursive=True) if os.getpgid(one.pid) != os.getpgid(job)]

"""vLLM on the CPU behind the adapter `openai`: the numbers of `transformers`, and a kill.

The environment is installed by the function of the workflow's rule and kept for the next run.
"""

import asyncio
import os
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from reprise.core.errors import UserError
from reprise.core.schemas import RESPONSES, read_table
from reprise.core.store import Store
from reprise.models.base import Answer, AnswerError
from reprise.models.inference.money.prices import NO_BUDGET, Account
from reprise.models.local import torchvision_operators
from reprise.models.local.transformers import TransformersAdapter
from reprise.models.remote.images_preparer import ImagesPreparer
from reprise.models.remote.openai import DROPPED_FRAMES_ERRORS, OpenAIAdapter, RequestBuilder
from reprise.models.remote.serving.environment import compute_pins_digest, install_environment, pins_file
from reprise.models.remote.serving.host import ServerProcess
from reprise.models.remote.serving.settings import (
    LaunchSettings,
    ServerSettings,
    ServingKey,
    build_launch_settings,
    build_serving_key,
)
from safetensors.torch import load_file, save_file

from tests.unit.requests import BLIND, request, shown, spec
from tests.unit.stages.served_job import CLIPS, QUESTIONS, Job, run_key
from tests.unit.videos import barcode_video

ROOT = Path(__file__).parents[2]
CHECKPOINT = ROOT / "resources/demo/checkpoints/llava-ov-late"
NAME = "toy@1"
FRAMES = (0, 5, 11, 17, 23, 29, 35, 41)
QUESTION = (
    "Carefully watch the video and pay attention to the sequence of events, the details and actions of persons. Here is a "
    "caption that describes the video: a {} circle moves to the left. Does the video entail the caption? Yes or No."
)
ASKED = [request(QUESTION.format(colour), "score", ("Yes", "No")) for colour in ("red", "green", "blue", "white")]
CLOSE = 1e-4
VIDEO = {"frames": "video"}


@pytest.fixture(scope="session")
def engines() -> Store:
    os.chdir(ROOT)
    store = Store(ROOT / ".cache" / "serve")
    (packages,) = (install_environment("serve-cpu", store) / "lib").glob("python*/site-packages")
    # pip takes a torchvision for CUDA beside a torch for processors here too.
    shutil.copy(torchvision_operators.__file__, packages)
    (packages / "torchvision.pth").write_text("import torchvision_operators as one; one.declare_when_imported()\n")
    return store


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the toy checkpoint with vLLM's names of the vision tower's weights."""
    folder = tmp_path_factory.mktemp("weights") / "late"
    shutil.copytree(CHECKPOINT, folder)
    tensors = load_file(CHECKPOINT / "model.safetensors")
    renamed = {name.replace("vision_tower.", "vision_tower.vision_model."): one for name, one in tensors.items()}
    save_file(renamed, folder / "model.safetensors", {"format": "pt"})
    return folder


@pytest.fixture(scope="session")
def server(engines: Store) -> tuple[ServingKey, LaunchSettings]:
    served = ServerSettings(
        engine="vllm",
        environment="serve-cpu",
        arguments=["--enforce-eager", "--max-num-seqs", "8"],
        variables={"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"},
        start_minutes=15,
    )
    pins = compute_pins_digest(pins_file(served.environment))
    serving = build_serving_key(served, pins, dtype="float32", trust_remote_code=False, is_video=True)
    return serving, build_launch_settings(served, gpus=0)


@pytest.fixture(scope="module")
def host(
    server: tuple[ServingKey, LaunchSettings], weights: Path, engines: Store, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """Yield the settings for reaching a running server."""
    home, log = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("logs") / "server.log"
    running = ServerProcess(*server, weights=weights, name=NAME, store=engines, log_file=log)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "HF_HOME"):
            patch.delenv(name, raising=False)
        try:
            yield running.start()
        finally:
            running.close()
    assert not list(home.rglob("*")), "caches are in the store"
    assert "Auto-fit max_model_len" in log.read_text()


def adapter(host: dict[str, str], folder: Path, **settings: object) -> OpenAIAdapter:
    """Return the adapter as in `reprise check`, without costs."""
    own = Account(folder, "toy", None, NO_BUDGET, is_paid=False)
    asking = spec(**host, **({"model": NAME, "frames": "video", "scores": "logprob_token_ids"} | settings))
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


def test_frames_that_are_sent_once_give_the_same_scores(host: dict[str, str], tmp_path: Path) -> None:
    clips = [barcode_video(tmp_path / f"{at}.mp4", 48 + at) for at in range(3)]
    given: list[list[Answer]] = []
    for frames_once in (False, True):
        asking = adapter(host, tmp_path, frames_once=frames_once)
        given.append([answer for clip in clips for answer in asking.answers(shown(clip, FRAMES), ASKED)])
    assert not any(answer.error for answers in given for answer in answers)
    for each_time, once in zip(*given, strict=True):
        assert once.scores == pytest.approx(each_time.scores, abs=1e-6)
        assert (once.frames_shown, once.tokens_in) == (each_time.frames_shown, each_time.tokens_in)


def test_vllm_rejects_an_id_that_it_has_not_cached(host: dict[str, str], tmp_path: Path) -> None:
    """Its error is one after which the frames are sent again."""
    asking = adapter(host, tmp_path, frames_once=True)
    clip = shown(barcode_video(tmp_path / "v.mp4"), FRAMES)
    preparer = ImagesPreparer(spec())
    frames = preparer.prepare(clip, preparer.read(clip), ASKED)

    async def ask_unknown() -> None:
        async with asking.connect():
            body = RequestBuilder(asking.settings, frames).build_request(ASKED[0], 1, is_cached=True)
            await asking.complete(body, ASKED[0], frames.shape, 1)

    with pytest.raises(AnswerError) as refused:
        asyncio.run(ask_unknown())
    assert refused.value.status in DROPPED_FRAMES_ERRORS, refused.value


def test_a_failed_start_reports_its_cause(
    server: tuple[ServingKey, LaunchSettings], engines: Store, tmp_path: Path
) -> None:
    """The weights have names unknown to vLLM; the worker's traceback is far before the end of the log."""
    with pytest.raises(
        UserError, match=r"vllm does not start: ValueError: There is no module or parameter named 'vision_tower"
    ):
        ServerProcess(*server, weights=CHECKPOINT, name=NAME, store=engines, log_file=tmp_path / "log").start()


def test_a_killed_job_leaves_no_engine_and_the_next_one_goes_on(
    server: tuple[ServingKey, LaunchSettings], weights: Path, engines: Store, tmp_path: Path
) -> None:
    job = Job(tmp_path)
    (tmp_path / "envs").symlink_to(Path("envs").resolve())
    (job.store.root / "environments").symlink_to(engines.root.resolve() / "environments")
    serving, hosting = server
    settings = {"url": "http://127.0.0.1/v1", "model": NAME, "concurrency": 3, "retries": 0, **VIDEO}
    given = {"checkpoint": str(weights), "hosting": hosting}
    key = run_key("openai", settings, serving, without=("url", "key"), **given)
    process = job.start(key)
    while len(kept := job.cached_prompts(key)) < 3:
        assert process.poll() is None, (job.folder / "log").read_text()
        time.sleep(0.02)
    engine = engine_of(process.pid)
    assert len(engine) >= 3, "its server and its workers"
    process.send_signal(signal.SIGKILL)
    process.wait()
    psutil.wait_procs(engine, timeout=20)
    assert not [one for one in engine if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
    assert kept <= (kept := job.cached_prompts(key)) and len(kept) < CLIPS * QUESTIONS
    again = job.start(key)
    assert again.wait(600) == 0, (job.folder / "log").read_text()
    assert set(read_table(job.folder / "out.parquet", RESPONSES)["error"]) == {""}
    assert len(job.cached_prompts(key)) == CLIPS * QUESTIONS


def engine_of(job: int) -> list[psutil.Process]:
    """Return a job's supervisor and all processes that it started."""
    return [one for one in psutil.Process(job).children(recursive=True) if os.getpgid(one.pid) != os.getpgid(job)]

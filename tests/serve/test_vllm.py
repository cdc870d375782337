"""Test vLLM on the CPU behind the adapter `openai`: scores equal to those of `transformers`, and a killed job.

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
from reprise.models.remote.serving.environment import compute_pins_digest, get_pins_path, install_environment
from reprise.models.remote.serving.host import ServerProcess
from reprise.models.remote.serving.settings import (
    LaunchSettings,
    ServerSettings,
    ServingKey,
    build_launch_settings,
    build_serving_key,
)
from safetensors.torch import load_file, save_file

from tests.unit.requests import NO_FRAMES, clip_frames, make_request, model_spec
from tests.unit.stages.served_job import CLIP_COUNT, REQUESTS_PER_CLIP, Job, make_divided_key
from tests.unit.videos import barcode_video

ROOT = Path(__file__).parents[2]
CHECKPOINT = ROOT / "resources/demo/checkpoints/llava-ov-late"
NAME = "toy@1"
FRAMES = (0, 5, 11, 17, 23, 29, 35, 41)
QUESTION = (
    "Carefully watch the video and pay attention to the sequence of events, the details and actions of persons. Here is a "
    "caption that describes the video: a {} circle moves to the left. Does the video entail the caption? Yes or No."
)
REQUESTS = [
    make_request(QUESTION.format(colour), "score", ("Yes", "No")) for colour in ("red", "green", "blue", "white")
]
TOLERANCE = 1e-4
VIDEO_SETTINGS = {"frames": "video"}


@pytest.fixture(scope="session")
def engines() -> Store:
    os.chdir(ROOT)
    store = Store(ROOT / ".cache" / "serve")
    (packages,) = (install_environment("serve-cpu", store) / "lib").glob("python*/site-packages")
    # pip installs a torchvision for CUDA next to a torch for CPUs.
    shutil.copy(torchvision_operators.__file__, packages)
    (packages / "torchvision.pth").write_text("import torchvision_operators as one; one.declare_when_imported()\n")
    return store


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the toy checkpoint with vLLM's names of the vision tower's weights."""
    folder = tmp_path_factory.mktemp("weights") / "late"
    shutil.copytree(CHECKPOINT, folder)
    tensors = load_file(CHECKPOINT / "model.safetensors")
    renamed = {name.replace("vision_tower.", "vision_tower.vision_model."): tensor for name, tensor in tensors.items()}
    save_file(renamed, folder / "model.safetensors", {"format": "pt"})
    return folder


@pytest.fixture(scope="session")
def server(engines: Store) -> tuple[ServingKey, LaunchSettings]:
    server_settings = ServerSettings(
        engine="vllm",
        environment="serve-cpu",
        arguments=["--enforce-eager", "--max-num-seqs", "8"],
        variables={"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"},
        start_minutes=15,
    )
    pins = compute_pins_digest(get_pins_path(server_settings.environment))
    serving = build_serving_key(server_settings, pins, dtype="float32", trust_remote_code=False, is_video=True)
    return serving, build_launch_settings(server_settings, gpus=0)


@pytest.fixture(scope="module")
def host(
    server: tuple[ServingKey, LaunchSettings], weights: Path, engines: Store, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """Yield the settings for reaching a running server."""
    home, log = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("logs") / "server.log"
    running = ServerProcess(*server, weights_folder=weights, model_name=NAME, store=engines, log_file=log)
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
    account = Account(folder, "toy", None, NO_BUDGET, is_paid=False)
    spec = model_spec(**host, **({"model": NAME, "frames": "video", "scores": "logprob_token_ids"} | settings))
    return OpenAIAdapter(replace(spec, account=account))


def entailment_score(answer: Answer) -> float:
    yes, no = answer.scores
    return yes / (yes + no)


@pytest.mark.parametrize("indices", [FRAMES, FRAMES[:1], ()])
def test_scores_are_those_of_transformers(host: dict[str, str], tmp_path: Path, indices: tuple[int, ...]) -> None:
    clip = clip_frames(barcode_video(tmp_path / "v.mp4"), indices) if indices else NO_FRAMES
    native = list(TransformersAdapter(model_spec(CHECKPOINT)).answers(clip, REQUESTS))
    served = list(adapter(host, tmp_path).answers(clip, REQUESTS))
    assert (
        [answer.frames_shown for answer in served]
        == [len(indices)] * len(REQUESTS)
        == [answer.frames_shown for answer in native]
    )
    for answer, native_answer in zip(served, native, strict=True):
        assert abs(entailment_score(answer) - entailment_score(native_answer)) <= TOLERANCE
        assert answer.scores == pytest.approx(native_answer.scores, abs=TOLERANCE)
    assert len({entailment_score(answer) for answer in served}) == len(REQUESTS), "the caption affects the score"


def test_frames_sent_once_give_the_same_scores(host: dict[str, str], tmp_path: Path) -> None:
    clips = [barcode_video(tmp_path / f"{number}.mp4", 48 + number) for number in range(3)]
    answers_by_setting: list[list[Answer]] = []
    for frames_once in (False, True):
        openai = adapter(host, tmp_path, frames_once=frames_once)
        answers_by_setting.append(
            [answer for clip in clips for answer in openai.answers(clip_frames(clip, FRAMES), REQUESTS)]
        )
    assert not any(answer.error for answers in answers_by_setting for answer in answers)
    for repeated, sent_once in zip(*answers_by_setting, strict=True):
        assert sent_once.scores == pytest.approx(repeated.scores, abs=1e-6)
        assert (sent_once.frames_shown, sent_once.tokens_in) == (repeated.frames_shown, repeated.tokens_in)


def test_vllm_rejects_an_id_that_it_has_not_cached(host: dict[str, str], tmp_path: Path) -> None:
    """After this error, the adapter sends the frames again."""
    openai = adapter(host, tmp_path, frames_once=True)
    clip = clip_frames(barcode_video(tmp_path / "v.mp4"), FRAMES)
    preparer = ImagesPreparer(model_spec())
    frames = preparer.prepare(clip, preparer.read(clip), REQUESTS)

    async def ask_unknown() -> None:
        async with openai.connect():
            body = RequestBuilder(openai.settings, frames).build_request(REQUESTS[0], 1, is_cached=True)
            await openai.complete(body, REQUESTS[0], frames.shape, 1)

    with pytest.raises(AnswerError) as error:
        asyncio.run(ask_unknown())
    assert error.value.status in DROPPED_FRAMES_ERRORS, error.value


def test_a_failed_start_reports_its_cause(
    server: tuple[ServingKey, LaunchSettings], engines: Store, tmp_path: Path
) -> None:
    """The weights have names unknown to vLLM; the worker's traceback is far before the end of the log."""
    with pytest.raises(
        UserError, match=r"vllm does not start: ValueError: There is no module or parameter named 'vision_tower"
    ):
        ServerProcess(
            *server, weights_folder=CHECKPOINT, model_name=NAME, store=engines, log_file=tmp_path / "log"
        ).start()


def test_a_killed_job_leaves_no_engine_and_the_next_job_continues(
    server: tuple[ServingKey, LaunchSettings], weights: Path, engines: Store, tmp_path: Path
) -> None:
    job = Job(tmp_path)
    (tmp_path / "envs").symlink_to(Path("envs").resolve())
    (job.store.root / "environments").symlink_to(engines.root.resolve() / "environments")
    serving, hosting = server
    settings = {"url": "http://127.0.0.1/v1", "model": NAME, "concurrency": 3, "retries": 0, **VIDEO_SETTINGS}
    key_options = {"checkpoint": str(weights), "hosting": hosting}
    key = make_divided_key("openai", settings, serving, without=("url", "key"), **key_options)
    process = job.start(key)
    while len(cached := job.cached_prompts(key)) < 3:
        assert process.poll() is None, (job.folder / "log").read_text()
        time.sleep(0.02)
    engine = engine_processes(process.pid)
    assert len(engine) >= 3, "its server and its workers"
    process.send_signal(signal.SIGKILL)
    process.wait()
    psutil.wait_procs(engine, timeout=20)
    assert not [
        engine_process
        for engine_process in engine
        if engine_process.is_running() and engine_process.status() != psutil.STATUS_ZOMBIE
    ]
    assert cached <= (cached := job.cached_prompts(key)) and len(cached) < CLIP_COUNT * REQUESTS_PER_CLIP
    second_process = job.start(key)
    assert second_process.wait(600) == 0, (job.folder / "log").read_text()
    assert set(read_table(job.folder / "out.parquet", RESPONSES)["error"]) == {""}
    assert len(job.cached_prompts(key)) == CLIP_COUNT * REQUESTS_PER_CLIP


def engine_processes(job: int) -> list[psutil.Process]:
    """Return a job's supervisor and all processes that it started."""
    return [
        process
        for process in psutil.Process(job).children(recursive=True)
        if os.getpgid(process.pid) != os.getpgid(job)
    ]

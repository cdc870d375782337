"""Test the requests of the papers' closed models, from the configuration to the server."""

import base64
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image as Picture
from reprise.benchmarks.annotations import Item
from reprise.benchmarks.prompts import Prompt, load_prompts
from reprise.benchmarks.question_forms import Question, build_request_row
from reprise.core.errors import UserError
from reprise.core.paths import Run
from reprise.core.schemas import CLIP_MANIFEST, FRAME_PLAN, REQUESTS, build_table
from reprise.core.store import Store
from reprise.media import sampling
from reprise.media.decoder import read_frames
from reprise.models.base import ModelSpec
from reprise.models.inference.response_cache import ClipRequests
from reprise.models.keys import ModelRunKey
from reprise.models.remote.openai import OpenAIAdapter
from reprise.plan.run_keys import RunKeys
from reprise.stages.clip_requests import gather_clip_requests

from tests.unit.config.conftest import Project
from tests.unit.models import vendor_servers
from tests.unit.models.chat_server import MODEL, ChatServer, ReceivedRequest
from tests.unit.requests import model_spec
from tests.unit.videos import RATE, barcode_video, read_barcodes

FRAME_COUNT, WIDTH, HEIGHT = 20, 640, 360
QUESTION = "Which caption?\nA. a\nB. b\nAnswer with the option's letter from the given choices directly."
SYSTEM = {"role": "system", "content": "You are an expert in video understanding."}
SENTENCE = "These are the frames from the video."


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return barcode_video(tmp_path_factory.mktemp("clip") / "a.mp4", FRAME_COUNT, width=WIDTH, height=HEIGHT)


def configure_model(project: Project, server: ChatServer, slug: str = "gpt-4o") -> None:
    """Give a closed model its own file, as docs/howto/vendors.md describes."""
    lines = (project.root / "config/external.yaml").read_text().splitlines(keepends=True)
    project.write("config/external.yaml", "".join(line for line in lines if not line.startswith(f"{slug}:")))
    settings = f"{{url: '{server.url}', model: {MODEL}, image_tokens: 85, check_frames: false}}"
    project.write(f"config/models/{slug}.yaml", f"label: GPT\nadapter: openai\nsettings: {settings}\n")
    project.edit("config/suites/paper.yaml", "run: [none]", f"run: [{slug}]")


def plan_clip_requests(clip: Path, key: ModelRunKey, prompt_values: dict[str, str]) -> ClipRequests:
    """Return one request about a clip with the prompt and frames that the run's key defines."""
    rule, times = key.answers.sampling, [n / RATE for n in range(FRAME_COUNT)]
    frame_plan = sampling.plan_frames(rule, FRAME_COUNT, times)
    item = Item("i", "c", "c", "t", {}, "A")
    row = build_request_row("r", item, Question("q", prompt_values), Prompt(**key.answers.prompt), "choose", 128)
    plan: dict[str, Any] = {
        "clip_id": "c", "indices": frame_plan.indices, "times_s": frame_plan.times_s, "grid": frame_plan.grid, "note": "", "shown_clip": None
    }  # fmt: skip
    manifest_row = {"clip_id": "c", "cluster": "c", "status": "ok", "object": clip.name, "recipe": "c", "sha256": "s", "bytes": 1,
              "black_start": None, "black_end": None, "message": ""}  # fmt: skip
    tables = (
        build_table([row], REQUESTS),
        pl.DataFrame([plan], schema=FRAME_PLAN),
        pl.DataFrame([manifest_row], schema=CLIP_MANIFEST),
    )
    (clip_requests,) = gather_clip_requests(*tables, Store(clip.parent))
    return clip_requests


def capture_request(
    project: Project, clip: Path, run: str, prompt_values: dict[str, str] | None = None
) -> ReceivedRequest:
    """Return the request that a server receives for a run of the paper suite."""
    with ChatServer() as server:
        configure_model(project, server, run.split("/")[-1])
        plan = project.plan("paper")
        benchmark, _, name = run.partition("/")
        assert name in plan.config.list_runs(benchmark), "the run is in the papers' tables"
        key = RunKeys(plan).run_key(Run.parse(run))
        assert isinstance(key, ModelRunKey)
        clip_requests = plan_clip_requests(clip, key, prompt_values or {"question": QUESTION})
        list(OpenAIAdapter(_spec(key)).answers(clip_requests.clip, clip_requests.requests))
    return server.received[-1]


def _spec(key: ModelRunKey) -> ModelSpec:
    return model_spec(**key.answers.settings | key.serving)


def decode_pictures(request: ReceivedRequest) -> list[np.ndarray[Any, Any]]:
    encoded_pictures = [
        part["image_url"]["url"].split("base64,")[1] for part in request.content if part["type"] == "image_url"
    ]
    return [np.asarray(Picture.open(BytesIO(base64.b64decode(picture)))) for picture in encoded_pictures]


@pytest.mark.parametrize("count", [1, 2, 4, 8, 16, 32, 64])
def test_requests_of_temporalbench_equal_those_of_the_released_runner(project: Project, clip: Path, count: int) -> None:
    """eval/gpt-4o.py sends system prompt, sentence, frames with `detail: low` and question; a short clip has fewer frames."""
    request = capture_request(project, clip, f"temporalbench/short.authors/capped{count}/gpt-4o")
    system, user = request.body["messages"]
    assert system == SYSTEM and user["role"] == "user" and request.body["temperature"] == 0
    first, *frames, last = user["content"]
    assert (first, last) == ({"type": "text", "text": SENTENCE}, {"type": "text", "text": QUESTION})
    assert {frame["image_url"]["detail"] for frame in frames} == {"low"}
    expected = np.linspace(0, FRAME_COUNT - 1, min(count, FRAME_COUNT), dtype=int).tolist()
    assert read_barcodes(np.stack(decode_pictures(request))) == expected
    assert decode_pictures(request)[0].shape == (HEIGHT, WIDTH, 3), "the runner does not resize frames"


@pytest.mark.parametrize("protocol", ["short.authors", "long.authors"])
def test_the_prompt_mentions_frames_even_without_frames(project: Project, clip: Path, protocol: str) -> None:
    request = capture_request(project, clip, f"temporalbench/{protocol}/none/gpt-4o")
    assert request.body["messages"] == [SYSTEM, {"role": "user", "content": f"{SENTENCE} {QUESTION}"}]


def test_requests_with_four_options_equal_those_of_the_runner(project: Project, clip: Path) -> None:
    letter_by_caption = {f"caption_{letter}": letter for letter in "abcd"}
    request = capture_request(project, clip, "temporalbench/centralized.authors/none/gpt-4o", letter_by_caption)
    assert request.body["messages"][0] == SYSTEM and request.prompt.startswith(
        f"{SENTENCE} Which caption best describes"
    )


@pytest.mark.parametrize(
    "run",
    [
        "packed.low/interior8/gpt-4o",
        "packed.low/interior16/gpt-4v",
        "packed.low.subtitled/interior8/gpt-4o",
        "packed.low.subtitles/interior16/gpt-4o",
        "sets.five.low/interior1/gpt-4o",
        "sets.choice.low/interior8/gpt-4o",
        "sets.video_mme.low/interior8/gpt-4o",
    ],
)
def test_frames_of_mmbench_video_are_resized_as_in_vlmevalkit(project: Project, clip: Path, run: str) -> None:
    """`img_size=512, img_detail='low'` of its GPT4o and GPT4V uses PIL's thumbnail, which keeps the aspect ratio."""
    prompt_values = {"questions": "{}", "question": "Q?", "options": "A. a\nB. b\n", "subtitles": ""}
    request = capture_request(project, clip, f"mmbench_video/{run}", prompt_values)
    details = [part["image_url"]["detail"] for part in request.content if part["type"] == "image_url"]
    assert details == ["low"] * len(details)
    (index, *_) = sampling.plan_frames(
        {"rule": "interior", "frames": len(details)}, FRAME_COUNT, [index / RATE for index in range(FRAME_COUNT)]
    ).indices
    reference = Picture.fromarray(read_frames(clip, (index,))[0])
    reference.thumbnail((512, 512))
    assert np.array_equal(decode_pictures(request)[0], np.asarray(reference)) and reference.size == (512, 288)


def read_image_settings(project: Project, run: str) -> dict[str, Any]:
    """Return the image settings in the key of a run of GPT-4o."""
    key = RunKeys(project.plan("paper")).run_key(Run.parse(f"mmbench_video/{run}/gpt-4o"))
    assert isinstance(key, ModelRunKey)
    return {name: value for name, value in key.answers.settings.items() if name in ("detail", "image_size")}


def test_image_settings_of_a_protocol_override_those_of_the_model(project: Project, clip: Path) -> None:
    with ChatServer() as server:
        configure_model(project, server)
        low, default = (read_image_settings(project, run) for run in ("packed.low/interior8", "packed/none"))
        project.edit("config/models/gpt-4o.yaml", "image_tokens: 85", "image_tokens: 85, detail: high, image_size: 100")
        changed = [read_image_settings(project, run) for run in ("packed.low/interior8", "packed/none")]
    assert (low, default) == ({"detail": "low", "image_size": 512}, {})
    assert changed == [low, {"detail": "high", "image_size": 100}]


def test_downscaled_frames_are_rejected_for_local_models(project: Project) -> None:
    project.edit(
        "config/tables/mmbench_video.yaml",
        "model: idefics2-8b, sampling: interior8",
        "model: idefics2-8b, protocol: packed.low, sampling: interior8",
    )
    with pytest.raises(
        UserError,
        match=r"'packed.low' downscales frames \(image_size: 512\), which adapter 'transformers' does not",
    ):
        project.plan("paper")


@pytest.mark.parametrize("vendor", ["openai", "anthropic", "gemini"])
def test_every_vendor_receives_frames_at_their_place_in_the_prompt(clip: Path, vendor: str) -> None:
    key = ModelRunKey.model_validate({
        "run": "b/p/s/m", "key": "k", "answers": {
            "adapter": vendor, "sampling": {"rule": "linspace", "frames": 2}, "model": {}, "settings": {}, "dtype": "float32",
            "attention": "sdpa", "trust_remote_code": False, "prompt": {"system": "", "user": "Look:{frames} {question}"},
            "form": "f", "request_type": "choose", "max_tokens": 1, "versions": {},
        }
    })  # fmt: skip
    clip_requests = plan_clip_requests(clip, key, {"question": "What?"})
    with ChatServer(vendor_servers.VENDORS[vendor].respond) as server:
        list(vendor_servers.make_adapter(vendor, server).answers(clip_requests.clip, clip_requests.requests))
    body = server.received[-1].body
    parts = body["contents"][0]["parts"] if vendor == "gemini" else body["messages"][-1]["content"]
    assert [part.get("text") for part in parts] == ["Look:", None, None, "What?"]


@pytest.mark.parametrize("text", ["a: {user: 'x{frames}y{frames}'}", "a: {user: x, system: '{frames}'}"])
def test_a_prompt_has_one_place_for_frames(tmp_path: Path, text: str) -> None:
    (tmp_path / "prompts.yaml").write_text(text)
    with pytest.raises(UserError, match=r"prompts.yaml: a: \{frames\} may occur once in `user` and not in `system`"):
        load_prompts(tmp_path / "prompts.yaml")

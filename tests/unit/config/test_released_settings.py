"""Rows of the papers' closed models, from the configuration to the request that a server receives."""

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
from tests.unit.requests import spec
from tests.unit.videos import RATE, barcode_video, numbers

FRAMES, WIDTH, HEIGHT = 20, 640, 360
QUESTION = "Which caption?\nA. a\nB. b\nAnswer with the option's letter from the given choices directly."
SYSTEM = {"role": "system", "content": "You are an expert in video understanding."}
SENTENCE = "These are the frames from the video."


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return barcode_video(tmp_path_factory.mktemp("clip") / "a.mp4", FRAMES, width=WIDTH, height=HEIGHT)


def gpt(project: Project, server: ChatServer, slug: str = "gpt-4o") -> None:
    """Give a closed model a file of its own, as docs/howto/vendors.md says."""
    lines = (project.root / "config/external.yaml").read_text().splitlines(keepends=True)
    project.write("config/external.yaml", "".join(one for one in lines if not one.startswith(f"{slug}:")))
    settings = f"{{url: '{server.url}', model: {MODEL}, image_tokens: 85, check_frames: false}}"
    project.write(f"config/models/{slug}.yaml", f"label: GPT\nadapter: openai\nsettings: {settings}\n")
    project.edit("config/suites/paper.yaml", "run: [none]", f"run: [{slug}]")


def work(clip: Path, key: ModelRunKey, values: dict[str, str]) -> ClipRequests:
    """A question of a run about a clip, filled in and planned by the settings in the run's key."""
    rule, times = key.answers.sampling, [n / RATE for n in range(FRAMES)]
    shown = sampling.plan(rule, FRAMES, times)
    item = Item("i", "c", "c", "t", {}, "A")
    row = build_request_row("r", item, Question("q", values), Prompt(**key.answers.prompt), "choose", 128)
    plan: dict[str, Any] = {
        "clip_id": "c", "indices": shown.indices, "times_s": shown.times_s, "grid": shown.grid, "note": "", "shown_clip": None
    }  # fmt: skip
    ledger = {"clip_id": "c", "cluster": "c", "status": "ok", "object": clip.name, "recipe": "c", "sha256": "s", "bytes": 1,
              "black_start": None, "black_end": None, "message": ""}  # fmt: skip
    tables = (
        build_table([row], REQUESTS),
        pl.DataFrame([plan], schema=FRAME_PLAN),
        pl.DataFrame([ledger], schema=CLIP_MANIFEST),
    )
    (found,) = gather_clip_requests(*tables, Store(clip.parent))
    return found


def sent(project: Project, clip: Path, run: str, values: dict[str, str] | None = None) -> ReceivedRequest:
    """The request that a server receives for a run of the paper suite."""
    with ChatServer() as server:
        gpt(project, server, run.split("/")[-1])
        plan = project.plan("paper")
        benchmark, _, name = run.partition("/")
        assert name in plan.config.list_runs(benchmark), "it is a row of the papers"
        key = RunKeys(plan).run_key(Run.parse(run))
        assert isinstance(key, ModelRunKey)
        asked = work(clip, key, values or {"question": QUESTION})
        list(OpenAIAdapter(_spec(key)).answers(asked.clip, asked.requests))
    return server.received[-1]


def _spec(key: ModelRunKey) -> ModelSpec:
    return spec(**key.answers.settings | key.serving)


def pictures(asked: ReceivedRequest) -> list[np.ndarray[Any, Any]]:
    shown = [part["image_url"]["url"].split("base64,")[1] for part in asked.content if part["type"] == "image_url"]
    return [np.asarray(Picture.open(BytesIO(base64.b64decode(one)))) for one in shown]


@pytest.mark.parametrize("count", [1, 2, 4, 8, 16, 32, 64])
def test_requests_of_temporalbench_equal_those_of_the_released_runner(project: Project, clip: Path, count: int) -> None:
    """eval/gpt-4o.py: system prompt, sentence, frames with `detail: low`, question; at most the frames that there are."""
    asked = sent(project, clip, f"temporalbench/short.authors/capped{count}/gpt-4o")
    system, user = asked.body["messages"]
    assert system == SYSTEM and user["role"] == "user" and asked.body["temperature"] == 0
    first, *frames, last = user["content"]
    assert (first, last) == ({"type": "text", "text": SENTENCE}, {"type": "text", "text": QUESTION})
    assert {one["image_url"]["detail"] for one in frames} == {"low"}
    wanted = np.linspace(0, FRAMES - 1, min(count, FRAMES), dtype=int).tolist()
    assert numbers(np.stack(pictures(asked))) == wanted
    assert pictures(asked)[0].shape == (HEIGHT, WIDTH, 3), "the runner sends frames in their own size"


@pytest.mark.parametrize("protocol", ["short.authors", "long.authors"])
def test_the_prompt_mentions_frames_even_without_frames(project: Project, clip: Path, protocol: str) -> None:
    asked = sent(project, clip, f"temporalbench/{protocol}/none/gpt-4o")
    assert asked.body["messages"] == [SYSTEM, {"role": "user", "content": f"{SENTENCE} {QUESTION}"}]


def test_requests_with_four_options_equal_those_of_the_runner(project: Project, clip: Path) -> None:
    letters = {f"caption_{letter}": letter for letter in "abcd"}
    asked = sent(project, clip, "temporalbench/centralized.authors/none/gpt-4o", letters)
    assert asked.body["messages"][0] == SYSTEM and asked.prompt.startswith(f"{SENTENCE} Which caption best describes")


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
def test_frames_of_mmbench_video_are_sent_as_vlmevalkit_sends_them(project: Project, clip: Path, run: str) -> None:
    """`img_size=512, img_detail='low'` of its GPT4o and GPT4V: PIL's thumbnail, which keeps the ratio of the sides."""
    values = {"questions": "{}", "question": "Q?", "options": "A. a\nB. b\n", "subtitles": ""}
    asked = sent(project, clip, f"mmbench_video/{run}", values)
    details = [part["image_url"]["detail"] for part in asked.content if part["type"] == "image_url"]
    assert details == ["low"] * len(details)
    (index, *_) = sampling.plan(
        {"rule": "interior", "frames": len(details)}, FRAMES, [n / RATE for n in range(FRAMES)]
    ).indices
    reference = Picture.fromarray(read_frames(clip, (index,))[0])
    reference.thumbnail((512, 512))
    assert np.array_equal(pictures(asked)[0], np.asarray(reference)) and reference.size == (512, 288)


def images(project: Project, run: str) -> dict[str, Any]:
    """What the key of a run of GPT-4o says of images."""
    key = RunKeys(project.plan("paper")).run_key(Run.parse(f"mmbench_video/{run}/gpt-4o"))
    assert isinstance(key, ModelRunKey)
    return {name: value for name, value in key.answers.settings.items() if name in ("detail", "image_size")}


def test_image_settings_of_a_protocol_override_those_of_the_model(project: Project, clip: Path) -> None:
    with ChatServer() as server:
        gpt(project, server)
        low, plain = (images(project, run) for run in ("packed.low/interior8", "packed/none"))
        project.edit("config/models/gpt-4o.yaml", "image_tokens: 85", "image_tokens: 85, detail: high, image_size: 100")
        changed = [images(project, run) for run in ("packed.low/interior8", "packed/none")]
    assert (low, plain) == ({"detail": "low", "image_size": 512}, {})
    assert changed == [low, {"detail": "high", "image_size": 100}]


def test_downscaled_frames_are_refused_for_local_models(project: Project) -> None:
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
            "form": "f", "ask": "choose", "max_tokens": 1, "versions": {},
        }
    })  # fmt: skip
    found = work(clip, key, {"question": "What?"})
    with ChatServer(vendor_servers.VENDORS[vendor].respond) as server:
        list(vendor_servers.adapter(vendor, server).answers(found.clip, found.requests))
    body = server.received[-1].body
    parts = body["contents"][0]["parts"] if vendor == "gemini" else body["messages"][-1]["content"]
    assert [part.get("text") for part in parts] == ["Look:", None, None, "What?"]


@pytest.mark.parametrize("text", ["a: {user: 'x{frames}y{frames}'}", "a: {user: x, system: '{frames}'}"])
def test_a_prompt_shows_its_frames_in_one_place(tmp_path: Path, text: str) -> None:
    (tmp_path / "prompts.yaml").write_text(text)
    with pytest.raises(UserError, match=r"prompts.yaml: a: \{frames\} may occur once in `user` and not in `system`"):
        load_prompts(tmp_path / "prompts.yaml")

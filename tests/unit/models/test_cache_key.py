"""Test which settings change the key of the response cache (docs/reference/response-cache.md)."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.core.schemas import CLIP_MANIFEST, FRAME_PLAN, REQUESTS
from reprise.core.store import Store
from reprise.models.adapters import ADAPTERS
from reprise.models.base import ClipFrames, ModelSpec, Request
from reprise.models.inference.response_cache import (
    ClipRequests,
    compute_entry_id,
    compute_frames_digest,
    compute_prompt_digest,
)
from reprise.models.keys import ModelAnswersKey, ModelRunKey
from reprise.models.local.weights import QUANTISATION_PACKAGES
from reprise.plan import run_keys
from reprise.plan.run_keys import RunKeys
from reprise.stages.clip_requests import gather_clip_requests

from tests.unit.config.conftest import ROOT, Project
from tests.unit.rows import request_row

CHANGED_KEY_MESSAGE = (
    "The response cache's key for {} changed, so every cached response is requested, and paid for, again. If answers "
    "change on purpose: raise the version of the code (an adapter's in models/adapters.py, DECODER_VERSION in "
    "plan/versions.py), add a line to CHANGELOG.md, and record the new key here. If not, keep the key: give a new "
    "setting `exclude_if=<its default>.__eq__`. From the first tag on, the key is a promise to users."
)
REVISION = "0123456789" * 4
WEIGHTS = f"label: Model\nrepo: owner/name\nrevision: {REVISION}\n"
VENDOR = "label: Model\nsettings: {model: m}\n"
# Adapter, or engine of a server -> a model's file with the minimum of settings.
MODEL_FILES = {
    "transformers": f"{WEIGHTS}adapter: transformers\n",
    "contrastive": f"{WEIGHTS}adapter: contrastive\n",
    "text": f"{WEIGHTS}adapter: text\n",
    "openai": "label: Model\nadapter: openai\nsettings: {model: m, url: 'http://127.0.0.1:8000/v1', server: s}\n",
    "anthropic": f"{VENDOR}adapter: anthropic\n",
    "gemini": f"{VENDOR}adapter: gemini\n",
    "vllm": f"{WEIGHTS}adapter: openai\nserved_by: vllm\nsettings: {{frames: images}}\n",
}
RECORDED_KEYS = {
    "transformers": "fc020d41e3cdee47",
    "contrastive": "cc9d46bac6cabdc0",
    "text": "d91d4fa4b06e81c1",
    "openai": "74b6204d74c561dd",
    "anthropic": "177d49a278814340",
    "gemini": "971d86f83feccc4d",
    "vllm": "68c6c510fb95a3c2",
}
PROMPT = {"system": "s", "user": "Does {caption} fit?"}
PROTOCOL: dict[str, Any] = {
    "form": "f",
    "request_type": "score",
    "max_tokens": 8,
    "sampling": {"rule": "uniform", "frames": 8},
}
LOCAL_MODEL = "label: Model\nadapter: transformers\ncheckpoint: weights\n"


class Keys:
    """Computes the keys of runs of one model from the text of its file."""

    def __init__(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        self.project = project
        self.versions = dict.fromkeys(("torch", "transformers"), "1.0")
        monkeypatch.setattr(run_keys, "read_installed_version", lambda name: self.versions.get(name, "1.0"))
        project.write("envs/serve.txt", "# vLLM\nvllm==0.32.0\ntorch==2.13.0\n")
        project.write("weights/model.safetensors", "weights")

    def run_key(self, model: str, prompt: Mapping[str, str] = PROMPT, **protocol: Any) -> ModelRunKey:
        self.project.write("config/models/model.yaml", model)
        return RunKeys(self.project.plan()).model_key("b/p/s/model", "model", dict(prompt), PROTOCOL | protocol)

    def __call__(self, model: str = LOCAL_MODEL, prompt: Mapping[str, str] = PROMPT, **protocol: Any) -> str:
        return self.run_key(model, prompt, **protocol).key


@pytest.fixture
def keys(project: Project, monkeypatch: pytest.MonkeyPatch) -> Keys:
    return Keys(project, monkeypatch)


# --- the key of a run -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RECORDED_KEYS)
def test_the_key_of_a_run_is_as_recorded(keys: Keys, name: str) -> None:
    assert keys(MODEL_FILES[name])[:16] == RECORDED_KEYS[name], CHANGED_KEY_MESSAGE.format(
        f"adapter or engine '{name}'"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("repo: owner/name", "repo: owner/other"),
        (f"revision: {REVISION}", f"revision: {REVISION[:-1]}a"),
        ("adapter: transformers", "adapter: text"),
        ("adapter: transformers", "adapter: transformers\ndtype: bfloat16"),
        ("adapter: transformers", "adapter: transformers\nattention: eager"),
        ("adapter: transformers", "adapter: transformers\ntrust_remote_code: true"),
        ("adapter: transformers", "adapter: transformers\nsettings: {engine: plain}"),
        ("adapter: transformers", "adapter: transformers\nsettings: {frames: images}"),
        ("adapter: transformers", "adapter: transformers\nsettings: {max_pixels: 50176}"),
        ("adapter: transformers", "adapter: transformers\nsettings: {max_tokens: 4096}"),
        ("adapter: transformers", "adapter: transformers\nsettings: {quantised: nf4}"),
        ("adapter: transformers", "adapter: transformers\nsettings: {template_arguments: {enable_thinking: false}}"),
    ],
)
def test_settings_of_a_model_that_affect_answers_change_the_key(keys: Keys, old: str, new: str) -> None:
    model = MODEL_FILES["transformers"]
    assert old in model and keys(model.replace(old, new)) != keys(model)


@pytest.mark.parametrize(
    ("prompt", "protocol"),
    [
        ({"user": "Does it fit? {caption}"}, {}),
        ({"system": "Answer."}, {}),
        ({"user": "{frames} Does {caption} fit?"}, {}),
        ({}, {"request_type": "write"}),
        ({}, {"max_tokens": 9}),
        ({}, {"form": "g"}),
        ({}, {"sampling": {"rule": "uniform", "frames": 16}}),
    ],
)
def test_the_protocol_changes_the_key(keys: Keys, prompt: dict[str, str], protocol: dict[str, Any]) -> None:
    assert keys(prompt=PROMPT | prompt, **protocol) != keys()


def test_other_weights_change_the_key_and_their_folder_does_not(keys: Keys) -> None:
    first = keys()
    shutil.copytree(keys.project.root / "weights", keys.project.root / "moved")
    assert keys(LOCAL_MODEL.replace("weights", "moved")) == first
    keys.project.write("weights/model.safetensors", "other weights")
    assert keys() != first


def test_the_versions_of_adapter_and_decoder_change_the_key(keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    first = keys()
    monkeypatch.setattr(run_keys, "DECODER_VERSION", run_keys.DECODER_VERSION + 1)
    decoded = keys()
    adapter = ADAPTERS["transformers"]
    monkeypatch.setitem(ADAPTERS, "transformers", replace(adapter, version=adapter.version + 1))
    assert len({first, decoded, keys()}) == 3


@pytest.mark.parametrize(
    ("model", "libraries"),
    [
        (LOCAL_MODEL, ("torch", "torchvision", "transformers", "tokenizers", "pillow", "av")),
        (f"{LOCAL_MODEL}settings: {{quantised: nf4}}\n", QUANTISATION_PACKAGES["nf4"]),
        (f"{LOCAL_MODEL}attention: flash_attention_2\n", ("flash-attn", "kernels")),
        (MODEL_FILES["contrastive"], ("torch", "transformers", "tokenizers", "pillow", "av")),
        (MODEL_FILES["text"], ("torch", "transformers", "tokenizers")),
        (MODEL_FILES["openai"], ("av", "pillow")),
    ],
)
def test_versions_of_libraries_that_compute_answers_change_the_key(
    keys: Keys, model: str, libraries: Sequence[str]
) -> None:
    first = keys(model)
    for name in libraries:
        keys.versions[name] = "2.0"
        assert keys(model) != first, name
        keys.versions[name] = "1.0"
    keys.versions |= dict.fromkeys(("polars", "snakemake", "numpy", "huggingface-hub", "openai", "pydantic"), "2.0")
    assert keys(model) == first


@pytest.mark.parametrize(
    "setting",
    [
        "label: Another\n", "gpus: 4\n", "gpus: 4\ngpus_per_copy: 2\n", "memory_mb: 64000\n", "threads: 16\n", "hours: 2\n", "settings: {}\n",
        "partitions: 4\n", "reference: true\n", "settings: {option_share: 0.1}\n",
        "patterns: [{name: n, pattern: 'I vote for (?P<option>[AB])'}]\n",
    ],
)  # fmt: skip
def test_resources_and_the_extraction_of_answers_do_not_change_the_key(keys: Keys, setting: str) -> None:
    name = setting.partition(":")[0]
    other_lines = "".join(line for line in LOCAL_MODEL.splitlines(keepends=True) if not line.startswith(f"{name}:"))
    assert keys(other_lines + setting) == keys()


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("config/config.yaml", "suite: demo", "suite: demo\nstore: other/store"),
        ("config/config.yaml", "suite: demo", "suite: demo\nconfidence: 0.9"),
        ("config/suites/demo.yaml", "run: [local]", "run: [local]\nbudget_usd: 5\nbudget_tokens: 9"),
        ("config/suites/demo.yaml", "shards: 2", "shards: 3\nanswer_attempts: 9"),
    ],
)
def test_paths_budgets_and_shards_do_not_change_the_key(keys: Keys, file: str, old: str, new: str) -> None:
    first = keys(MODEL_FILES["transformers"])
    keys.project.edit(file, old, new)
    assert keys(MODEL_FILES["transformers"]) == first


def test_settings_of_the_connection_to_a_server_do_not_change_the_key(keys: Keys) -> None:
    model = MODEL_FILES["openai"]
    first = keys(model)
    settings = "concurrency: 32, timeout_s: 5, retries: 1, max_images: 9, image_tokens: 9, check_frames: false, "
    settings += "frames_once: true, "
    assert keys(model.replace("{", "{" + settings).replace("8000", "9000")) == first
    assert keys(model.replace("server: s", "server: t")) != first
    assert keys(model.replace("model: m", "model: n")) != first


def test_the_devices_of_a_server_do_not_change_the_key_and_its_packages_do(keys: Keys) -> None:
    model = MODEL_FILES["vllm"]
    first = keys.run_key(model)
    served_by_values = (
        "{engine: vllm, tensor_parallel: 4}",
        "{engine: vllm, gpu_memory: 0.5, start_minutes: 90}",
        "vllm\ngpus: 4",
    )
    keys_by_devices = [
        keys.run_key(model.replace("served_by: vllm", f"served_by: {served_by}")) for served_by in served_by_values
    ]
    assert {key.key for key in keys_by_devices} == {first.key}
    assert all(key.hosting is not None and "--tensor-parallel-size" in key.hosting.arguments for key in keys_by_devices)
    keys.project.write("envs/serve.txt", "torch==2.13.0\n\n# a comment\nvllm==0.32.0\n")
    assert keys(model) == first.key
    keys.project.write("envs/serve.txt", "vllm==0.33.0\ntorch==2.13.0\n")
    assert keys(model) != first.key


def test_the_version_of_the_stage_is_a_param_and_in_no_key(keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    first = keys.run_key(LOCAL_MODEL)
    monkeypatch.setitem(run_keys.STAGE_VERSIONS, "infer", 9)
    next_version = keys.run_key(LOCAL_MODEL)
    assert next_version.code_versions == {"stage infer": 9} and next_version != first and next_version.key == first.key


# --- the key of a request ---------------------------------------------------------------------------------------------

REQUEST = Request("i#pos", "i", "pos", "score", "s", "lead and the rest", ("Yes", "No"), "", 8, "lead")
PLAN: dict[str, Any] = {
    "clip_id": "c",
    "indices": [1, 5],
    "times_s": [0.1, 0.5],
    "note": "",
    "grid": None,
    "shown_clip": None,
}
CLIP: dict[str, Any] = {
    "clip_id": "c", "cluster": "c", "status": "ok", "object": "clips/c.mp4", "recipe": "r", "sha256": "0" * 64, "bytes": 1,
    "black_start": None, "black_end": None, "message": "",
}  # fmt: skip


def compute_entry_key(request: Mapping[str, Any] | None = None, *, labels: bool = False, **changes: Any) -> str:
    """Return the key of one request, with changes to its row, to the frame plan and to the clip."""
    requests = request_row("i#pos", clip_id="c", request_type="score", prompt="prompt", expected="Yes") | dict(
        request or {}
    )
    plan, clip = (row | {name: changes[name] for name in changes.keys() & row.keys()} for row in (PLAN, CLIP))
    tables = (
        pl.DataFrame([requests], schema=REQUESTS),
        pl.DataFrame([plan], schema=FRAME_PLAN),
        pl.DataFrame([clip], schema=CLIP_MANIFEST),
    )
    (clip_requests,) = gather_clip_requests(*tables, Store(Path("store")), with_labels=labels)
    return clip_requests.entry_ids[0]


def test_the_key_of_a_request_is_as_recorded() -> None:
    clip_requests = ClipRequests(
        ClipFrames("c", None, (1, 5), (0.1, 0.5)), compute_frames_digest("0" * 64, (1, 5), (0.1, 0.5), None), (REQUEST,)
    )
    assert clip_requests.entry_ids == ["d778a60e7c1d1d6d18c72806cdb8e2b9"], CHANGED_KEY_MESSAGE.format("a request")


@pytest.mark.parametrize(
    "changes",
    [
        {"sha256": "1" * 64}, {"indices": [1, 6]}, {"indices": [5, 1]}, {"times_s": [0.1, 0.6]}, {"grid": [1, 2]},
        {"request": {"prompt": "another prompt"}}, {"request": {"system": "another"}}, {"request": {"request_type": "choose"}},
        {"request": {"options": ["A", "B"]}}, {"request": {"max_tokens": 9}},
    ],
)  # fmt: skip
def test_frames_and_prompt_change_the_key_of_a_request(changes: dict[str, Any]) -> None:
    assert compute_entry_key(**changes) != compute_entry_key()


@pytest.mark.parametrize(
    "changes",
    [
        {"object": "elsewhere/c.mp4"}, {"recipe": "another"}, {"bytes": 2}, {"cluster": "u"}, {"note": "n"},
        {"request": {"request_id": "j#pos", "item_id": "j"}}, {"request": {"role": "neg"}},
        {"request": {"option_texts": ["t", "u"]}}, {"request": {"expected": "No"}},
    ],
)  # fmt: skip
def test_names_paths_and_labels_do_not_change_the_key_of_a_request(changes: dict[str, Any]) -> None:
    assert compute_entry_key(**changes) == compute_entry_key()


def test_a_corrected_label_changes_the_key_of_a_baseline_that_uses_labels() -> None:
    assert compute_entry_key(labels=True) != compute_entry_key({"expected": "No"}, labels=True)
    assert {name for name, info in ADAPTERS.items() if info.needs_labels} == {"oracle", "random"}


def test_the_position_of_frames_in_a_prompt_changes_the_key_of_a_request() -> None:
    assert compute_prompt_digest(REQUEST) != compute_prompt_digest(replace(REQUEST, lead=""))
    assert (
        len(
            {
                compute_entry_id("f", "p"),
                compute_entry_id("g", "p"),
                compute_entry_id("f", "q"),
                compute_entry_id("f", "p", "Yes"),
            }
        )
        == 4
    )


# --- all inputs of a model are in the key -----------------------------------------------------------------------------


def test_every_adapter_input_is_in_the_key_or_does_not_affect_answers() -> None:
    """A new field must be added to one of the two sets, and to docs/reference/response-cache.md."""
    in_run_key = {"folder", "dtype", "attention", "trust_remote_code", "settings", "prompt_start", "has_frames"}
    without_effect = {
        "device",
        "threads",
        "free_bytes_by_device",
        "option_sets",
        "largest_clip",
        "gpus_per_copy",
        "account",
    }
    assert {field.name for field in fields(ModelSpec)} == in_run_key | without_effect
    in_request_key = {"request_type", "system", "prompt", "options", "max_tokens", "lead", "expected"}
    assert {field.name for field in fields(Request)} == in_request_key | {"request_id", "item_id", "role"}
    assert {field.name for field in fields(ClipFrames)} == {
        "path",
        "indices",
        "times_s",
        "grid",
        "clip_id",
        "question_count",
    }
    assert set(ModelAnswersKey.model_fields) == {
        "adapter", "sampling", "code_versions", "model", "settings", "dtype", "attention", "trust_remote_code", "prompt",
        "form", "request_type", "max_tokens", "versions", "serving",
    }  # fmt: skip


def test_the_documentation_of_the_key_names_all_its_parts_and_libraries() -> None:
    page = (ROOT / "docs/reference/response-cache.md").read_text()
    libraries = {name for info in ADAPTERS.values() for name in info.packages} | {"flash-attn", "kernels", "vllm"}
    assert [name for name in (*ModelAnswersKey.model_fields, *libraries) if f"`{name}`" not in page] == []

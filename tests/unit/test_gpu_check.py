"""Test `make gpu-check`: a fault gives a failed line, a missing package a line not tried, and the other checks still run."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from reprise.models.local.device_memory import ClipSize, estimate_memory
from safetensors.torch import save_file

from bench.checkpoints import tokenizer
from bench.gpu_check import machine
from bench.gpu_check.checks import CHECKS
from bench.gpu_check.families import INTERNVL_TOKENS, KINDS, LARGEST, keep_few_layers
from bench.gpu_check.outcome import FAILED, NOT_TRIED, PASSED, Check, Session
from bench.gpu_check.runner import run_all

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/howto/first-gpu-day.md").read_text()

# --- the runner -----------------------------------------------------------------------------------------------------

OUTCOMES = {  # check in tests/unit/gpu_checks.py -> status and beginning of the reason of its second line
    "succeed": (PASSED, ""),
    "crash": (FAILED, "its process was ended by SIGSEGV; log: "),
    "hang": (FAILED, "no result after 2 s; log: "),
    "exit_early": (FAILED, "it yielded no line; log: "),
    "fail": (FAILED, "scores differ"),
    "raise_error": (FAILED, "RuntimeError: CUDA error: an illegal memory access"),
    "lack_gpus": (NOT_TRIED, "one GPU is visible"),
    "lack_package": (NOT_TRIED, "no_such_package is missing"),
    "broken_package": (FAILED, "ModuleNotFoundError: No module named 'json.no_such_part'"),
}


def make_check(name: str, seconds: float = 60, packages: tuple[str, ...] = ()) -> Check:
    return Check(name, f"tests.unit.gpu_checks:{name}", ("first", "second"), seconds, packages)


def test_each_outcome_of_a_check_is_reported_and_other_checks_run(tmp_path: Path) -> None:
    checks = [make_check(name, 2 if name == "hang" else 60) for name in OUTCOMES]
    lines_by_check = list(run_all(checks, Session("cpu", tmp_path, tmp_path, tmp_path / "logs"), seconds=300))
    for (name, (status, reason)), (first, second) in zip(OUTCOMES.items(), lines_by_check, strict=True):
        assert (first.name, first.status) == ("first", PASSED), name
        assert (second.name, second.status) == ("second", status) and second.reason.startswith(reason), second
    assert lines_by_check[0][0].text == "passed     first                         device cpu"
    assert lines_by_check[0][1].text.endswith("GB 1.5")
    assert dict(zip(OUTCOMES, lines_by_check, strict=True))["fail"][1].measured == {"difference": 0.5}


def test_checks_that_cannot_start_are_not_tried(tmp_path: Path) -> None:
    session = Session("cpu", tmp_path, tmp_path, tmp_path / "logs")
    missing = make_check("succeed", packages=("json", "no_such_package"))
    ((first, second),) = run_all([missing], session, seconds=300)
    assert (first.status, second.status) == (NOT_TRIED, NOT_TRIED) and first.reason == "no_such_package is missing"
    ((first, _),) = run_all([make_check("succeed")], session, seconds=1)
    assert (first.status, first.reason) == (NOT_TRIED, "no time left; raise --minutes")


# --- the real checks, with tiny shapes --------------------------------------------------------------------------------

# Start-up code of every process: run `code` in a module of the library after its import, and hide packages.
STARTUP = """
import importlib.abc, importlib.util, sys
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
        if name == {module!r}:
            sys.meta_path.remove(self)
            spec = importlib.util.find_spec(name)
            run = spec.loader.exec_module
            def exec_module(module):
                run(module)
                exec({code!r}, module.__dict__)
            spec.loader.exec_module = exec_module
            return spec
sys.meta_path.insert(0, Finder())
"""


def gpu_check(
    folder: Path, *arguments: str, module: str = "", code: str = "", hidden: tuple[str, ...] = (), device: str = "cpu"
) -> tuple[int, dict[str, Any], str]:
    """Run the script; return its exit status, its lines by name, and its output."""
    (folder / "startup").mkdir()
    (folder / "startup" / "sitecustomize.py").write_text(STARTUP.format(module=module, code=code, hidden=hidden))
    command = [
        sys.executable,
        "-m",
        "bench.gpu_check",
        "--device",
        device,
        "--json",
        str(folder / "out.json"),
        *arguments,
    ]
    environment = {**os.environ, "PYTHONPATH": str(folder / "startup"), "OMP_NUM_THREADS": "1"}
    process = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert not process.stderr, process.stderr
    lines = json.loads((folder / "out.json").read_text())["lines"]
    return process.returncode, {line["name"]: line for line in lines}, process.stdout


@pytest.mark.parametrize(("check", "name", "module", "code", "reason"), [
    (
        "engines", "engines, 64 frames", "reprise.models.local.transformers",
        "compute = PrefixCache.compute_logits\n"
        "PrefixCache.compute_logits = lambda *given: [row + torch.arange(len(row)) / 100 for row in compute(*given)]",
        "shared and plain scores differ by more than 0.0001",
    ),
    (
        "qwen3-vl", "Qwen3-VL", "reprise.media.decoder",
        "whole = read_frames\ndef read_frames(*given, **named):\n    return whole(*given, **named) * 0",
        "the scores are the same for another video: the model does not see the video",
    ),
    (
        "load", "lock", "filelock",
        "FileLock.acquire = lambda self, **named: None", "another job did not wait for GPU 0",
    ),
    (
        "load", "load", "reprise.models.local.checkpoints",
        "import os\ndef plan_device_map(*given):\n    os.abort()", "its process was ended by SIGABRT",
    ),
])  # fmt: skip
def test_a_broken_library_fails(check: str, name: str, module: str, code: str, reason: str, tmp_path: Path) -> None:
    status, lines, printed = gpu_check(tmp_path, "--only", check, module=module, code=code)
    assert lines[name]["status"] == FAILED and lines[name]["reason"].startswith(reason), printed
    assert status == 1 and re.search(rf"^failed +{re.escape(name)} ", printed, re.MULTILINE)


def test_a_missing_package_is_named_and_models_need_no_polars(tmp_path: Path) -> None:
    status, lines, printed = gpu_check(tmp_path, "--only", "internvl,copies,nf4", hidden=("polars", "bitsandbytes"))
    states = {name: (line["status"], line["reason"]) for name, line in lines.items()}
    assert states["nf4"] == (NOT_TRIED, "bitsandbytes is missing")
    assert states["InternVL"] == states["copies"] == (PASSED, ""), printed
    assert status == 0 and "\nnot tried  nf4" in printed


def test_the_status_is_2_if_no_check_can_run(tmp_path: Path) -> None:
    hidden = ("torch", "pydantic", "vllm")
    status, lines, _ = gpu_check(tmp_path, hidden=hidden)
    assert {line["status"] for line in lines.values()} == {NOT_TRIED} and status == 2
    assert lines["load"]["reason"] == "torch, pydantic are missing"


def test_without_a_gpu_the_first_line_says_why(tmp_path: Path) -> None:
    status, lines, _ = gpu_check(tmp_path, "--only", "driver", device="cuda")
    assert status == 1 and lines["driver"]["status"] == FAILED
    assert re.match("torch .* is a build for CPUs only|torch cannot use a GPU here", lines["driver"]["reason"])


# --- memory ---------------------------------------------------------------------------------------------------------

# Measured on an H200 with torch 2.11.0 and transformers 5.23.0: the memory beside the weights while the prefix of 64
# frames is encoded by a checkpoint of `make gpu-check`, and the memory of the driver.
DRIVER_GB = 0.735


@pytest.mark.parametrize(("family", "size", "peak_gb"), [
    ("LLaVA-OneVision", ClipSize(13_569, 48_148, 28_311_552), 2.280),
    ("Qwen2.5-VL", ClipSize(24_064, 92_160, 108_380_160), 4.492),
    ("InternVL", ClipSize(17_408, 0, 38_535_168), 2.932),
    ("Qwen3-VL", ClipSize(9_472, 33_792, 51_904_512), 1.924),
])  # fmt: skip
def test_reserved_memory_suffices_for_measured_peaks(
    family: str, size: ClipSize, peak_gb: float, tmp_path: Path
) -> None:
    config, _ = KINDS[family](keep_few_layers(LARGEST), tokenizer(INTERNVL_TOKENS if family == "InternVL" else None))
    config.save_pretrained(tmp_path)
    save_file({"weight": torch.zeros(1)}, tmp_path / "model.safetensors")
    reserve_gb = estimate_memory(tmp_path, "bfloat16", None, size).compute_reserve(1) / 1e9
    assert peak_gb + DRIVER_GB < reserve_gb < 1.4 * (peak_gb + DRIVER_GB)


# --- visible GPUs -----------------------------------------------------------------------------------------------------


SMI = """\
#!/bin/sh
case $1 in
*uuid,utilization*) printf 'GPU-aa1, 11\\nGPU-bb2, 22\\nGPU-cc3, 33\\n';;
*) for gpu in 0,GPU-aa1 1,GPU-bb2 2,GPU-cc3; do echo "$gpu, 81007, 81559, 580.95.05, 9.0, NVIDIA H100"; done;;
esac
"""


@pytest.mark.parametrize(("visible", "expected"), [
    (None, {"0": "11", "1": "22", "2": "33"}),
    ("2,0", {"2": "33", "0": "11"}),
    ("GPU-bb", {"GPU-bb": "22"}),
    ("", {}),
])  # fmt: skip
def test_the_driver_is_queried_for_visible_gpus(
    visible: str | None, expected: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(SMI)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    if visible is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert machine.query("utilization.gpu") == expected


# --- documentation ----------------------------------------------------------------------------------------------------


def test_the_page_explains_every_line() -> None:
    explained = set(re.findall(r"^\| `([^`]+)` \|", PAGE, re.MULTILINE))
    assert explained == {line for check in CHECKS for line in check.lines}

"""Test that planning and jobs without a model import no library that only models, vendors or figures need."""

import subprocess
import sys

import pytest

HEAVY_LIBRARIES = (
    "anthropic", "google.genai", "huggingface_hub", "matplotlib", "openai", "openpyxl", "scipy", "torch", "torchvision",
    "transformers", "yt_dlp",
)  # fmt: skip


@pytest.mark.parametrize(
    "modules",
    [
        "reprise.plan.suite",
        *(f"reprise.stages.command, reprise.stages.{name}" for name in ("frames", "infer", "metrics", "table")),
    ],
)
def test_heavy_libraries_are_not_imported(modules: str) -> None:
    code = f"import sys, {modules}; print(*(name for name in {HEAVY_LIBRARIES} if name in sys.modules))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.split() == []

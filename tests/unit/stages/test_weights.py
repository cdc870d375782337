"""A model's weights that cannot be had: one message that names the model's file and says what to do."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.fetch.server import Behaviour, serving

REVISION = "0123456789abcdef0123456789abcdef01234567"
INFO = f"/api/models/some/model/revision/{REVISION}"


def refusal(code: str, status: int) -> Behaviour:
    return Behaviour(status=status, headers={"X-Error-Code": code, "X-Error-Message": "no"})


def fetched(url: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = [
        "--repo",
        "some/model",
        "--revision",
        REVISION,
        "--model",
        "mine",
        "--code",
        "left",
        "--store",
        "store",
        "--out",
        "w.json",
    ]
    environment = {"PYTHONPATH": ":".join(sys.path), "HF_ENDPOINT": url, "HF_HOME": str(folder / "hub")}
    return subprocess.run(
        [sys.executable, "-m", "reprise.stages", "weights", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (refusal("GatedRepo", 403), "is gated. Accept its licence at https://huggingface.co/some/model, then set HF_TOKEN"),
        (refusal("RepoNotFound", 404), "was not found. Correct `repo` or `revision`"),
        (refusal("RevisionNotFound", 404), "was not found. Correct `repo` or `revision`"),
        (refusal("Broken", 500), "could not be fetched"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_to_do(refused: Behaviour, words: str, tmp_path: Path) -> None:
    with serving({INFO: refused, f"/api/models/some/model/tree/{REVISION}": refused}) as (url, _):
        done = fetched(url, tmp_path)
    assert done.returncode == 1
    assert "Error: config/models/mine.yaml: some/model" in done.stderr and words in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "w.json").exists()


def test_without_a_network_what_has_come_is_kept(tmp_path: Path) -> None:
    with serving({}) as (url, _):
        pass
    done = fetched(url, tmp_path)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "could not be fetched" in done.stderr and "Run the same command again" in done.stderr

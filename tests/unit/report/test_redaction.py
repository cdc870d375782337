"""Test that texts for others name no path, server or secret of this machine."""

from pathlib import Path

import pytest
from reprise.report.redaction import Redactor

KEY = "a-secret-of-this-test"


@pytest.fixture
def redactor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Redactor:
    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.setattr("socket.gethostname", lambda: "gpu-node-17")
    return Redactor([tmp_path, Path("/data/my store")], ["https://llm.example.com/v1"], ["MY_KEY", "UNSET_KEY"])


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ('"/scratch/anna/runs/ckpt-1000"', '"[path]/ckpt-1000"'),
        ("checkpoint: ~/runs/a/ckpt", "checkpoint: [path]/ckpt"),
        ("/home/anna", "[path]"),
        ("<td>/Users/anna/x.mp4</td>", "<td>[path]/x.mp4</td>"),
        ("file:///home/anna/clips/x.mp4", "[path]/clips/x.mp4"),
        ("in /data/my store/clips/x", "in [folder]/clips/x"),
        ('"http://127.0.0.1:8000/v1"', '"[server]"'),
        ("http://localhost/v1 failed", "[server] failed"),
        ("http://gpu01:8000/v1", "[server]"),
        ("https://me:word@llm.org/v1", "[server]"),
        ("http://10.0.0.5/x, http://llm.internal/y", "[server] [server]"),
        ("host='192.168.0.7', port=80", "host='[server]', port=80"),
        ("no route to gpu-node-17", "no route to [server]"),
        ("https://llm.example.com/v1/chat", "[server]/chat"),
        (f"Bearer {KEY}", "Bearer [secret]"),
        ("hf_abcdefghijklmnop sk-abcdefghijklmnop", "[secret] [secret]"),
    ],
)
def test_names_of_this_machine_are_removed(redactor: Redactor, text: str, redacted: str) -> None:
    assert redactor.redact(text) == redacted


def test_folders_of_this_machine_are_removed_wherever_they_stand(redactor: Redactor, tmp_path: Path) -> None:
    assert redactor.redact(f"x{tmp_path}/results/y") == "x[folder]/results/y"


@pytest.mark.parametrize(
    "text",
    [
        "results/demo/metrics/velociti/entail/fps1/mine.parquet",
        '<a href="../assets/pages.css">he/she and/or 1/2/3</a><br/>',
        'reprise.put("velociti/items/0", "<\\/script>");',
        "https://huggingface.co/datasets/a/b and https://arxiv.org/abs/2502.13923.",
        "version 10.0.1, 10.1.2.3.4, 12:30:00",
        "Which is right? A/B",
    ],
)
def test_other_texts_stay(redactor: Redactor, text: str) -> None:
    assert redactor.redact(text) == text

"""The comparison on a GPU, with a tiny model on a CPU: it must run where nobody can try it first; and the commands of scoring."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from bench import gpu, scoring
from bench.checkpoints import FAMILIES, SMALL
from tests.unit.videos import barcode_video

TINY = replace(
    SMALL,
    text=SMALL.text | {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2},
    siglip={"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2},
    qwen={"depth": 1, "embed_dim": 32, "num_heads": 2, "mlp_ratio": 1, "hidden_size": 64},
    side=56, pixels=56 * 56, rope=(4, 6, 6),
)  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_the_comparison_runs_and_says_what_it_compared(family: str, tmp_path: Path) -> None:
    video = barcode_video(tmp_path / "v.mp4", 48, width=96, height=64)
    speed, busy = gpu.measured(tmp_path, video, family, TINY, "cpu", torch.float32, workers=1, clips=2)
    assert speed.value > 0 and "s a clip plain" in speed.name and 0 < busy.value <= 1 and family in busy.name


def test_without_a_gpu_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match=r"^bench-gpu: torch sees no GPU here; nothing was measured\.$"):
        gpu.main()


@pytest.mark.parametrize(("benchmark", "stages"), [
    ("vinoground", ["verdicts + metrics"]), ("mmbench_video", ["judge_requests", "judgements + metrics"]),
])  # fmt: skip
def test_the_stages_take_the_commands_that_are_measured(benchmark: str, stages: list[str], tmp_path: Path) -> None:
    asked = next(one for one in scoring.ASKED if one.benchmark == benchmark)
    setting = scoring.Setting(tmp_path, asked, scoring._items(tmp_path, benchmark))
    assert [one.stages for one in setting.score(0)] == stages

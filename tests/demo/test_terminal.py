"""Test that commands on the demo's results fit terminals of 80 and 120 columns. Run it after `make demo`."""

from pathlib import Path

import pytest

from tests.unit.commands.terminal import check_widths

ROOT = Path(__file__).parents[2]
RATED_RUN = "mmbench_video/unpacked/interior1/toy-llava-ov"
RUN, EARLY_RUN = (f"velociti/entail.subset/fps1/{model}" for model in ("toy-llava-ov", "toy-llava-ov-early"))


@pytest.mark.parametrize(
    "command_line",
    [
        *("runs", "missing", "incomplete", "plan", "show overview", "show velociti", "show vinoground/table3"),
        *(f"compare {RUN} {EARLY_RUN}", f"compare {RUN} velociti/entail.subset/fps1.shuffled/toy-llava-ov"),
        *(f"item {RUN}", f"why {RUN}", "trace velociti/table9 --row 1fps --column AgRand", "store"),
        f"static {RATED_RUN} --least 0.5",
        f"item {RUN} action_bind/v_toyoJemxiCR_seg_26_36/Ev5/1",
    ],
)
def test_commands_fit_a_terminal(monkeypatch: pytest.MonkeyPatch, command_line: str) -> None:
    monkeypatch.chdir(ROOT)
    check_widths(command_line, monkeypatch)

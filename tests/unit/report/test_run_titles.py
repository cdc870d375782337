"""Test the names of runs in a reader's words."""

from pathlib import Path
from typing import Any

import pytest
from reprise.config.load import load
from reprise.media.ablations import DESCRIPTIONS, NONE
from reprise.media.sampling import PARAMETERS_BY_RULE
from reprise.report.keys import ReportedRun
from reprise.report.run_titles import describe_sampling

EIGHT = {"rule": "linspace", "frames": 8}


@pytest.mark.parametrize(
    ("rule", "title"),
    [
        ({"rule": "none"}, "text only"),
        ({"rule": "fps_mid", "fps": 1}, "1 frame per second"),
        ({"rule": "fps_mid", "fps": 0.5}, "0.5 frames per second"),
        (EIGHT, "8 frames"),
        ({"rule": "linspace", "frames": 1}, "1 frame"),
        ({"rule": "second_capped", "frames": 32}, "1 frame per second, at most 32 frames"),
        ({"rule": "all"}, "all frames"),
        ({"rule": "random_one", "of": {"rule": "all"}}, "one random frame"),
        (EIGHT | {"transform": {"show": "shuffled"}}, "8 frames: frames shuffled"),
        (EIGHT | {"transform": {"show": "middle"}}, "8 frames: middle frame only"),
        (EIGHT | {"transform": {"show": "middle_repeated"}}, "8 frames: middle frame repeated"),
        (EIGHT | {"transform": {"show": "grid", "rows": 2, "columns": 4}}, "8 frames: in a grid of 2 x 4"),
        (EIGHT | {"transform": {"show": "frame", "position": 3}}, "8 frames: frame 3 only"),
        (
            EIGHT | {"transform": {"show": "mismatched_frame_repeated", "position": 3}},
            "8 frames: frame 3 of a mismatched clip repeated",
        ),
    ],
)
def test_a_sampling_is_described(rule: dict[str, Any], title: str) -> None:
    assert describe_sampling(rule) == title


def test_every_rule_and_ablation_has_a_description() -> None:
    values: dict[str, Any] = {"frames": 8, "fps": 1, "of": {"rule": "all"}, "seed": 0}
    for name, parameters in PARAMETERS_BY_RULE.items():
        assert describe_sampling({"rule": name} | {parameter: values[parameter] for parameter in parameters})
    titles = [
        describe_sampling(EIGHT | {"transform": {"show": show, "position": 3}}) for show in DESCRIPTIONS if show != NONE
    ]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("suite", ["demo", "paper"])
def test_protocols_of_the_benchmarks_have_different_names(suite: str) -> None:
    for benchmark in load(Path(), {"suite": suite}).benchmarks.values():
        assert benchmark.protocol_titles.keys() == benchmark.protocols.keys()
        # Two protocols with the same name differ by their judge, which the name of a run states.
        names = {(title, benchmark.protocols[name].judge) for name, title in benchmark.protocol_titles.items()}
        assert len(names) == len(benchmark.protocols)


def test_a_run_without_names_has_the_keys_of_the_configuration() -> None:
    run = ReportedRun(run="vinoground/cot/fps1/one", judge="last-letter", label="One")
    assert (run.title, run.setting) == ("cot, fps1, judged by last-letter", "cot, fps1, last-letter")
    named = run.model_copy(
        update={
            "protocol_title": "chain of thought",
            "sampling_title": "1 frame per second",
            "judge_label": "Letter (deterministic)",
        }
    )
    assert named.title == "chain of thought, 1 frame per second, judged by Letter"
    assert named.setting == run.setting

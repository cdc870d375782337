"""Test changes of settings since a result was produced, and the recorded form of settings."""

from typing import Any

import pytest
from reprise.core.provenance import Provenance
from reprise.core.settings_text import format_settings_line, parse_settings_line
from reprise.media.keys import FramesKey
from reprise.plan.changes import CurrentSettings, find_changes

LONG_PROMPT = "Watch the video and pay attention to the order of events. Does it entail the caption?"


@pytest.mark.parametrize(
    ("before", "after", "texts"),
    [
        ({"answers": {"dtype": "float32"}, "key": "1"}, {"answers": {"dtype": "bfloat16"}, "key": "2"}, ["dtype: float32 -> bfloat16"]),
        ({"rule": {"fps": 1}}, {"rule": {"fps": 2}}, ["rule.fps: 1 -> 2"]),
        ({"settings": {}}, {"settings": {"seed": 1}}, ["settings.seed: (none) -> 1"]),
        ({"checkpoint": "a" * 64}, {"checkpoint": "b" * 64}, [f"checkpoint: {'a' * 12} -> {'b' * 12}"]),
        ({"code_versions": {"stage frames": 1}}, {"code_versions": {"stage frames": 2}}, ["version of stage frames: 1 -> 2"]),
        ({"rows": [{"label": "A"}, {"label": "B"}]}, {"rows": [{"label": "A"}]}, ["rows.2.label: B -> (none)"]),
        (
            {"prompt": {"user": LONG_PROMPT}},
            {"prompt": {"user": LONG_PROMPT.replace("entail", "fit")}},
            ["prompt.user: ... of events. Does it entail the caption? -> ... of events. Does it fit the caption?"],
        ),
        ({"label": "a"}, {"label": "b\x1b[2J\n\u202e"}, ["label: a -> b [U+202E]"]),
    ],
)  # fmt: skip
def test_a_change_has_the_values_before_and_after(
    before: dict[str, Any], after: dict[str, Any], texts: list[str]
) -> None:
    assert [change.text for change in find_changes(before, after)] == texts


def frames_settings(fps: float) -> FramesKey:
    return FramesKey(rule={"rule": "fps_mid", "fps": fps})


def test_settings_that_differ_from_those_of_a_result_are_listed() -> None:
    name = "frames/toy/fps1"
    provenance = Provenance("frames", {name: frames_settings(1).model_dump(mode="json")})
    assert CurrentSettings({name: frames_settings(1)}).changes_since(provenance) == []
    (change,) = CurrentSettings({name: frames_settings(2)}).changes_since(provenance)
    assert (change.name, change.texts) == (name, ("rule.fps: 1 -> 2",))
    assert CurrentSettings({}).changes_since(provenance) == [], "the suite has no such job any more"


def test_long_texts_become_digests_and_the_settings_have_one() -> None:
    prompt = {"prompt": {"system": "", "user": "Watch. " * 200}, "request_type": "score"}
    content = parse_settings_line(format_settings_line("requests/toy/entail", prompt))
    assert content["request_type"] == "score" and content["prompt"]["user"].startswith("sha256:")
    changed = parse_settings_line(
        format_settings_line("requests/toy/entail", prompt | {"prompt": {"system": "", "user": "Look. " * 200}})
    )
    assert content["sha256"] != changed["sha256"]
    (change,) = find_changes(content, changed)
    assert change.text.startswith("prompt.user: sha256:")
    assert "sha256" not in parse_settings_line(format_settings_line("requests/toy/entail", {"request_type": "score"}))


def test_settings_that_are_still_long_are_shortened_from_the_longest_field() -> None:
    spec = {"rows": [{"label": f"Row {number}", "model": "oracle"} for number in range(500)], "title": "Table"}
    text = format_settings_line("tables/toy/table1", {"spec": spec, "suite": "demo"})
    content = parse_settings_line(text)
    assert len(text) < 9200 and content["suite"] == "demo" and content["spec"].startswith("sha256:")

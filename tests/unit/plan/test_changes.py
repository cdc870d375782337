"""What changed in the settings since a result was made, and the form in which rules and results show settings."""

from typing import Any

import pytest
from reprise.core.provenance import Provenance
from reprise.core.settings_text import content_of, settings_text
from reprise.media.keys import FramesKey
from reprise.plan.changes import CurrentSettings, changes_between

LONG = "Watch the video and pay attention to the order of events. Does it entail the caption?"


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({"answers": {"dtype": "float32"}, "key": "1"}, {"answers": {"dtype": "bfloat16"}, "key": "2"}, ["dtype: float32 -> bfloat16"]),
        ({"rule": {"fps": 1}}, {"rule": {"fps": 2}}, ["rule.fps: 1 -> 2"]),
        ({"settings": {}}, {"settings": {"seed": 1}}, ["settings.seed: (none) -> 1"]),
        ({"checkpoint": "a" * 64}, {"checkpoint": "b" * 64}, [f"checkpoint: {'a' * 12} -> {'b' * 12}"]),
        ({"code_versions": {"stage frames": 1}}, {"code_versions": {"stage frames": 2}}, ["version of stage frames: 1 -> 2"]),
        ({"rows": [{"label": "A"}, {"label": "B"}]}, {"rows": [{"label": "A"}]}, ["rows.2.label: B -> (none)"]),
        (
            {"prompt": {"user": LONG}},
            {"prompt": {"user": LONG.replace("entail", "fit")}},
            ["prompt.user: ... of events. Does it entail the caption? -> ... of events. Does it fit the caption?"],
        ),
        ({"label": "a"}, {"label": "b\x1b[2J\n\u202e"}, ["label: a -> b [U+202E]"]),
    ],
)  # fmt: skip
def test_a_change_is_told_from_what_to_what(before: dict[str, Any], after: dict[str, Any], words: list[str]) -> None:
    assert [change.words for change in changes_between(before, after)] == words


def frames_settings(fps: float) -> FramesKey:
    return FramesKey(rule={"rule": "fps_mid", "fps": fps})


def test_a_result_says_which_of_its_settings_are_others_now() -> None:
    name = "frames/toy/fps1"
    made = Provenance("frames", {name: frames_settings(1).model_dump(mode="json")})
    assert CurrentSettings({name: frames_settings(1)}).changes_since(made) == []
    (change,) = CurrentSettings({name: frames_settings(2)}).changes_since(made)
    assert (change.name, change.words) == (name, ("rule.fps: 1 -> 2",))
    assert CurrentSettings({}).changes_since(made) == [], "a suite that has no such job makes it no more"


def test_long_texts_become_digests_and_the_whole_has_one() -> None:
    prompt = {"prompt": {"system": "", "user": "Watch. " * 200}, "ask": "score"}
    content = content_of(settings_text("requests/toy/entail", prompt))
    assert content["ask"] == "score" and content["prompt"]["user"].startswith("sha256:")
    changed = content_of(
        settings_text("requests/toy/entail", prompt | {"prompt": {"system": "", "user": "Look. " * 200}})
    )
    assert content["sha256"] != changed["sha256"]
    (change,) = changes_between(content, changed)
    assert change.words.startswith("prompt.user: sha256:")
    assert "sha256" not in content_of(settings_text("requests/toy/entail", {"ask": "score"}))


def test_settings_that_are_still_long_are_shortened_from_the_longest() -> None:
    spec = {"rows": [{"label": f"Row {number}", "model": "oracle"} for number in range(500)], "title": "Table"}
    text = settings_text("tables/toy/table1", {"spec": spec, "suite": "demo"})
    content = content_of(text)
    assert len(text) < 9200 and content["suite"] == "demo" and content["spec"].startswith("sha256:")

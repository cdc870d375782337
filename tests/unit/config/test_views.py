"""Views of samplings: where they are declared, what they are named, and which are refused."""

import re

import pytest
from reprise.config.load import load

from tests.unit.config.conftest import Project

MAIN, SUITE, TABLES = "config/config.yaml", "config/suites/demo.yaml", "config/tables/demo/mmbench_video.yaml"


def test_a_view_is_named_behind_each_sampling_that_it_fits(project: Project) -> None:
    main = load(project.root).main
    assert main.samplings["interior16.grid4x4"]["view"] == {"show": "grid", "rows": 4, "columns": 4}
    assert not {"interior8.grid4x4", "fps1.grid4x4", "none.grid4x4"} & set(main.samplings)
    assert main.samplings["fps1.shuffled"] == {"rule": "fps_mid", "fps": 1, "view": {"show": "shuffled", "seed": 0}}
    assert main.samplings["black32.reversed"]["view"] == {"show": "reversed"}
    assert {"linspace1.another", "random1.none"} < main.samplings.keys()
    assert main.samplings["fps1.none"] == main.samplings["none"], "the same run key: nothing is asked twice"
    assert (main.viewed("fps1", "none"), main.viewed("fps1", "first")) == ("none", "fps1.first")
    assert main.is_viewed("fps1.none") and main.is_viewed("fps0.5.first")
    assert not main.is_viewed("fps0.5") and not main.is_viewed("none")
    for name in main.samplings:
        assert re.fullmatch(main.pattern, name)
    assert not re.fullmatch(main.pattern, "fps1.shufled") and not re.fullmatch(main.pattern, "fps1.")


ROW = "sampling: interior8}"
MISTAKES = [
    ("interior8.grid4x4", "sampling 'interior8.grid4x4': a grid of 4 x 4 holds 16 frames, rule 'interior' shows 8."),
    ("fps1_floor.grid4x4", "rule 'fps_floor' shows a number that depends on the clip."),
    ("interior16.grid4x5", "sampling 'interior16' has no view 'grid4x5'. Did you mean 'grid4x4'? Allowed: another, first, grid4x4, middle, none, reversed, shuffled."),
    ("linspace1.shuffled", "sampling 'linspace1.shuffled': rule 'linspace' shows one frame, which is the same 'shuffled' as planned."),
    ("none.shuffled", "sampling 'none.shuffled': it shows no frame, so that there is none to show 'shuffled'."),
    ("fps1.shuffled.reversed", "sampling 'fps1.shuffled.reversed': it has the view 'shuffled' already, and a sampling has one."),
]  # fmt: skip


@pytest.mark.parametrize(("name", "message"), MISTAKES)
def test_a_view_that_makes_no_sense_is_refused(name: str, message: str, project: Project) -> None:
    run = f"    extra_runs: [unpacked/{name}/random]\n"
    project.edit(SUITE, "  mmbench_video:\n", f"  mmbench_video:\n{run}")
    assert message in project.message()


def test_a_server_that_is_given_whole_clips_is_shown_no_view(project: Project) -> None:
    project.edit(
        SUITE, "  mmbench_video:\n", "  mmbench_video:\n    extra_runs: [unpacked/fps1.reversed/gemini-video]\n"
    )
    model = "label: Gemini\nadapter: gemini\nsettings: {model: gemini-2.5-pro, frames: video, image_tokens: 300}\n"
    project.write("config/models/gemini-video.yaml", model)
    assert (
        "'fps1.reversed': the server is given the clip's file, so that no view of its frames can be shown. "
        "Set `settings.frames: images` in config/models/gemini-video.yaml."
    ) in project.message()
    project.edit("config/models/gemini-video.yaml", "frames: video", "frames: images")
    load(project.root)

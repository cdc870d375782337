"""Views of samplings: where they are declared, what they are named, and which are refused."""

import re

from reprise.config.load import load

from tests.unit.config.conftest import Project


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


def test_a_server_that_is_given_whole_clips_is_shown_no_view(project: Project) -> None:
    entry = "  mmbench_video:\n"
    project.edit("config/suites/demo.yaml", entry, f"{entry}    extra_runs: [unpacked/fps1.reversed/gemini-video]\n")
    model = "label: Gemini\nadapter: gemini\nsettings: {model: gemini-2.5-pro, frames: video, image_tokens: 300}\n"
    project.write("config/models/gemini-video.yaml", model)
    assert (
        "'fps1.reversed': the server is given the clip's file, so that no view of its frames can be shown. "
        "Set `settings.frames: images` in config/models/gemini-video.yaml."
    ) in project.message()
    project.edit("config/models/gemini-video.yaml", "frames: video", "frames: images")
    load(project.root)

"""The overview of a suite and transforms of samplings: the run of each line, the names of transformed samplings, and refused transforms."""

import re

from reprise.config.load import load
from reprise.plan.runs import run_from_row

from tests.unit.config.conftest import Project


def runs(project: Project) -> dict[str, list[str]]:
    """Model -> the runs of its line, as a table names them, by benchmark."""
    found: dict[str, list[str]] = {}
    for benchmark, spec in project.plan().overview.items():
        for row in spec.rows():
            run = run_from_row(benchmark, row)
            found.setdefault(row.label, []).append(run.name.rpartition("/")[0] if run else "")
    return found


def test_a_model_of_the_main_table_has_its_run_and_another_model_the_common_one(project: Project) -> None:
    project.edit("config/suites/demo.yaml", "\noverview:\n", "\noverview:\n  - always-first\n  - cannot-tell\n")
    found = runs(project)
    everything = ["velociti/entail.subset/fps1", "vinoground/paper/fps1", "temporalbench/short/linspace8"]
    assert found["Toy LLaVA-OneVision (late)"] == [*everything, "mmbench_video/unpacked/interior8"]
    (draws,) = [line for label, line in found.items() if label.startswith("Random")]
    assert draws == ["velociti/entail.subset/fps1", "vinoground/paper/black8", "temporalbench/short/linspace8", ""]
    (first,) = [line for label, line in found.items() if label.startswith("Always the first")]
    assert first[:2] == ["velociti/entail.subset/fps1", "vinoground/paper/black8"], "it is in Vinoground's table alone"
    assert len(found) == 5, "a line each"


def test_transforms_follow_the_names_of_compatible_samplings(project: Project) -> None:
    main = load(project.root).main
    assert main.samplings["interior16.grid4x4"]["transform"] == {"show": "grid", "rows": 4, "columns": 4}
    assert not {"interior8.grid4x4", "fps1.grid4x4", "none.grid4x4"} & set(main.samplings)
    assert main.samplings["fps1.shuffled"] == {
        "rule": "fps_mid",
        "fps": 1,
        "transform": {"show": "shuffled", "seed": 0},
    }
    assert main.samplings["black32.reversed"]["transform"] == {"show": "reversed"}
    assert {"linspace1.mismatched", "random1.none"} < main.samplings.keys()
    assert main.samplings["fps1.none"] == main.samplings["none"], "the same run key: no request is repeated"
    assert (main.transformed_name("fps1", "none"), main.transformed_name("fps1", "first")) == ("none", "fps1.first")
    assert main.is_transformed("fps1.none") and main.is_transformed("fps0.5.first")
    assert not main.is_transformed("fps0.5") and not main.is_transformed("none")
    for name in main.samplings:
        assert re.fullmatch(main.pattern, name)
    assert not re.fullmatch(main.pattern, "fps1.shufled") and not re.fullmatch(main.pattern, "fps1.")


def test_a_server_with_whole_clips_supports_no_transform(project: Project) -> None:
    entry = "  mmbench_video:\n"
    project.edit("config/suites/demo.yaml", entry, f"{entry}    extra_runs: [unpacked/fps1.reversed/gemini-video]\n")
    model = "label: Gemini\nadapter: gemini\nsettings: {model: gemini-2.5-pro, frames: video, image_tokens: 300}\n"
    project.write("config/models/gemini-video.yaml", model)
    assert (
        "'fps1.reversed': the server receives the clip's file, so its frames cannot be transformed. "
        "Set `settings.frames: images` in config/models/gemini-video.yaml."
    ) in project.message()
    project.edit("config/models/gemini-video.yaml", "frames: video", "frames: images")
    load(project.root)

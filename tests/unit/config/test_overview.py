"""Test the overview of a suite (the runs of each line) and the transforms of samplings (names and rejections)."""

import re

from reprise.config.load import load
from reprise.core.paths import Run
from reprise.plan.runs import run_from_row

from tests.unit.config.conftest import Project


def list_runs(project: Project) -> dict[str, list[str]]:
    """Return the runs of each line of the overview, by model label; a run is empty if the model has none."""
    runs_by_model: dict[str, list[str]] = {}
    for benchmark, spec in project.plan().overview_specs.items():
        for row in spec.rows():
            run = run_from_row(benchmark, row)
            runs_by_model.setdefault(row.label, []).append(run.name.rpartition("/")[0] if run else "")
    return runs_by_model


def test_a_model_has_its_run_of_the_main_table_or_the_default_run(project: Project) -> None:
    project.edit("config/suites/demo.yaml", "\noverview:\n", "\noverview:\n  - always-first\n  - cannot-tell\n")
    runs_by_model = list_runs(project)
    three_runs = ["velociti/entail.subset/fps1", "vinoground/paper/fps1", "temporalbench/short/linspace8"]
    assert runs_by_model["Toy LLaVA-OneVision (late)"] == [*three_runs, "mmbench_video/unpacked/interior8"]
    (random_runs,) = [runs for label, runs in runs_by_model.items() if label.startswith("Random")]
    assert random_runs == [
        "velociti/entail.subset/fps1",
        "vinoground/paper/black8",
        "temporalbench/short/linspace8",
        "",
    ]
    (first_option_runs,) = [runs for label, runs in runs_by_model.items() if label.startswith("Always the first")]
    assert first_option_runs[:2] == ["velociti/entail.subset/fps1", "vinoground/paper/black8"], (
        "only Vinoground's table has this model"
    )
    assert len(runs_by_model) == 5, "one line per model"


def test_the_papers_overview_has_current_models_that_run_here(project: Project) -> None:
    project.edit("config/config.yaml", "suite: demo", "suite: paper")
    runs_by_model, plan = list_runs(project), project.plan()
    labels = list(runs_by_model)
    assert labels.index("Qwen3-VL-8B") < labels.index("GPT-4o")
    for slug in ("qwen3-vl-8b", "qwen2.5-vl-7b", "internvl3.5-8b", "internvl3-8b"):
        model = plan.config.models[slug]
        assert model.repo and model.adapter == "transformers" and model.gpus == 1
        assert all(runs_by_model[model.label]), "it has a run of every benchmark"
    assert runs_by_model["Gemini-2.5-Pro"] == ["", "vinoground/paper/fps1", "", ""]


SERVED = "label: Served\nadapter: openai\nsettings: {url: 'http://127.0.0.1:9/v1', model: m"


def test_a_model_without_likelihoods_has_the_protocol_without_scores(project: Project) -> None:
    project.write("config/models/plain.yaml", f"{SERVED}}}\n")
    project.write("config/models/scoring.yaml", f"{SERVED}, scores: logprob_token_ids}}\n")
    lines = "  - {model: plain, benchmarks: [velociti, vinoground]}\n  - {model: scoring, benchmarks: [velociti]}\n"
    project.edit("config/suites/demo.yaml", "\noverview:\n", f"\noverview:\n{lines}")
    specs = project.plan().overview_specs
    runs = [run_from_row("velociti", row) for row in specs["velociti"].rows()]
    assert Run.parse("velociti/entail.frames.subset/fps1/plain") in runs
    assert Run.parse("velociti/entail.subset/fps1/scoring") in runs
    vinoground_runs = [run_from_row("vinoground", row) for row in specs["vinoground"].rows()]
    assert Run.parse("vinoground/paper/fps1/plain") in vinoground_runs, "this protocol requests no scores"


def test_a_line_of_the_overview_names_its_protocol(project: Project) -> None:
    line = "  - {model: oracle, benchmarks: [velociti], protocols: {velociti: %s}}\n"
    project.edit("config/suites/demo.yaml", "\noverview:\n", "\noverview:\n" + line % "mc")
    runs = [run_from_row("velociti", row) for row in project.plan().overview_specs["velociti"].rows()]
    assert Run.parse("velociti/mc/fps1/oracle") in runs
    project.edit("config/suites/demo.yaml", line % "mc", line % "mcc")
    assert "overview: 'oracle': velociti: unknown protocol 'mcc'. Did you mean 'mc'?" in project.message()


def test_the_protocol_without_scores_must_exist(project: Project) -> None:
    project.edit("config/tables/demo/velociti.yaml", "entail.frames.subset\n", "entail.frame.subset\n")
    message = (
        "overview.protocol_without_scores: unknown protocol 'entail.frame.subset'. Did you mean 'entail.frames.subset'?"
    )
    assert message in project.message()


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
    assert main.samplings["fps1.none"] == main.samplings["none"], "the run key is the same, so no request is repeated"
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

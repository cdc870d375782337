"""Test loading the configuration: names, models that a site runs, a baseline for every model, a sample of a suite."""

import shutil

import pytest
from reprise.config.load import load
from reprise.core.errors import UserError

from tests.unit.config.conftest import ROOT, Project


@pytest.mark.parametrize("folder", ["models", "benchmarks", "suites"])
def test_a_file_name_with_shell_syntax_is_rejected(
    project: Project, folder: str, caplog: pytest.LogCaptureFixture
) -> None:
    project.write(f"config/{folder}/b$(touch {folder}).yaml", "")
    if folder == "models":
        assert not any("touch" in slug for slug in load(project.root).models)
    message = caplog.text if folder == "models" else project.message()
    name = f"b$(touch {folder})"
    assert f"config/{folder}/{name}.yaml: '{name}' cannot be a name. Allowed: lower-case" in message


def test_an_invalid_model_file_stops_only_what_needs_the_model(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    project.write("config/models/unclosed.yaml", "label: [Broken\n")
    project.write("config/models/zodd.yaml", "label: Odd\nadapter: opnai\nseting: 1\n")
    project.edit("config/suites/demo.yaml", "run: [local]", "run: [local]\nskip: [unclosed]")
    config = load(project.root)
    load(project.root)
    assert "oracle" in config.models and not {"unclosed", "zodd"} & config.models.keys()
    warnings = [record.message for record in caplog.records]
    assert len(warnings) == 2 and all("\n" not in warning for warning in warnings), "a line per file, once per process"
    assert warnings[0].startswith(
        "Warning: this model is left out: config/models/unclosed.yaml: line 2: not valid YAML"
    )
    assert (
        "config/models/zodd.yaml: line 2: adapter: unknown adapter 'opnai'" in warnings[1] and "(1 more)" in warnings[1]
    )
    with pytest.raises(UserError, match=r"check: config/models/unclosed\.yaml: line 2: not valid YAML"):
        config.require_model("unclosed", "check")
    with pytest.raises(UserError, match="check: unknown model 'orcle'. Did you mean 'oracle'?"):
        config.require_model("orcle", "check")
    project.edit("config/suites/demo.yaml", "\noverview:\n", "\noverview:\n  - zodd\n")
    assert "config/models/zodd.yaml: line 2: adapter: unknown adapter" in project.message()


def test_invalid_or_missing_main_settings_are_named(project: Project) -> None:
    for text in ("- suite\n", ""):
        project.write("config/config.yaml", text)
        assert project.message() == "config/config.yaml: should be a group of keys."
    (project.root / "config/config.yaml").unlink()
    assert project.message() == (
        f"config/config.yaml: no such file in {project.root} or in {ROOT}, where the library is. Install Reprise again."
    )


@pytest.mark.parametrize(
    ("suite", "message"),
    [
        *(
            (name, "--config: suite: should be a name (lower-case letters, digits,")
            for name in ("b$(touch X)", "..", "Upper")
        ),
        ("dmo-limit5", "unknown suite 'dmo'. Did you mean 'demo'?"),
        ("demo-limit0", "unknown suite 'demo-limit0'."),
        (
            "construction-limit5",
            "config/suites/construction.yaml: `limit` cannot be used with a suite that constructs benchmarks (",
        ),
    ],
)
def test_an_unknown_suite_or_sample_is_named(project: Project, suite: str, message: str) -> None:
    assert message in project.message(suite)


def test_models_with_the_same_label_are_told_apart(project: Project) -> None:
    shutil.copy("config/models/toy-llava-ov.yaml", "config/models/copy.yaml")
    label = load(project.root).models["toy-llava-ov"].label
    assert load(project.root).models["copy"].label == label, "the suite does not use the copy, so no label changes"
    project.edit("config/suites/demo.yaml", "\noverview:\n", "\noverview:\n  - copy\n")
    models = project.plan().config.models
    assert models["copy"].label == f"{label} (copy)"
    assert models["toy-llava-ov"].label == f"{label} (toy-llava-ov)"
    assert models["oracle"].label == "Oracle"


LOCAL_MODELS = {"oracle", "random", "always-first", "toy-llava-ov", "toy-llava-ov-early"}


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ("[none]", set()),
        ("[local]", LOCAL_MODELS),
        (
            "[{gpus: 1}, none]",
            LOCAL_MODELS | {"llava-onevision-7b", "llava-onevision-7b-si", "qwen2-vl-7b", "video-llava-7b"},
        ),
        ("[{gpus: 1}]\nskip: [llava-onevision-7b]", {"oracle", "llava-onevision-7b-si"}),
    ],
)
def test_terms_of_run_select_models(project: Project, terms: str, expected: set[str]) -> None:
    project.edit("config/suites/demo.yaml", "run: [local]", f"run: {terms}")
    selected = project.plan().selected_models
    selected_family = {model for model in selected if model.startswith("llava-onevision")}
    assert expected <= selected
    assert selected_family == {model for model in expected if model.startswith("llava-onevision")}


def test_a_baseline_replaces_every_model_of_the_papers_tables(project: Project) -> None:
    plan, paper = project.plan("rehearsal"), load(project.root, {"suite": "paper"})
    assert plan.config.tables == paper.tables and plan.config.benchmarks == paper.benchmarks
    named_models = {row.model for _, _, spec in plan.list_tables() for row in spec.cells() if row.model}
    assert named_models and {run.model for run in plan.runs()} == named_models, "every row with a model runs"
    models = plan.config.models
    assert {models[slug].adapter for slug in named_models} == {"random"}
    assert not any(models[slug].repo or models[slug].checkpoint or models[slug].gpus for slug in named_models)
    assert models["llava-onevision-7b"].label == "LLaVA-OneVision-7B"
    assert len({models[slug].settings["seed"] for slug in named_models}) == len(named_models), (
        "the baselines of the rows differ"
    )

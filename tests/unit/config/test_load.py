"""Reading the configuration: names, what a site can run, a stand-in for every model, a part of a suite."""

import re
import shutil
from pathlib import Path

import pytest
from reprise.benchmarks.keys import AnnotationsKey
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.plan.runs import Plan
from reprise.plan.suite import collect_keys, write_keys
from reprise.tables.keys import TableKey

from tests.unit.config.conftest import CODE, Project


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("config.yaml", "samplings:\n", "samplings:\n  NAME: {rule: none}\n"),
        ("suites/demo.yaml", "judges: [wordmatch,", "judges: [NAME,"),
        ("suites/demo.yaml", "benchmarks:\n", "benchmarks:\n  NAME: {}\n"),
        ("benchmarks/velociti.yaml", "protocols:\n", "protocols:\n  NAME: {form: mc, prompt: mc, ask: choose}\n"),
        ("tables/demo/velociti.yaml", "model: oracle", "model: NAME"),
        ("tables/demo/velociti.yaml", "tables:\n", "tables:\n  NAME: {title: x}\n"),
    ],
)
def test_a_name_that_a_shell_could_read_is_refused(project: Project, file: str, old: str, new: str) -> None:
    name = "b$(touch X)"
    project.edit(f"config/{file}", old, new.replace("NAME", f'"{name}"'))
    with pytest.raises(UserError) as error:
        load(project.root)
    lines = [line for line in str(error.value).splitlines() if f"config/{file}" in line and name in line]
    assert lines and re.search(r"Allowed|should be (a name|table<N>)", lines[0])


def test_a_file_whose_name_a_shell_could_read_is_named(project: Project) -> None:
    for folder, known in (("models", "random"), ("suites", "demo")):
        shutil.copy(project.root / f"config/{folder}/{known}.yaml", project.root / f"config/{folder}/b$(touch X).yaml")
    message = project.message()
    assert (
        "config/models/b$(touch X).yaml: 'b$(touch X)' cannot be a name. Allowed: lower-case letters, digits,"
        in message
    )
    assert "config/suites/b$(touch X).yaml: 'b$(touch X)' cannot be a name." in message


@pytest.mark.parametrize("name", ["b$(touch X)", "a b", "a;b", "a'b", "..", ".hidden", "-rf", "Upper", "a\\nb", "ä"])
def test_a_suite_named_on_the_command_line_is_a_name(project: Project, name: str) -> None:
    with pytest.raises(UserError, match=r"--config: suite: should be a name \(lower-case .*\), found "):
        load(project.root, {"suite": name})


@pytest.mark.parametrize(
    ("terms", "budget", "expected"),
    [
        ("[none]", 0, set()),
        ("[random, oracle]", 0, {"random", "oracle"}),
        ("[local]", 0, {"oracle", "random", "always-first", "toy-llava-ov", "toy-llava-ov-early"}),
        ("[{gpus: 1}, none]", 0, {"oracle", "random", "always-first", "toy-llava-ov", "toy-llava-ov-early",
                                  "llava-onevision-7b", "llava-onevision-7b-si", "qwen2-vl-7b", "video-llava-7b"}),
        ("[{gpus: 1}]\nskip: [llava-onevision-7b]", 0, {"oracle", "llava-onevision-7b-si"}),
    ],
)  # fmt: skip
def test_a_site_says_once_what_it_can_run(project: Project, terms: str, budget: float, expected: set[str]) -> None:
    project.edit("config/suites/demo.yaml", "run: [local]", f"run: {terms}")
    project.edit("config/suites/demo.yaml", "shards:", f"budget_usd: {budget}\nshards:")
    found = Plan(load(project.root)).models
    of_family = {model for model in found if model.startswith("llava-onevision")}
    assert expected <= found
    assert of_family == {model for model in expected if model.startswith("llava-onevision")}


def test_the_rehearsal_has_the_papers_tables(project: Project) -> None:
    paper, rehearsal = (load(project.root, {"suite": suite}) for suite in ("paper", "rehearsal"))
    assert rehearsal.tables == paper.tables and rehearsal.benchmarks == paper.benchmarks


def test_a_stand_in_answers_for_every_model(project: Project) -> None:
    plan = Plan(load(project.root, {"suite": "rehearsal"}))
    named = {row.model for _, _, spec in plan.tables() for row in spec.cells() if row.model}
    assert named and {run.model for run in plan.runs()} == named, "every row with a model runs"
    models = plan.config.models
    assert {models[slug].adapter for slug in named} == {"random"}
    assert not any(models[slug].repo or models[slug].checkpoint or models[slug].gpus for slug in named)
    assert models["llava-onevision-7b"].label == "LLaVA-OneVision-7B"
    assert len({models[slug].settings["seed"] for slug in named}) == len(named), "rows differ"


@pytest.mark.parametrize(("slug", "near"), [("random-word", " Did you mean 'random-words'?"), ("qwen2-vl-7b", ""), ("wordmatch", "")])  # fmt: skip
def test_a_stand_in_that_cannot_stand_in_is_named(project: Project, slug: str, near: str) -> None:
    project.edit("config/suites/rehearsal.yaml", "stand_in: random-words", f"stand_in: {slug}")
    kind = "a baseline that answers all kinds of questions, without weights or a server, stands in for others."
    assert f"rehearsal.yaml: stand_in: '{slug}': {kind}{near} Allowed: always-first," in project.message("rehearsal")


@pytest.mark.parametrize(
    ("files", "message"),
    [(None, "checkpoint: no folder"), (["config.json"], "holds no weights (*.safetensors). Found: config.json.")],
)
def test_a_checkpoint_without_weights_is_named(here: Project, files: list[str] | None, message: str) -> None:
    for name in files or ():
        here.write(f"weights/{name}", "{}")
    here.write("config/models/toy-llava-ov.yaml", "label: Toy\nadapter: transformers\ncheckpoint: weights\n")
    with pytest.raises(UserError) as error:
        write_keys(Plan(load(Path())))
    assert "config/models/toy-llava-ov.yaml" in str(error.value) and message in str(error.value)


def test_a_part_has_files_of_its_own_and_the_answers_of_the_whole(project: Project) -> None:
    whole, part = (Plan(load(project.root, {"suite": name})) for name in ("demo", "demo-limit5"))
    names = (part.results.folder.name, part.config.whole, part.config.file)
    assert names == ("demo-limit5", "demo", "config/suites/demo.yaml")
    keys, of_whole = collect_keys(part, CODE), collect_keys(whole, CODE)
    run = next(run for run in part.runs() if run.model == "toy-llava-ov")
    assert keys[part.results.run_key(run)] == of_whole[whole.results.run_key(run)], "one journal for both"
    asked = keys[part.results.key("annotations", "velociti")]
    assert isinstance(asked, AnnotationsKey) and asked.limit == 5
    assert "limit" not in of_whole[whole.results.key("annotations", "velociti")].model_dump()
    tables = [key for key in keys.values() if isinstance(key, TableKey)]
    assert tables and {key.suite for key in tables} == {"demo-limit5"}
    assert {key.suite_title for key in tables} == {"Demo (toy world), a part: 5 units of each benchmark"}
    (notice,) = {key.notice for key in tables}
    assert notice.startswith("A part only: at most 5 units (videos, or pairs of Vinoground) of each benchmark")
    assert notice.endswith("Rendered clips and tiny checkpoints; they say nothing about real models.")


@pytest.mark.parametrize(
    ("suite", "message"),
    [
        ("dmo-limit5", "unknown suite 'dmo'. Did you mean 'demo'?"),
        ("demo-limit0", "unknown suite 'demo-limit0'."),
        ("demo-limit", "unknown suite 'demo-limit'."),
        ("construction-limit5", "config/suites/construction.yaml: it makes benchmarks ("),
    ],
)
def test_a_name_that_names_no_part(project: Project, suite: str, message: str) -> None:
    assert message in project.message(suite)

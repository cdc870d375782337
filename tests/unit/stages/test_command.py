"""Test the command of a stage: its options, the provenance of its results, and inputs that do not match."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.core.files import file_digest, read_provenance
from reprise.core.schemas import ITEMS, METRICS, REQUESTS, RESPONSES, VERDICTS, read_table, write_table
from reprise.core.settings_text import format_settings_line
from reprise.plan.runs import Plan
from reprise.plan.suite import SuiteRules, all_settings
from reprise.stages import command

from tests.unit.config.conftest import Project
from tests.unit.rows import item_row, request_row, response_row


def test_options_of_all_jobs_precede_the_stage(project: Project) -> None:
    project.edit("config/config.yaml", "suite: demo", "suite: demo\nstore: a {store}\nscratch: $TMPDIR")
    stage_command = SuiteRules(Plan(load(Path(), {})), {"limit": 3}).stage_command()
    assert stage_command.startswith(
        f"{shlex.quote(sys.executable)} -m reprise.stages --config '{{{{\"limit\":3}}}}' --store 'a {{{{store}}}}'"
    )
    assert " --scratch '$TMPDIR' " in stage_command and stage_command.endswith(" --budget 0 0 ")


SETTINGS: dict[str, dict[str, Any]] = {
    "runs/r": {"run": "r", "key": "k", "answers": {"adapter": "random", "sampling": {"rule": "none"}}},
    "verdicts/v": {"extraction": "plain", "patterns": [], "embedder": None},
    "metrics/m": {"benchmark": "velociti", "form": "entail", "items": None, "level": 0.95, "max_rating": 3},
}
PARAMS = {name: format_settings_line(name, content) for name, content in SETTINGS.items()}
SITE_OPTIONS = ["--store", "store"]
VERDICTS_COMMAND = ["verdicts", "--settings", PARAMS["verdicts/v"], "--run-settings", PARAMS["runs/r"], "--requests", "requests.parquet",
        "--responses", "responses.parquet", "--authors", "authors.parquet", "--robust", "robust.parquet"]  # fmt: skip
METRICS_COMMAND = ["metrics", "--settings", PARAMS["metrics/m"], "--run-settings", PARAMS["runs/r"], "--item-table", "items.parquet",
         "--requests", "requests.parquet", "--responses", "responses.parquet", "--authors", "authors.parquet",
         "--robust", "robust.parquet", "--metrics", "metrics.parquet"]  # fmt: skip


@pytest.fixture(autouse=True)
def inputs_in_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_inputs()


def write_inputs(key: str = "k", negative_answer: str = "No") -> None:
    names = [f"{video}/{index}" for video in "abc" for index in range(2)]
    roles_by_item = [(name, role) for name in names for role in ("pos", "neg")]
    expected = {role: {"expected": "Yes" if role == "pos" else "No"} for role in ("pos", "neg")}
    tables = {
        "items": ([item_row(name, clip_id=name[0], cluster=name[0], task="coref") for name in names], ITEMS),
        "requests": ([request_row(f"{name}#{role}", clip_id=name[0], **expected[role]) for name, role in roles_by_item], REQUESTS),
        "responses": ([response_row(f"{name}#{role}", "Yes" if name[0] == "a" else negative_answer, key=key) for name, role in roles_by_item], RESPONSES),
    }  # fmt: skip
    for name, (rows, schema) in tables.items():
        write_table(pl.DataFrame(rows, schema=schema), Path(f"{name}.parquet"), schema)


def test_a_result_records_its_stage_settings_and_inputs() -> None:
    command.run([*SITE_OPTIONS, *VERDICTS_COMMAND, "--retry", "failed 12ab"])
    command.run([*SITE_OPTIONS, *METRICS_COMMAND])
    for name, schema in (("authors", VERDICTS), ("robust", VERDICTS), ("metrics", METRICS)):
        assert read_table(Path(f"{name}.parquet"), schema).height
    provenance = read_provenance(Path("robust.parquet"))
    assert provenance is not None and (provenance.stage, provenance.retry) == ("verdicts", "failed 12ab")
    assert provenance.settings.keys() == {"verdicts/v", "runs/r"}
    assert provenance.settings["verdicts/v"]["extraction"] == "plain"
    assert provenance.inputs == {
        name: file_digest(Path(name))[:16] for name in ("requests.parquet", "responses.parquet")
    }
    provenance = read_provenance(Path("metrics.parquet"))
    assert provenance is not None and "robust.parquet" in provenance.inputs and not provenance.retry


def test_inputs_made_from_different_answers_are_rejected() -> None:
    command.run([*SITE_OPTIONS, *VERDICTS_COMMAND])
    write_inputs(negative_answer="Yes")
    with pytest.raises(
        UserError, match=r"robust\.parquet: was made from a different responses\.parquet .* delete robust\.parquet"
    ):
        command.run([*SITE_OPTIONS, *METRICS_COMMAND])
    assert not Path("metrics.parquet").exists()


def test_an_input_made_with_different_settings_is_rejected() -> None:
    command.run([*SITE_OPTIONS, *VERDICTS_COMMAND])
    other_settings = format_settings_line("runs/r", SETTINGS["runs/r"] | {"run": "s"})
    with pytest.raises(UserError, match=r"robust\.parquet: was made from a different runs/r "):
        command.run(
            [
                *SITE_OPTIONS,
                *[other_settings if argument == PARAMS["runs/r"] else argument for argument in METRICS_COMMAND],
            ]
        )


def test_answers_with_a_different_key_are_rejected() -> None:
    write_inputs(key="another")
    with pytest.raises(UserError, match="rows have key another"):
        command.run([*SITE_OPTIONS, *VERDICTS_COMMAND])


def test_long_settings_are_read_from_the_configuration_unless_it_was_edited(project: Project) -> None:
    name = "report"
    planned = all_settings(project.plan("demo"))[name]
    text = format_settings_line(name, planned.model_dump(mode="json"))
    assert "sha256" in json.loads(text)
    assert command._parse_value(text, type(planned), {"suite": "demo"}) == planned
    project.edit("config/suites/demo.yaml", "title: ", "title: Another ")
    with pytest.raises(UserError, match=f"{name}: the configuration was edited since this job was planned"):
        command._parse_value(text, type(planned), {"suite": "demo"})


def test_an_unknown_setting_is_reported() -> None:
    wrong = format_settings_line("verdicts/v", SETTINGS["verdicts/v"] | {"extracton": "plain"})
    with pytest.raises(
        UserError, match=r"settings of verdicts/v: extracton: unknown key\. Did you mean 'extraction'\?"
    ):
        command.run(
            [*SITE_OPTIONS, *[wrong if argument == PARAMS["verdicts/v"] else argument for argument in VERDICTS_COMMAND]]
        )

"""Test a new checkpoint, compared runs and traced cells with the demo's checkpoints."""

import os
import shutil
import sys
from contextlib import chdir
from pathlib import Path

import pytest
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.core.files import read_provenance
from reprise.core.provenance import record_provenance
from reprise.core.schemas import RESPONSES, read_table, write_table
from reprise.core.settings_text import format_settings_line
from reprise.plan.runs import Plan
from reprise.plan.suite import all_settings

from tests.workflow.conftest import Project

RUN = "velociti/entail/fps1/toy-llava-ov"


def test_a_new_checkpoint_reruns_exactly_its_model(toy: Project) -> None:
    """New content of a checkpoint file causes a rerun; a new date does not."""
    weights = toy.root / "resources/demo/checkpoints/llava-ov-early/model.safetensors"
    os.utime(weights)
    assert toy.plan_rules() == []
    generation = weights.with_name("generation_config.json")
    generation.write_text(generation.read_text() + "\n")
    assert toy.plan_rules().count("infer") == 2
    responses, metadata = toy.digests("responses"), toy.digests("clip_metadata")
    toy.edit("config/models/toy-llava-ov.yaml", "checkpoints/llava-ov-early", "checkpoints/llava-ov-late")
    # The model has two runs in two tables, and each table has a collected table.
    assert toy.plan_rules() == sorted(["infer", "metrics", "table", "verdicts"] * 2 + ["collected_table"] * 2 + ["all"])
    table = "results/tables/velociti/table2.md"
    assert toy.run_rules(table) == ["infer", "metrics", "table", "verdicts"]
    changed_files = {name for name, digest in toy.digests("responses").items() if digest != responses[name]}
    assert {name for name in changed_files if "timings" not in name} == {f"{RUN}.parquet"}
    assert all("toy-llava-ov" in name for name in changed_files) and toy.digests("clip_metadata") == metadata


def test_a_run_whose_answers_are_cached_loads_no_model(finished_toy: Path, tmp_path: Path) -> None:
    """Run the command of the rule `infer` with other output paths."""
    results = "results/small"
    with chdir(finished_toy):
        settings = all_settings(Plan(load(Path())))[RUN]
    options = {
        "settings": format_settings_line(RUN, settings.model_dump(mode="json")), "requests": f"{results}/requests/velociti/entail.parquet",
        "frames": f"{results}/frames/velociti/fps1.parquet", "threads": "1",
        "responses": f"{tmp_path}/out.parquet", "timings": f"{tmp_path}/timings.parquet", "log": f"{tmp_path}/log",
    }  # fmt: skip
    manifests = ["--manifests", *(f"{results}/clips/velociti/{shard}.parquet" for shard in range(2))]
    arguments = [word for name, value in options.items() for word in (f"--{name}", value)]
    command = [
        sys.executable,
        "-m",
        "reprise.stages",
        "--store",
        "resources/store",
        "--attempts",
        "3",
        "infer",
        *manifests,
        *arguments,
    ]
    process = Project(finished_toy).run(command, PYTHONPROFILEIMPORTTIME="1")
    assert process.returncode == 0, process.stderr
    imported = {
        line.rsplit("|", 1)[-1].strip() for line in process.stderr.splitlines() if line.startswith("import time")
    }
    assert "polars" in imported and not {"torch", "transformers", "av"} & imported


def test_a_run_of_another_clone_is_compared(toy: Project, tmp_path: Path) -> None:
    other_clone = tmp_path / "other"
    for part in ("config", "results"):
        shutil.copytree(toy.root / part, other_clone / part)
    for part in ("workflow", "resources"):
        (other_clone / part).symlink_to(toy.root / part)
    responses = other_clone / f"results/small/responses/{RUN}.parquet"
    provenance = read_provenance(responses)
    assert provenance is not None
    provenance.settings[RUN]["answers"]["versions"]["torch"] = "1.0"
    with record_provenance(provenance):
        write_table(read_table(responses, RESPONSES), responses, RESPONSES)
    output = toy.call_reprise("compare", RUN, f"{other_clone}:{RUN}")
    assert f"Differences of the conditions: {RUN} | {other_clone}:{RUN}" in output
    assert "torch: " in output and " | 1.0" in output and f"strict: {other_clone}:{RUN} is better on 0 of" in output
    with pytest.raises(UserError, match="has velociti entail"):
        toy.call_reprise("compare", RUN, "velociti/mc/fps1/toy-llava-ov")
    (other_clone / f"results/small/verdicts/{RUN}/robust.parquet").unlink()
    with pytest.raises(UserError, match=f"in {other_clone}: compare: results/small/verdicts/{RUN}"):
        toy.call_reprise("compare", RUN, f"{other_clone}:{RUN}")


def test_a_cell_is_traced_to_its_sources(finished_toy: Path) -> None:
    output = Project(finished_toy).call_reprise("trace", "velociti/table2", "--row", "Toy", "--column", "Avg")
    steps = [line.partition(":")[0] for line in output.splitlines() if line[0] != " "][1:]
    assert steps[:3] == ["metrics", "verdicts", "infer"] and steps[-1] == "release"
    assert set(steps[3:-1]) == {"requests", "frames", "clip_metadata", "clips", "sources", "annotations"}
    versions = ("answers.versions.transformers: ", "answers.sampling.rule: fps_mid")
    assert all(text in output for text in (*versions, " sha256 ", " 28 requested, 28 scored"))
    assert "..." not in output, "prompts and settings are not cut"

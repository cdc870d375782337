"""A new checkpoint, runs compared and cells traced: with the demo's real checkpoints."""

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
from reprise.core.settings_text import settings_text
from reprise.plan.runs import Plan
from reprise.plan.suite import all_settings

from tests.workflow.conftest import Project

RUN = "velociti/entail/fps1/toy-llava-ov"


def test_a_new_checkpoint_reruns_exactly_its_model(toy: Project) -> None:
    """Touching it reruns nothing, and its bytes do."""
    weights = toy.root / "resources/demo/checkpoints/llava-ov-early/model.safetensors"
    os.utime(weights)
    assert toy.planned() == []
    generation = weights.with_name("generation_config.json")
    generation.write_text(generation.read_text() + "\n")
    assert toy.planned().count("infer") == 2
    responses, metadata = toy.digests("responses"), toy.digests("clip_metadata")
    toy.edit("config/models/toy-llava-ov.yaml", "checkpoints/llava-ov-early", "checkpoints/llava-ov-late")
    # two runs of the model, what is read and measured of them, their two tables, and the collections of these
    assert toy.planned() == sorted(["infer", "metrics", "table", "verdicts"] * 2 + ["collected_table"] * 2 + ["all"])
    table = "results/tables/velociti/table2.md"
    assert toy.made(table) == ["infer", "metrics", "table", "verdicts"]
    changed = {name for name, known in toy.digests("responses").items() if known != responses[name]}
    assert {name for name in changed if "timings" not in name} == {f"{RUN}.parquet"}
    assert all("toy-llava-ov" in name for name in changed) and toy.digests("clip_metadata") == metadata


def test_a_run_whose_answers_are_cached_loads_no_model(finished_toy: Path, tmp_path: Path) -> None:
    """By the command of its rule, with another place for what it makes."""
    results = "results/small"
    with chdir(finished_toy):
        settings = all_settings(Plan(load(Path())))[RUN]
    options = {
        "settings": settings_text(RUN, settings.model_dump(mode="json")), "requests": f"{results}/requests/velociti/entail.parquet",
        "frames": f"{results}/frames/velociti/fps1.parquet", "threads": "1",
        "responses": f"{tmp_path}/out.parquet", "timings": f"{tmp_path}/timings.parquet", "log": f"{tmp_path}/log",
    }  # fmt: skip
    manifests = ["--manifests", *(f"{results}/clips/velociti/{shard}.parquet" for shard in range(2))]
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
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
        *words,
    ]
    done = Project(finished_toy).run(command, PYTHONPROFILEIMPORTTIME="1")
    assert done.returncode == 0, done.stderr
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines() if line.startswith("import time")}
    assert "polars" in imported and not {"torch", "transformers", "av"} & imported


def test_a_run_of_another_clone_is_compared(toy: Project, tmp_path: Path) -> None:
    other = tmp_path / "other"
    for part in ("config", "results"):
        shutil.copytree(toy.root / part, other / part)
    for part in ("workflow", "resources"):
        (other / part).symlink_to(toy.root / part)
    responses = other / f"results/small/responses/{RUN}.parquet"
    made = read_provenance(responses)
    assert made is not None
    made.settings[RUN]["answers"]["versions"]["torch"] = "1.0"
    with record_provenance(made):
        write_table(read_table(responses, RESPONSES), responses, RESPONSES)
    said = toy.called("compare", RUN, f"{other}:{RUN}")
    assert f"Differences of the conditions: {RUN} | {other}:{RUN}" in said
    assert "torch: " in said and " | 1.0" in said and f"strict: {other}:{RUN} is better on 0 of" in said
    with pytest.raises(UserError, match="has velociti entail"):
        toy.called("compare", RUN, "velociti/mc/fps1/toy-llava-ov")
    (other / f"results/small/verdicts/{RUN}/robust.parquet").unlink()
    with pytest.raises(UserError, match=f"in {other}: compare: results/small/verdicts/{RUN}"):
        toy.called("compare", RUN, f"{other}:{RUN}")


def test_a_cell_is_traced_to_its_sources(finished_toy: Path) -> None:
    said = Project(finished_toy).called("trace", "velociti/table2", "--row", "Toy", "--column", "Avg")
    steps = [line.partition(":")[0] for line in said.splitlines() if line[0] != " "][1:]
    assert steps[:3] == ["metrics", "verdicts", "infer"] and steps[-1] == "release"
    assert set(steps[3:-1]) == {"requests", "frames", "clip_metadata", "clips", "sources", "annotations"}
    versions = ("answers.versions.transformers: ", "answers.sampling.rule: fps_mid")
    assert all(words in said for words in (*versions, " sha256 ", " 28 requested, 28 scored"))
    assert "..." not in said, "prompts and settings are whole"

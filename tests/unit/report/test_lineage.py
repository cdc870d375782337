"""Test the lineage of a number: every stage with its files and settings."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.core.files import write_sealed_text
from reprise.core.lineage import Lineages
from reprise.core.paths import RESULTS, Results
from reprise.core.provenance import Provenance, record_provenance
from reprise.core.schemas import CLIP_MANIFEST, METRICS, REQUESTS, RESPONSES, write_table
from reprise.report.lineage import MAX_FILES, MAX_LIST_CHARACTERS, Detail, StageLineages

from tests.unit.report.world import make_clip

PROMPT = "Watch the video.\n" + "Does it fit {caption}? " * 60
RESULTS_FOLDER = RESULTS / "small"


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    monkeypatch.chdir(tmp_path)
    return Results("small")


def write_result(
    path: Path, schema: pl.Schema, stage: str, *inputs: Path, rows: Any = (), **settings: Mapping[str, Any]
) -> Path:
    provenance = Provenance(
        stage,
        {name.replace("_", "/"): content for name, content in settings.items()},
        dict.fromkeys(map(str, inputs), "ab"),
    )
    with record_provenance(provenance):
        write_table(pl.DataFrame(rows, schema=schema), path, schema)
    return path


def test_stages_are_in_the_order_of_their_dependencies(results: Results) -> None:
    requests = write_result(RESULTS_FOLDER / "requests/v/entail.parquet", REQUESTS, "requests", Path("prompts.yaml"))
    manifests = [
        write_result(RESULTS_FOLDER / f"clips/v/{shard}.parquet", CLIP_MANIFEST, "clips") for shard in range(2)
    ]
    answers = write_result(
        RESULTS_FOLDER / "responses/v/entail/fps1/one.parquet", RESPONSES, "infer", requests, *manifests
    )
    metrics = write_result(RESULTS_FOLDER / "metrics/v/entail/fps1/one.parquet", METRICS, "metrics", requests, answers)
    stages = StageLineages(results).trace(metrics)
    assert [(stage.name, len(stage.files)) for stage in stages] == [
        ("requests", 1),
        ("clips", 2),
        ("infer", 1),
        ("metrics", 1),
    ]
    requests.unlink()
    assert [stage.name for stage in StageLineages(results).trace(metrics)] == ["clips", "infer", "metrics"]
    assert [step.path for step in Lineages().trace(answers)][-1] == answers


def test_prompts_are_complete_and_long_lists_are_truncated(results: Results) -> None:
    content = {"prompt": {"system": "", "user": PROMPT}, "items": ["item"] * 500, "none": None}
    path = write_result(RESULTS_FOLDER / "requests/v/entail.parquet", REQUESTS, "requests", requests_v_entail=content)
    (stage,) = StageLineages(results).trace(path)
    (used_settings,) = stage.settings
    details = dict(used_settings.settings)
    assert (
        used_settings.name == "requests/v/entail"
        and details["prompt.user"] == PROMPT
        and set(details) == {"prompt.user", "items"}
    )
    assert len(details["items"]) < MAX_LIST_CHARACTERS + 30 and details["items"].endswith("... (4000 characters)")


def test_digests_of_released_files_and_statuses_of_clips(results: Results) -> None:
    files = [{"name": "a", "path": f"{number}.vtt", "sha256": "ab"} for number in range(MAX_FILES + 3)]
    release = results.release("v")
    release.parent.mkdir(parents=True)
    with record_provenance(Provenance("release")):
        write_sealed_text(release, json.dumps(files))
    manifests = [
        write_result(
            RESULTS_FOLDER / f"clips/v/{shard}.parquet",
            CLIP_MANIFEST,
            "clips",
            release,
            rows=[make_clip(f"c{shard}", status)],
        )
        for shard, status in enumerate(("ok", "gone"))
    ]
    metrics = write_result(RESULTS_FOLDER / "metrics/m.parquet", METRICS, "metrics", *manifests)
    stages = {stage.name: stage for stage in StageLineages(results).trace(metrics)}
    assert stages["clips"].details == [Detail("status", "1 ok, 1 gone")] and len(stages["clips"].files) == 2
    details = stages["release"].details
    assert details[0] == Detail("0.vtt", "sha256 ab") and len(details) == MAX_FILES + 1
    assert details[-1] == Detail("and", "3 more files")

"""What a number was made from: every stage with the settings that it was made with, texts whole."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.core.files import write_sealed
from reprise.core.lineage import Lineages
from reprise.core.paths import RESULTS, Results
from reprise.core.provenance import Provenance, recording
from reprise.core.schemas import CLIP_LEDGER, METRICS, REQUESTS, RESPONSES, write_table
from reprise.report.chain import LONGEST_LIST, MOST_FILES, Chains, Fact

from tests.unit.report.world import clip

PROMPT = "Watch the video.\n" + "Does it fit {caption}? " * 60
SMALL = RESULTS / "small"


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    monkeypatch.chdir(tmp_path)
    return Results("small")


def write(
    path: Path, schema: pl.Schema, stage: str, *inputs: Path, rows: Any = (), **settings: Mapping[str, Any]
) -> Path:
    made = Provenance(
        stage, {name.replace("_", "/"): one for name, one in settings.items()}, dict.fromkeys(map(str, inputs), "ab")
    )
    with recording(made):
        write_table(pl.DataFrame(rows, schema=schema), path, schema)
    return path


def test_stages_stand_in_the_order_in_which_they_are_made(results: Results) -> None:
    requests = write(SMALL / "requests/v/entail.parquet", REQUESTS, "requests", Path("prompts.yaml"))
    ledgers = [write(SMALL / f"clips/v/{shard}.parquet", CLIP_LEDGER, "clips") for shard in range(2)]
    answers = write(SMALL / "responses/v/entail/fps1/one.parquet", RESPONSES, "infer", requests, *ledgers)
    metrics = write(SMALL / "metrics/v/entail/fps1/one.parquet", METRICS, "metrics", requests, answers)
    found = Chains(results).of(metrics)
    assert [(made.name, len(made.files)) for made in found] == [
        ("requests", 1),
        ("clips", 2),
        ("infer", 1),
        ("metrics", 1),
    ]
    requests.unlink()
    assert [made.name for made in Chains(results).of(metrics)] == ["clips", "infer", "metrics"]
    assert [step.path for step in Lineages().of(answers)][-1] == answers


def test_a_prompt_is_told_whole_and_a_long_list_is_cut(results: Results) -> None:
    content = {"prompt": {"system": "", "user": PROMPT}, "items": ["item"] * 500, "none": None}
    path = write(SMALL / "requests/v/entail.parquet", REQUESTS, "requests", requests_v_entail=content)
    (made,) = Chains(results).of(path)
    (used,) = made.settings
    found = dict(used.settings)
    assert (
        used.name == "requests/v/entail" and found["prompt.user"] == PROMPT and set(found) == {"prompt.user", "items"}
    )
    assert len(found["items"]) < LONGEST_LIST + 30 and found["items"].endswith("... (4000 characters)")


def test_what_was_released_and_what_became_of_clips(results: Results) -> None:
    many = [{"name": "a", "path": f"{number}.vtt", "sha256": "ab"} for number in range(MOST_FILES + 3)]
    release = results.release("v")
    release.parent.mkdir(parents=True)
    with recording(Provenance("release")):
        write_sealed(release, json.dumps(many))
    ledgers = [
        write(SMALL / f"clips/v/{shard}.parquet", CLIP_LEDGER, "clips", release, rows=[clip(f"c{shard}", status)])
        for shard, status in enumerate(("ok", "gone"))
    ]
    metrics = write(SMALL / "metrics/m.parquet", METRICS, "metrics", *ledgers)
    made = {stage.name: stage for stage in Chains(results).of(metrics)}
    assert made["clips"].facts == [Fact("status", "1 ok, 1 gone")] and len(made["clips"].files) == 2
    facts = made["release"].facts
    assert facts[0] == Fact("0.vtt", "sha256 ab") and len(facts) == MOST_FILES + 1
    assert facts[-1] == Fact("and", "3 more files")

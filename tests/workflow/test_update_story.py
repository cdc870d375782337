"""A new checkpoint, a killed inference job, an adopted refactoring: with the demo's real checkpoints."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from reprise.core.files import file_digest
from reprise.core.schemas import RESPONSES

from tests.workflow.conftest import Project, copy_project, toy_suite

RUN = "velociti/entail/fps1/toy-llava-ov"


def state(project: Project, stage: str) -> dict[str, tuple[str, int]]:
    root = project.root / "results/small" / stage
    return {str(p.relative_to(root)): (file_digest(p), p.stat().st_mtime_ns) for p in sorted(root.rglob("*.parquet"))}


@pytest.mark.parametrize("metadata", ["kept", "deleted"])
def test_a_new_checkpoint_reruns_exactly_its_model(toy: Project, metadata: str) -> None:
    if metadata == "deleted":
        shutil.rmtree(toy.root / ".snakemake/metadata")
    responses, facts = state(toy, "responses"), state(toy, "facts")
    toy.edit("config/models/toy-llava-ov.yaml", "checkpoints/llava-ov-early", "checkpoints/llava-ov-late")
    # two runs of the model, what is read and measured of them, their two tables, and the collections of these
    expected = sorted(["infer", "score", "table"] * 2 + ["collected_table"] * 6 + ["all"])
    assert toy.planned() == expected
    assert toy.made() == expected
    after = state(toy, "responses")
    changed = {name for name in responses if after[name] != responses[name]}
    assert {name for name in changed if "timings" not in name} == {
        "velociti/entail/fps1/toy-llava-ov.parquet",
        "velociti/mc/fps1/toy-llava-ov.parquet",
    }
    assert all("toy-llava-ov" in name for name in changed)
    assert state(toy, "facts") == facts
    assert toy.made() == []


def test_touching_a_checkpoint_changes_nothing_and_its_bytes_do(toy: Project) -> None:
    weights = toy.root / "resources/demo/checkpoints/llava-ov-early/model.safetensors"
    os.utime(weights)
    assert toy.planned() == []
    generation = toy.root / "resources/demo/checkpoints/llava-ov-early/generation_config.json"
    generation.write_text(generation.read_text() + "\n")
    assert toy.planned().count("infer") == 2


def test_one_table_asks_only_its_own_runs(tmp_path: Path) -> None:
    project = toy_suite(copy_project(tmp_path / "project"))
    assert project.planned("results/tables/velociti/table6.md").count("infer") == 1


def infer_command(project: Project, out: Path) -> list[str]:
    """The shell command of the run's inference job, as the rule has it, with another place for its output."""
    results = Path("results/small")
    ledgers = [str(results / f"clips/velociti/{shard}.parquet") for shard in range(2)]
    return [
        sys.executable, "-m", "reprise.stages", "infer", "--key", str(results / f"keys/{RUN}.json"),
        "--requests", str(results / "requests/velociti/entail.parquet"),
        "--frames", str(results / "frames/velociti/fps1.parquet"), "--ledgers", *ledgers,
        "--store", "resources/store", "--threads", "1", "--attempts", "3",
        "--responses", str(out), "--timings", str(out.with_suffix(".timings.parquet")),
        "--log", str(out.with_suffix(".log")),
    ]  # fmt: skip


def answered(project: Project) -> int:
    journals = (project.root / "resources/store/journal").rglob("*.jsonl")
    return sum(len(path.read_text().splitlines()) for path in journals)


def test_a_killed_inference_resumes_where_it_was_and_ends_the_same(toy: Project, tmp_path: Path) -> None:
    """kill -9 at random moments: the same bytes in the end, and no question asked twice."""
    unbroken = pl.read_parquet(toy.root / f"results/small/responses/{RUN}.parquet")
    shutil.rmtree(toy.root / "resources/store/journal")
    out = tmp_path / "out.parquet"
    environment = os.environ | {"PYTHONPATH": str(toy.root / "workflow"), "OMP_NUM_THREADS": "1"}
    dice, kills = random.Random(0), 0
    while kills < 3:
        process = subprocess.Popen(infer_command(toy, out), cwd=toy.root, env=environment, stderr=subprocess.DEVNULL)
        before = answered(toy)
        while process.poll() is None and answered(toy) <= before:
            time.sleep(0.005)
        time.sleep(dice.uniform(0, 0.15))
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
        assert not out.exists(), "no half-written output"
    assert kills >= 1, "the job ended before it could be killed; give it more to do"
    left = unbroken.height - answered(toy)
    assert left > 0
    done = subprocess.run(
        infer_command(toy, out), cwd=toy.root, env=environment, capture_output=True, text=True, check=True
    )
    assert file_digest(out) == file_digest(toy.root / f"results/small/responses/{RUN}.parquet"), done.stderr
    timings = pl.read_parquet(out.with_suffix(".timings.parquet"))
    asked = int((timings["requests"] - timings["resumed"]).sum())
    largest = int(timings["requests"].max())  # type: ignore[arg-type]
    assert asked <= left + largest, "at most what was left, plus one clip"


def test_a_run_whose_answers_are_journaled_loads_no_model(toy: Project, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    environment = os.environ | {"PYTHONPATH": str(toy.root / "workflow"), "PYTHONPROFILEIMPORTTIME": "1"}
    done = subprocess.run(
        infer_command(toy, out), cwd=toy.root, env=environment, capture_output=True, text=True, check=True
    )
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines() if line.startswith("import time")}
    assert "reprise.stages.infer" in imported or "polars" in imported
    assert not {"torch", "transformers", "av"} & imported


def test_adopting_carries_answers_over_a_refactoring(toy: Project) -> None:
    table = "results/tables/velociti/table2.md"
    toy.edit(
        "workflow/reprise/models/local/transformers.py",
        "class TransformersAdapter",
        "ADDED = 1\n\n\nclass TransformersAdapter",
    )
    assert toy.planned(table).count("infer") == 1
    done = toy.reprise("reprise", "adopt", RUN, "--why", "added a name")
    assert done.returncode == 0, done.stderr
    before = pl.read_parquet(toy.root / f"results/small/responses/{RUN}.parquet")
    toy.made(table)
    after = read(toy)
    assert after.drop("key").equals(before.drop("key")) and after["key"][0] != before["key"][0]
    timings = pl.read_parquet(toy.root / f"results/small/responses/{RUN}.timings.parquet")
    assert (timings["resumed"] == timings["requests"]).all()
    assert "added a name" in (toy.root / table).read_text()


def test_adopting_another_model_is_refused(toy: Project) -> None:
    toy.edit("config/models/toy-llava-ov.yaml", "checkpoints/llava-ov-early", "checkpoints/llava-ov-late")
    done = toy.reprise("reprise", "adopt", RUN, "--why", "hope")
    assert done.returncode == 1 and "differs in model, which can alter answers" in done.stderr


def test_adopting_a_change_that_altered_answers_is_refused(toy: Project) -> None:
    toy.edit(
        "workflow/reprise/models/local/forward.py",
        "torch.softmax(logits.double()",
        "torch.softmax(2 * logits.double()",
    )
    done = toy.reprise("reprise", "adopt", RUN, "--why", "hope")
    assert done.returncode == 1 and "The change altered the answers: run snakemake to ask again." in done.stderr
    assert not (toy.root / "resources/store/adopted.jsonl").exists()


def read(project: Project) -> pl.DataFrame:
    frame = pl.read_parquet(project.root / f"results/small/responses/{RUN}.parquet")
    assert frame.schema == RESPONSES
    return frame


def test_scores_are_probabilities_of_the_whole_vocabulary(toy: Project) -> None:
    scores = read(toy)["scores"].to_list()
    assert all(0 < yes < 1 and 0 < no < 1 and yes + no < 1 for yes, no in scores)
    assert set(read(toy)["frames_shown"]) == {10}


def test_comparing_a_run_with_itself_finds_no_difference(toy: Project) -> None:
    done = toy.reprise("reprise", "compare", RUN, RUN)
    assert done.returncode == 0, done.stderr
    assert "| strict | control | 4 | 3 | +0.0 | -77.5 to +77.5 | 1.0000 |" in done.stdout, (
        "4 equal answers prove little"
    )
    assert "The answers of both were made with the same settings" in done.stdout
    assert f"strict: better by {RUN}: 0 of" in done.stdout


def test_a_run_of_another_clone_is_compared(toy: Project, tmp_path: Path) -> None:
    other = tmp_path / "other"
    for part in ("config", "results"):
        shutil.copytree(toy.root / part, other / part)
    for part in ("workflow", "resources"):
        (other / part).symlink_to(toy.root / part)
    key = other / f"results/small/keys/{RUN}.json"
    found = json.loads(key.read_text())
    found["answers"]["versions"]["torch"] = "1.0"
    key.write_text(json.dumps(found))
    done = toy.reprise("reprise", "compare", RUN, f"{other}:{RUN}")
    assert done.returncode == 0, done.stderr
    assert f"What differs in the conditions: {RUN} | {other}:{RUN}" in done.stdout
    assert "torch: " in done.stdout and " | 1.0" in done.stdout
    assert f"strict: better by {other}:{RUN}: 0 of" in done.stdout
    (other / f"results/small/verdicts/{RUN}/robust.parquet").unlink()
    done = toy.reprise("reprise", "compare", RUN, f"{other}:{RUN}")
    assert done.returncode == 1 and f"in {other}: compare: results/small/verdicts/{RUN}" in done.stderr


def test_a_cell_is_traced_to_its_sources(toy: Project) -> None:
    done = toy.reprise("reprise", "trace", "velociti/table2", "--row", "Toy", "--column", "Avg")
    assert done.returncode == 0, done.stderr
    steps = [line.partition(":")[0] for line in done.stdout.splitlines() if line[0] != " "][1:]
    expected = ["metrics", "verdicts", "answers", "requests", "frame plan", "facts", "clips", "sources"]
    assert steps == [*expected, "annotations", "release"]
    for settings in (
        "answers.versions.transformers: ",
        "answers.sampling.rule: fps_mid",
        " sha256 ",
        " 28 asked, 28 scored",
        "{caption}",
        "  status ",
    ):
        assert settings in done.stdout
    assert "..." not in done.stdout, "prompts and settings are whole"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trace", "velociti/table2", "--row", "Toi", "--column", "Avg"], "trace: no row 'Toi'. Did you mean 'Toy'?"),
        (
            ["trace", "velociti/table2", "--row", "Toy", "--column", "Avgg"],
            "trace: no column 'Avgg'. Did you mean 'Avg'?",
        ),
        (["adopt", "velociti/entail/fps1/nobody", "--why", "x"], "no run 'velociti/entail/fps1/nobody'"),
        (["compare", RUN, "velociti/mc/fps1/toy-llava-ov"], "asks velociti entail"),
        (["compare", RUN, "velociti/entail/fps1/toy-llava"], "Did you mean 'velociti/entail/fps1/toy-llava-ov'?"),
        (
            ["compare", RUN, f"nowhere:{RUN}"],
            "compare: 'nowhere' holds no results of Reprise: it has no results/suite.json.",
        ),
        (["pin", "nobody"], "pin: no model or suite 'nobody'"),
    ],
)
def test_a_mistake_in_a_command_is_named(toy: Project, arguments: list[str], message: str) -> None:
    done = toy.reprise("reprise", *arguments)
    assert done.returncode == 1 and message in done.stderr and "Traceback" not in done.stderr


def test_the_store_shows_and_prunes(toy: Project) -> None:
    shown = toy.reprise("reprise", "store")
    assert "clips" in shown.stdout and "journal" in shown.stdout
    stray = toy.root / "resources/store/clips/ff/stray.mp4"
    stray.parent.mkdir(parents=True, exist_ok=True)
    stray.write_bytes(b"0" * 2_000_000)
    assert "2.0 MB freed" in toy.reprise("reprise", "store", "--prune").stdout
    assert toy.made() == [], "nothing that a ledger names was deleted"

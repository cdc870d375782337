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

from tests.workflow.conftest import Project, own_copy

RUN = "velociti/entail/fps1/toy-llava-ov"


def state(project: Project, stage: str) -> dict[str, tuple[str, int]]:
    root = project.root / "results/small" / stage
    return {str(p.relative_to(root)): (file_digest(p), p.stat().st_mtime_ns) for p in sorted(root.rglob("*.parquet"))}


@pytest.fixture(scope="module")
def looked_at(finished_toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy for the tests that change nothing of it."""
    return own_copy(finished_toy, tmp_path_factory.mktemp("looked_at"))


def test_a_new_checkpoint_reruns_exactly_its_model(toy: Project) -> None:
    """Also where Snakemake's own records are lost; touching it reruns nothing, and its bytes do."""
    weights = toy.root / "resources/demo/checkpoints/llava-ov-early/model.safetensors"
    os.utime(weights)
    assert toy.planned() == []
    generation = weights.with_name("generation_config.json")
    generation.write_text(generation.read_text() + "\n")
    assert toy.planned().count("infer") == 2
    responses, facts = state(toy, "responses"), state(toy, "facts")
    toy.edit("config/models/toy-llava-ov.yaml", "checkpoints/llava-ov-early", "checkpoints/llava-ov-late")
    # two runs of the model, what is read and measured of them, their two tables, and the collections of these
    expected = sorted(["infer", "score", "table"] * 2 + ["collected_table"] * 6 + ["all"])
    assert toy.planned() == expected
    shutil.rmtree(toy.root / ".snakemake/metadata")
    assert toy.planned() == expected
    table = "results/tables/velociti/table2.md"
    assert toy.made(table) == ["infer", "score", "table"]
    after = state(toy, "responses")
    changed = {name for name in responses if after[name] != responses[name]}
    assert {name for name in changed if "timings" not in name} == {f"{RUN}.parquet"}
    assert all("toy-llava-ov" in name for name in changed)
    assert state(toy, "facts") == facts
    assert toy.made(table) == []


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
    """kill -9 at a random moment: the same bytes in the end, and no question asked twice."""
    unbroken = pl.read_parquet(toy.root / f"results/small/responses/{RUN}.parquet")
    shutil.rmtree(toy.root / "resources/store/journal")
    out = tmp_path / "out.parquet"
    environment = toy.environment | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(infer_command(toy, out), cwd=toy.root, env=environment, stderr=subprocess.DEVNULL)
    while process.poll() is None and answered(toy) == 0:
        time.sleep(0.005)
    time.sleep(random.Random(0).uniform(0, 0.05))
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "the job ended before it could be killed; give it more to do"
    assert not out.exists(), "no half-written output"
    left = unbroken.height - answered(toy)
    assert left > 0
    done = toy.run(infer_command(toy, out), environment)
    assert file_digest(out) == file_digest(toy.root / f"results/small/responses/{RUN}.parquet"), done.stderr
    timings = pl.read_parquet(out.with_suffix(".timings.parquet"))
    asked = int((timings["requests"] - timings["resumed"]).sum())
    largest = int(timings["requests"].max())  # type: ignore[arg-type]
    assert asked <= left + largest, "at most what was left, plus one clip"


def test_a_run_whose_answers_are_journaled_loads_no_model(looked_at: Project, tmp_path: Path) -> None:
    done = looked_at.run(infer_command(looked_at, tmp_path / "out.parquet"), {"PYTHONPROFILEIMPORTTIME": "1"})
    assert done.returncode == 0, done.stderr
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


def test_adopting_another_model_or_what_altered_answers_is_refused(toy: Project) -> None:
    model = "config/models/toy-llava-ov.yaml"
    toy.edit(model, "checkpoints/llava-ov-early", "checkpoints/llava-ov-late")
    done = toy.reprise("reprise", "adopt", RUN, "--why", "hope")
    assert done.returncode == 1 and "differs in model, which can alter answers" in done.stderr
    toy.edit(model, "checkpoints/llava-ov-late", "checkpoints/llava-ov-early")
    softmax = "torch.softmax({}logits.double()"
    toy.edit("workflow/reprise/models/local/forward.py", softmax.format(""), softmax.format("2 * "))
    done = toy.reprise("reprise", "adopt", RUN, "--why", "hope")
    assert done.returncode == 1 and "The change altered the answers: run snakemake to ask again." in done.stderr
    assert not (toy.root / "resources/store/adopted.jsonl").exists()


def read(project: Project) -> pl.DataFrame:
    frame = pl.read_parquet(project.root / f"results/small/responses/{RUN}.parquet")
    assert frame.schema == RESPONSES
    return frame


def test_scores_are_probabilities_of_the_whole_vocabulary(looked_at: Project) -> None:
    scores = read(looked_at)["scores"].to_list()
    assert all(0 < yes < 1 and 0 < no < 1 and yes + no < 1 for yes, no in scores)
    assert set(read(looked_at)["frames_shown"]) == {10}


def test_comparing_a_run_with_itself_finds_no_difference(looked_at: Project) -> None:
    done = looked_at.reprise("reprise", "compare", RUN, RUN)
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


def test_a_cell_is_traced_to_its_sources(looked_at: Project) -> None:
    done = looked_at.reprise("reprise", "trace", "velociti/table2", "--row", "Toy", "--column", "Avg")
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
        (["compare", RUN, "velociti/mc/fps1/toy-llava-ov"], "asks velociti entail"),
        (
            ["compare", RUN, f"nowhere:{RUN}"],
            "compare: 'nowhere' holds no results of Reprise: it has no results/suite.json.",
        ),
        (["pin", "nobody"], "pin: no model or suite 'nobody'"),
    ],
)
def test_a_mistake_in_a_command_is_named(looked_at: Project, arguments: list[str], message: str) -> None:
    done = looked_at.reprise("reprise", *arguments)
    assert done.returncode == 1 and message in done.stderr and "Traceback" not in done.stderr


def test_the_store_shows_and_prunes(toy: Project) -> None:
    shown = toy.reprise("reprise", "store")
    assert "clips" in shown.stdout and "journal" in shown.stdout
    stray = toy.root / "resources/store/clips/ff/stray.mp4"
    stray.parent.mkdir(parents=True, exist_ok=True)
    stray.write_bytes(b"0" * 2_000_000)
    assert "2.0 MB freed" in toy.reprise("reprise", "store", "--prune").stdout
    assert toy.made() == [], "nothing that a ledger names was deleted"

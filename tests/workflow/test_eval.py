"""`reprise eval` in a finished copy: a folder of weights becomes a row of the overview, and the second time nothing is done."""

import csv
import shutil
from pathlib import Path

from reprise.core.yaml_files import load_yaml

from tests.workflow.conftest import ROOT, Project

FOLDER = "weights/Late"
EVAL = ("reprise", "eval", FOLDER, "--benchmarks", "velociti", "--cores", "2")
SUITE, MODEL = "config/suites/small.yaml", "config/models/late.yaml"
RUN = "velociti/entail/fps1/late"


def configuration(project: Project) -> dict[Path, str]:
    return {path: path.read_text() for path in (project.root / "config").rglob("*.yaml")}


def test_from_a_folder_to_a_row(toy: Project) -> None:
    shutil.copytree(ROOT / "resources/demo/checkpoints/llava-ov-late", toy.root / FOLDER)
    before = configuration(toy)
    dry = toy.reprise(*EVAL, "-n")
    assert dry.returncode == 0, dry.stdout + dry.stderr
    assert RUN in dry.stdout and "infer" in dry.stdout + dry.stderr
    assert configuration(toy) == before

    done = toy.reprise(*EVAL, "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert load_yaml(toy.root / MODEL) | {"memory_mb": 0} == {
        "label": "Late", "adapter": "transformers", "checkpoint": FOLDER, "memory_mb": 0,
    }  # fmt: skip
    line = {"model": "late", "benchmarks": ["velociti"]}
    assert load_yaml(toy.root / SUITE)["overview"] == [line] and load_yaml(toy.root / SUITE)["run"] == ["local"]
    assert (
        "late sees its clips." in done.stdout
        and "Beside all rows of the paper: reprise show velociti/table2" in done.stdout
    )
    with (toy.root / "results/tables/overview.csv").open() as stream:
        rows = {row["metric"]: row for row in csv.DictReader(stream) if row["convention"] != "authors"}
    assert rows["strict"]["run"] == RUN and rows["strict"]["row"] == "Late" and float(rows["strict"]["asked"]) > 0
    assert rows["strict"]["low"] and float(rows["seconds_a_question"]["value"]) > 0
    (shown,) = [text for text in done.stdout.splitlines() if text.startswith("Late ")]
    assert f"{float(rows['strict']['value']):.1f}" in shown

    again = toy.reprise(*EVAL, "--yes")
    assert again.returncode == 0 and "Nothing to be done" in again.stdout + again.stderr
    assert "frames that reached it" not in again.stdout, "what is answered is not checked again"
    assert shown in again.stdout.splitlines()


def test_the_overview_of_published_values_needs_no_model(toy: Project) -> None:
    made = toy.made("results/tables/overview.md", "--config", "suite=paper")
    assert made == ["overview"]
    text = (toy.root / "results/tables/overview.md").read_text()
    assert "LLaVA-OneVision-7B" in text and "*32.1*" in text and "Published value in italics" in text

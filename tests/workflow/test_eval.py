"""`reprise eval`, as the README shows it: a folder of weights becomes a row of the overview, and then nothing is left to do."""

import csv
import json
import shlex

from reprise.core.yaml_files import load_yaml

from tests.workflow.conftest import Project
from tests.workflow.test_docs import COMMANDS

NAME = "llava-ov-late"
RUN = f"velociti/entail/fps1/{NAME}"


def test_from_a_folder_to_a_row(toy: Project) -> None:
    (command,) = [command for command in COMMANDS if command.startswith("reprise eval")]
    toy.edit("config/suites/small.yaml", "run: [local]", "run: [oracle]")
    done = toy.reprise(*shlex.split(command), "--json", "late/numbers.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert load_yaml(toy.root / f"config/models/{NAME}.yaml")["checkpoint"] == f"resources/demo/checkpoints/{NAME}"
    suite = load_yaml(toy.root / "config/suites/small.yaml")
    assert suite["run"] == ["oracle", NAME] and suite["overview"] == [{"model": NAME, "benchmarks": ["velociti"]}]
    assert f"{NAME} sees its clips." in done.stdout and "reprise show velociti/table2" in done.stdout
    with (toy.root / "results/tables/overview.csv").open() as stream:
        rows = {row["metric"]: row for row in csv.DictReader(stream) if row["convention"] != "authors"}
    assert rows["strict"]["run"] == RUN and rows["strict"]["row"] == NAME and float(rows["strict"]["asked"]) > 0
    assert rows["strict"]["low"] and float(rows["seconds_a_question"]["value"]) > 0
    (shown,) = [text for text in done.stdout.splitlines() if text.startswith(f"{NAME} ") and "sees" not in text]
    assert f"{float(rows['strict']['value']):.1f}" in shown
    numbers = json.loads((toy.root / "late/numbers.json").read_text())["numbers"]
    assert {one["run"] for one in numbers} == {RUN}
    (strict,) = [one for one in numbers if one["metric"] == "strict" and one["convention"] != "authors"]
    for name in ("value", "low", "high", "asked", "failed", "unparsed", "missing"):
        assert float(strict[name]) == float(rows["strict"][name])
    assert strict["key"] == rows["strict"]["key"] and len(strict["key"]) == 64


def test_the_overview_of_published_values_needs_no_model(toy: Project) -> None:
    assert toy.made("results/tables/overview.md", "--config", "suite=paper") == ["overview"]
    text = (toy.root / "results/tables/overview.md").read_text()
    assert "LLaVA-OneVision-7B" in text and "*32.1*" in text and "Published value in italics" in text

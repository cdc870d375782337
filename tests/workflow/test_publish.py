"""Test `reprise publish`: its files, its refusals, and a pull request at a local hub."""

import base64
import json
import re
import zipfile
from pathlib import Path

import pytest
from huggingface_hub import ModelCard
from jsonschema import Draft7Validator
from reprise.core.errors import UserError
from reprise.tables.builder import TIDY_SCHEMA

from tests.unit.external.test_publication import SCHEMA
from tests.unit.fetch.server import Behaviour, serve_paths, silent_server
from tests.unit.fetch.test_hub import use_local_hub
from tests.workflow.conftest import Project, printed_text

RUN = "velociti/entail/fps1/oracle"
REPO = "me/mine"
CARD = b"---\nlicense: mit\n---\n# Mine\n"

PAGE = (Path(__file__).parents[2] / "docs/howto/publish.md").read_text()


@pytest.mark.parametrize("package", ["mlflow", "wandb"])
def test_an_example_of_a_tracker_is_short_and_reads_numbers_that_exist(package: str) -> None:
    examples = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (example,) = [text for text in examples if f"import {package}" in text]
    compile(example, "publish.md", "exec")
    assert len([line for line in example.splitlines() if line]) <= 10
    columns = set(re.findall(r"\b(?:number|n|numbers\[0\])\[[\"'](\w+)[\"']\]", example))
    assert {"run", "metric", "value"} < columns <= set(TIDY_SCHEMA)


def refuse(project: Project, *arguments: str) -> str:
    """Return the message of a call that must fail in one line and write nothing."""
    process = project.reprise("publish", *arguments)
    assert process.returncode == 1 and "Traceback" not in printed_text(process), printed_text(process)
    assert not (project.root / "results/publish").exists()
    return process.stderr


def read_zip(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def test_a_run_is_published_without_the_names_of_this_machine(small: Project) -> None:
    output = small.reprise_output("publish", RUN)
    folder = small.root / "results/publish/oracle"
    number = next(
        entry for entry in ModelCard.load(folder / "README.md").data.eval_results if entry.metric_type == "strict"
    )
    cell = small.cells("velociti/table2")["Oracle", "Avg"]
    assert number.metric_value == round(float(cell["value"]), 2) == 100.0
    assert (number.dataset_type, number.dataset_name) == ("velociti-folder", "VELOCITI (Small)")
    (record,) = folder.glob("every_eval_ever/data/velociti-folder/unknown/oracle/*.json")
    Draft7Validator(SCHEMA).validate(json.loads(record.read_text()))
    files = read_zip(folder / "oracle.zip")
    assert {"oracle/index.html", "oracle/items.html", "oracle/README.txt"} <= files.keys()
    answers = [json.loads(line) for line in files["oracle/answers/velociti.entail.fps1.oracle.jsonl"].splitlines()]
    assert len(answers) == 64 and all(answer["right"] for answer in answers)
    assert "prompt" not in answers[0], "`publish:` is not set, so texts are withheld"
    steps = json.loads(files["oracle/provenance/velociti.entail.fps1.oracle.json"])
    assert steps[-1]["stage"] == "metrics" and steps[-1]["inputs"]
    texts = b"\n".join(files.values()) + b"".join(
        path.read_bytes() for path in folder.rglob("*.*") if path.suffix in (".md", ".json")
    )
    for private in (str(small.root), str(small.root.parent), str(Path.home())):
        assert private.encode() not in texts or private == "/"
    assert b"control 0 holds" not in texts and "without texts and videos" in output
    assert not [name for name in files if name.endswith(".mp4")]


def test_texts_and_clips_are_published_where_the_suite_allows_it(small: Project) -> None:
    small.edit("config/suites/small.yaml", "    clips: ids\n", "    clips: ids\n    publish: clips\n")
    small.reprise_output("publish", RUN, "--to", "to send")
    files = read_zip(small.root / "to send/oracle.zip")
    assert len([name for name in files if name.startswith("oracle/media/")]) == 3
    assert b"control 0 holds" in files["oracle/answers/velociti.entail.fps1.oracle.jsonl"]


def test_the_numbers_of_a_sample_name_the_sample(small: Project) -> None:
    suite = "small-limit2"
    small.run_rules(f"results/{suite}/metrics/{RUN}.parquet", "--config", f"suite={suite}")
    output = small.reprise_output("publish", RUN, "--config", f"suite={suite}")
    assert "A sample of at most 2 videos or pairs of the benchmark" in output
    numbers = ModelCard.load(small.root / "results/publish/oracle/README.md").data.eval_results
    assert {number.metric_name.partition(" (")[2] for number in numbers} == {
        "entail, fps1, sample of at most 2 videos or pairs)"
    }
    assert (
        b"sample of at most 2 videos" in read_zip(small.root / "results/publish/oracle/oracle.zip")["oracle/index.html"]
    )


def test_incomplete_and_broken_runs_are_refused(small: Project) -> None:
    both = refuse(small, RUN, "velociti/entail/fps1/always-first")
    assert "the runs belong to 2 models (always-first, oracle)" in both
    assert "no run 'velociti/entail/fps1/orakel' in suite 'small'" in refuse(small, "velociti/entail/fps1/orakel")
    small.edit("config/models/always-first.yaml", "reference: true\n", "")
    broken = refuse(small, "velociti/entail/fps1/always-first")
    assert "looks broken, so its numbers are not published" in broken and 'are "Yes"' in broken
    (small.root / "file").touch()
    assert "file/x cannot be written (Not a directory)" in refuse(small, RUN, "--to", "file/x")
    (small.root / f"results/small/metrics/{RUN}.parquet").unlink()
    assert f"publish: {RUN} is missing" in refuse(small, RUN)


@pytest.mark.parametrize("has_card", [True, False])
def test_a_pull_request_adds_the_numbers_to_the_model_card(small: Project, has_card: bool) -> None:
    api, as_json = f"/api/models/{REPO}", {"content_type": "application/json"}
    mode = {"files": [{"path": "README.md", "uploadMode": "regular", "shouldIgnore": False}]}
    commit = {
        "commitUrl": f"/{REPO}/commit/1",
        "commitOid": "1" * 40,
        "pullRequestUrl": f"https://hub/{REPO}/discussions/1",
    }
    headers = {"ETag": '"ab"', "X-Repo-Commit": "0" * 40}
    missing = Behaviour(status=404, headers={"X-Error-Code": "EntryNotFound", "X-Repo-Commit": "0" * 40})
    card = Behaviour(CARD, headers=headers, content_type="text/plain")
    paths = {
        f"/{REPO}/resolve/main/README.md": card if has_card else missing,
        "/api/validate-yaml": Behaviour(b'{"errors": [], "warnings": []}', **as_json),
        f"{api}/preupload/main": Behaviour(json.dumps(mode).encode(), **as_json),
        f"{api}/commit/main": Behaviour(json.dumps(commit).encode(), **as_json),
    }
    with serve_paths(paths) as (url, log):
        environment = {
            "HF_ENDPOINT": url,
            "HF_HUB_OFFLINE": "",
            "HF_HOME": str(small.root / "hub"),
            "HF_TOKEN": "hf_of_this_test",
        }
        process = small.module("reprise", "publish", RUN, "--repo", REPO, "--push", **environment)
    assert process.returncode == 0, printed_text(process)
    assert f"Pull request: https://hub/{REPO}/discussions/1" in process.stdout
    address, body = log.posts[-1]
    assert address == f"{api}/commit/main?create_pr=1"
    _, entry = (json.loads(line) for line in body.splitlines())
    assert entry["value"]["path"] == "README.md"
    pushed = ModelCard(base64.b64decode(entry["value"]["content"]).decode())
    values = {result.metric_name: result.metric_value for result in pushed.data.eval_results}
    assert values["strict, average (entail, fps1)"] == 100.0
    assert (pushed.data.license, "# Mine" in pushed.text) == (("mit", True) if has_card else (None, False))
    assert not any(
        b"hf_of_this_test" in content for content in read_zip(small.root / "results/publish/oracle/oracle.zip").values()
    )


def test_a_push_without_a_repository_or_a_hub_fails_in_one_line(small: Project) -> None:
    process = small.reprise("publish", RUN, "--push")
    assert process.returncode == 1 and "oracle has no repository on the hub. Name it with --repo" in process.stderr
    unknown = Behaviour(status=404, headers={"X-Error-Code": "RepoNotFound"})
    with serve_paths({f"/{REPO}/resolve/main/README.md": unknown}) as (url, _):
        process = small.module("reprise", "publish", RUN, "--repo", REPO, "--push", HF_ENDPOINT=url, HF_HUB_OFFLINE="")
    assert process.returncode == 1 and f"the hub has no model {REPO}" in process.stderr, printed_text(process)
    closed = {"HF_ENDPOINT": url, "HF_HUB_OFFLINE": ""}
    process = small.module("reprise", "publish", RUN, "--repo", REPO, "--push", **closed)
    assert process.returncode == 1 and f"no pull request at {REPO}" in process.stderr
    assert "Traceback" not in process.stderr and (small.root / "results/publish/oracle/oracle.zip").is_file()


def test_a_push_to_a_silent_hub_ends(small: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reprise.commands.push.MAX_S", 2)
    with silent_server() as url:
        use_local_hub(url, monkeypatch)
        with pytest.raises(
            UserError, match=r"^publish: the hub did not answer within 2 s\. Run the same command again"
        ):
            small.call_reprise("publish", RUN, "--repo", REPO, "--push")
    assert (small.root / "results/publish/oracle/oracle.zip").is_file()

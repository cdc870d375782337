"""How rules run stages: their options, several in one process, and the first error, which ends them."""

import json
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.benchmarks.registry import benchmark_names
from reprise.core.errors import UserError
from reprise.core.files import keys_of
from reprise.core.schemas import ITEMS, METRICS, REQUESTS, RESPONSES, VERDICTS, read_table, write_table
from reprise.stages import command

from tests.unit.rows import item_row, request_row, response_row


def test_a_rules_command_names_each_option_once_and_says_where_it_stands() -> None:
    site = {"store": ["a {store}"], "scratch": ["$TMPDIR"], "attempts": [3], "budget": [0.5, 20]}
    shell = partial(command.command_of, site)
    found, python = shell("judgements", "metrics"), shlex.quote(sys.executable)
    assert found.startswith(
        f"{python} -m reprise.stages judgements+metrics --key {{input.key:q}} --run-key {{input.run_key:q}} --judge-key "
    )
    assert found.endswith(" 2> {log:q}") and "made" not in found
    assert found.count("--authors {output.authors:q}") == found.count("--run-key ") == 1
    assert "--threads {threads:q} --log {log:q}" in shell("infer")
    assert " --store 'a {{store}}' " in shell("infer") and " --budget 0.5 20 " in shell("infer")
    assert " --scratch '$TMPDIR' " in shell("sources")
    assert shell("import_answers", name="{params.stage}").startswith(
        f"{python} -m reprise.stages {{params.stage}} --key"
    )


KEYS: dict[str, dict[str, Any]] = {
    "run": {"run": "r", "key": "k", "answers": {"adapter": "random", "sampling": {"rule": "none"}}},
    "verdicts": {"reading": "plain", "patterns": [], "embedder": None},
    "metrics": {"benchmark": "velociti", "form": "entail", "items": None, "level": 0.95, "rated_to": 3},
}
# Tables hold the names of the key files that they were made under, so that all runs give them the same.
COMMAND = """
    verdicts+metrics --run-key run.json --key verdicts.json --metric-key metrics.json --store store --item-table items.parquet
    --requests requests.parquet --responses responses.parquet --authors authors.parquet --robust robust.parquet
    --metrics metrics.parquet
"""


def files(folder: Path, key: str = "k") -> None:
    names = [f"{video}/{place}" for video in "abc" for place in range(2)]
    both = [(name, role) for name in names for role in ("pos", "neg")]
    asked = {role: {"expected": "Yes" if role == "pos" else "No"} for role in ("pos", "neg")}
    tables = {
        "items": ([item_row(name, clip_id=name[0], unit=name[0], task="coref") for name in names], ITEMS),
        "requests": ([request_row(f"{name}#{role}", clip_id=name[0], **asked[role]) for name, role in both], REQUESTS),
        "responses": ([response_row(f"{name}#{role}", "Yes" if name[0] == "a" else "No", key=key) for name, role in both], RESPONSES),
    }  # fmt: skip
    for name, (rows, schema) in tables.items():
        write_table(pl.DataFrame(rows, schema=schema), folder / f"{name}.parquet", schema)
    for name, value in KEYS.items():
        (folder / f"{name}.json").write_text(json.dumps(value))


def test_two_stages_in_one_process_make_the_files_of_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files(tmp_path)
    command.run(COMMAND.split())
    for name, schema in (("authors", VERDICTS), ("robust", VERDICTS), ("metrics", METRICS)):
        assert read_table(tmp_path / f"{name}.parquet", schema).height
    made_under = {name: set(keys_of(tmp_path / f"{name}.parquet") or {}) for name in ("robust", "metrics")}
    assert made_under == {"robust": {"verdicts.json", "run.json"}, "metrics": {"metrics.json", "run.json"}}


def test_the_first_mistake_ends_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files(tmp_path, key="another")
    with pytest.raises(UserError, match="rows carry key another"):
        command.run(COMMAND.split())
    assert not Path("metrics.parquet").exists()
    Path("verdicts.json").write_text("{")
    with pytest.raises(UserError, match=r"verdicts\.json: not valid JSON"):
        command.run(COMMAND.split())
    Path("verdicts.json").unlink()
    with pytest.raises(UserError, match=r"verdicts\.json: cannot be read .* Run snakemake, which writes it\."):
        command.run(COMMAND.split())


def test_scoring_does_without_pydantic() -> None:
    """Its import costs as much as the rest of such a job, of which every model has several."""
    stages = ("verdicts", "judge_requests", "judgements", "metrics")
    modules = [f"reprise.stages.{stage}" for stage in ("command", *stages)]
    modules += [f"reprise.benchmarks.{name}.scores" for name in benchmark_names()]
    code = f"import sys, {', '.join(modules)}; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0

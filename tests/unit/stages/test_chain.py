"""Several stages in one process: the same files as one after the other, and the first error ends them."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.registry import benchmark_names
from reprise.core.schemas import ITEMS, METRICS, REQUESTS, RESPONSES, VERDICTS, read_table, write_table
from reprise.stages.chain import commands

from tests.unit.rows import item_row, request_row, response_row

READERS = ("authors", "robust")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["a"], [["a"]]),
        (["a", "--x", "1", "--then", "b", "--y"], [["a", "--x", "1"], ["b", "--y"]]),
        (["a", "--then", "b", "--then", "c"], [["a"], ["b"], ["c"]]),
    ],
)
def test_each_stage_gets_its_own_words(words: list[str], expected: list[list[str]]) -> None:
    assert list(commands(words)) == expected


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, cwd=folder)


def files(folder: Path, key: str = "k") -> tuple[list[str], list[str]]:
    """The files of a tiny run, and the words of both stages."""
    folder.mkdir()
    names = [f"{video}/{place}" for video in "abc" for place in range(2)]
    both = [(name, role) for name in names for role in ("pos", "neg")]
    items = [item_row(name, clip_id=name[0], unit=name[0], task="coref") for name in names]
    requests = [
        request_row(f"{name}#{role}", clip_id=name[0], expected="Yes" if role == "pos" else "No") for name, role in both
    ]
    responses = [response_row(f"{name}#{role}", "Yes" if name[0] == "a" else "No", key=key) for name, role in both]
    for name, rows, schema in (
        ("items", items, ITEMS),
        ("requests", requests, REQUESTS),
        ("responses", responses, RESPONSES),
    ):
        write_table(pl.DataFrame(rows, schema=schema), folder / f"{name}.parquet", schema)
    keys = {
        "run": {"run": "r", "key": "k", "answers": {"adapter": "random", "sampling": {"rule": "none"}}},
        "verdicts": {"reading": "plain", "patterns": [], "embedder": None},
        "metrics": {"benchmark": "velociti", "form": "entail", "items": None, "level": 0.95},
    }
    for name, value in keys.items():
        (folder / f"{name}.json").write_text(json.dumps(value))

    def words(stage: str, **options: str) -> list[str]:
        given = {
            "key": f"{stage}.json",
            "run-key": "run.json",
            "authors": "authors.parquet",
            "robust": "robust.parquet",
        }
        # Tables hold the names of the key files that they were made under, so both runs give them the same.
        return [stage, *(word for name, path in (given | options).items() for word in (f"--{name}", path))]

    read = words("verdicts", requests="requests.parquet", responses="responses.parquet", store="store")
    return read, words("metrics", items="items.parquet", out="metrics.parquet")


def test_two_stages_in_one_process_make_the_files_of_two_processes(tmp_path: Path) -> None:
    read, measured = files(tmp_path / "one")
    assert run(["reprise.stages.chain", *read, "--then", *measured], tmp_path / "one").returncode == 0
    read, measured = files(tmp_path / "two")
    assert run([f"reprise.stages.{read[0]}", *read[1:]], tmp_path / "two").returncode == 0
    assert run([f"reprise.stages.{measured[0]}", *measured[1:]], tmp_path / "two").returncode == 0
    for name, schema in (*((reader, VERDICTS) for reader in READERS), ("metrics", METRICS)):
        one, two = (tmp_path / folder / f"{name}.parquet" for folder in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
        assert read_table(one, schema).height


def test_the_first_mistake_ends_the_job(tmp_path: Path) -> None:
    read, measured = files(tmp_path / "one", key="another")
    done = run(["reprise.stages.chain", *read, "--then", *measured], tmp_path / "one")
    assert done.returncode == 1
    assert "rows carry key another" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "one/metrics.parquet").exists()


def test_scoring_does_without_pydantic() -> None:
    """Its import costs as much as the rest of such a job, of which every model has several."""
    stages = ("verdicts", "judge_requests", "judgements", "metrics")
    modules = [f"reprise.stages.{stage}" for stage in ("chain", *stages)]
    modules += [f"reprise.benchmarks.{name}.scores" for name in benchmark_names()]
    code = f"import sys, {', '.join(modules)}; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0

"""What scoring reads of key files: the names of the typed keys, and an error where one is missing."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from reprise.benchmarks.keys import JudgeRequestsKey, MetricsKey
from reprise.core.errors import UserError
from reprise.models.keys import RunKey
from reprise.reading.keys import VerdictsKey
from reprise.stages.key_views import JudgeRequestsView, MetricsView, RunView, VerdictsView, read_view


@pytest.mark.parametrize(
    ("view", "key"),
    [
        (RunView, RunKey),
        (VerdictsView, VerdictsKey),
        (JudgeRequestsView, JudgeRequestsKey),
        (MetricsView, MetricsKey),
    ],
)
def test_a_view_has_names_of_its_key(view: type[Any], key: type[BaseModel]) -> None:
    assert set(view.__annotations__) <= set(key.model_fields)


def test_it_reads_what_a_key_writes(tmp_path: Path) -> None:
    path = tmp_path / "metrics.json"
    key = MetricsKey(benchmark="velociti", form="entail", items="subset", level=0.9)
    path.write_text(key.model_dump_json())
    found = read_view(path, MetricsView)
    assert found == MetricsView("velociti", "entail", "subset", 0.9)


def test_a_name_that_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.json"
    path.write_text(json.dumps({"embedder": None}))
    with pytest.raises(UserError, match=r"verdicts.json: reading: missing. Delete the file and run snakemake again."):
        read_view(path, VerdictsView)

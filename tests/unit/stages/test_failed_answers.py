"""Failed answers on their way to a table: counted with their reasons, and those made elsewhere left out."""

from pathlib import Path

import polars as pl
import pytest
from reprise.core.schemas import RESPONSES, write_table
from reprise.external.answers import NO_ANSWER
from reprise.stages.metrics import failed_answers

from tests.unit.rows import response_row


def counted(folder: Path, *errors: str) -> list[tuple[float, int, int, str]]:
    rows = [response_row(f"i{n}#pos", error=error, message=f"message {n}") for n, error in enumerate(errors)]
    path = folder / "responses.parquet"
    write_table(pl.DataFrame(rows, schema=RESPONSES), path, RESPONSES)
    return [(row["value"], row["asked"], row["scored"], row["note"]) for row in failed_answers([path], "answers")]


def test_failures_are_counted_by_reason_with_an_example(tmp_path: Path) -> None:
    found = counted(tmp_path, "", "timeout", "failed", "timeout", "")
    assert found == [(3.0, 5, 2, "2 timeout, 1 failed, such as: message 1")]


@pytest.mark.parametrize("error", ["", NO_ANSWER])
def test_there_is_no_number_where_no_model_failed(error: str, tmp_path: Path) -> None:
    assert counted(tmp_path, "", error) == []

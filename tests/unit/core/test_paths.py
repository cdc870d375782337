"""Names of runs, and ledgers that are found."""

from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.paths import Results, Run


@pytest.mark.parametrize("name", ["", "b", "b/p/s", "b/p/s/m/j", "b//s/m"])
def test_what_names_no_run_is_refused(name: str) -> None:
    assert Run.parse("b/p.judged/s/m") == Run("b", "p.judged", "s", "m")
    with pytest.raises(UserError, match=f"'{name}' does not name a run. A run is named <benchmark>/<protocol>/"):
        Run.parse(name)


def test_ledgers_are_found_in_every_suite(tmp_path: Path) -> None:
    for suite in ("one", "two"):
        path = Results(suite, tmp_path).ledger("sources", "b", 3)
        path.parent.mkdir(parents=True)
        path.touch()
        path.with_name(".3.4242.tmp.parquet").touch()  # a job was killed while it wrote
    (tmp_path / "tables").mkdir()
    assert [results.suite for results in Results.of_all_suites(tmp_path)] == ["one", "two"]
    (found,) = Results("two", tmp_path).found_ledgers("sources")
    assert found == ("b", 3, tmp_path / "two/sources/b/3.parquet")
    of_making = Results("two", tmp_path).construction("b", "clips") / "1.parquet"
    of_making.parent.mkdir(parents=True)
    of_making.touch()
    assert list(Results("two", tmp_path).found_ledgers("clips")) == [("b", 1, of_making)]
    (tmp_path / "three/construction/b/sources").mkdir(parents=True)
    assert [results.suite for results in Results.of_all_suites(tmp_path)] == ["one", "three", "two"]

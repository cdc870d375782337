"""Names of runs, and that the library and the Snakemake rules mean the same files."""

import re
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.paths import Results, Run, Scored, collected_table_file, figure_file, table_file

RUN = Run("b", "p", "s", "m")


def test_a_run_is_named_by_its_four_parts() -> None:
    assert Run.parse("b/p.judged/s/m") == Run("b", "p.judged", "s", "m")
    assert Run.parse(RUN.name) == RUN
    assert (Scored(RUN).name, Scored(RUN, "j").name) == ("b/p/s/m", "b/p/s/m/j")


@pytest.mark.parametrize("name", ["", "b", "b/p/s", "b/p/s/m/j", "b//s/m"])
def test_what_names_no_run_is_refused(name: str) -> None:
    with pytest.raises(UserError, match=f"'{name}' does not name a run. A run is named <benchmark>/<protocol>/"):
        Run.parse(name)


def test_problems_are_named_by_what_they_are_about() -> None:
    results = Results("suite")
    for scored in (Scored(RUN), Scored(RUN, "j")):
        assert results.name_of(results.import_problems(scored)) == scored.name


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
    assert not list(Results("two", tmp_path).found_ledgers("clips"))
    of_making = Results("two", tmp_path).construction("b", "clips") / "1.parquet"
    of_making.parent.mkdir(parents=True)
    of_making.touch()
    assert list(Results("two", tmp_path).found_ledgers("clips")) == [("b", 1, of_making)]
    (tmp_path / "three/construction/b/sources").mkdir(parents=True)
    assert [results.suite for results in Results.of_all_suites(tmp_path)] == ["one", "three", "two"]


def test_the_rules_write_what_the_library_reads() -> None:
    """Each path that the library knows fits a pattern of the rules."""
    text = "\n".join(path.read_text() for path in Path("workflow/rules").glob("*.smk"))
    literals = {
        found.replace("<suite>", "results/suite") for found in re.findall(r'"((?:results|<suite>)/[^"]+)"', text)
    }
    patterns = [re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(literal))) for literal in literals]
    results = Results("suite")
    paths = [
        results.key("release", "b"), results.key("missing"), results.run_key(RUN), results.judge_key("b", "p", "j"),
        results.retry_key("b", 0), results.items("b"), results.statistics("b"), results.requests("b", "p"),
        results.ledger("sources", "b", 0), results.ledger("clips", "b", 0), results.facts("b"), results.frames("b", "s"),
        results.weights("m"), results.responses(RUN), results.piece(RUN, "1of2"), results.judge_requests(RUN), results.judge_responses(RUN, "j"),
        results.import_problems(Scored(RUN)), results.import_problems(Scored(RUN, "j")), results.verdicts(RUN, "robust"),
        results.verdicts(RUN, "j"), results.metrics(Scored(RUN)), results.metrics(Scored(RUN, "j")),
        *(table_file("b", "table1", kind) for kind in ("tex", "csv", "md", "html")), figure_file("b", "fig1", "svg"),
        collected_table_file("table1", "md"),
    ]  # fmt: skip
    unknown = [str(path) for path in paths if not any(pattern.fullmatch(str(path)) for pattern in patterns)]
    assert not unknown

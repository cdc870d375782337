"""Test the read-only commands on the results of a finished suite, which all tests share."""

import re
from collections.abc import Callable
from pathlib import Path

import cv2
import polars as pl
import pytest
from reprise.commands.item import MAX_CHARS, show_item
from reprise.commands.plan import show_plan
from reprise.commands.runs import explain_run, list_missing, list_runs
from reprise.commands.show import show_tables
from reprise.core.errors import UserError
from reprise.core.files import read_provenance
from reprise.core.provenance import Provenance, record_provenance
from reprise.core.schemas import RESPONSES, write_table

from tests.workflow.conftest import Project, copy_of

RUN = "velociti/mc/fps1/random"
RunCommand = Callable[..., str]


@pytest.fixture(scope="module")
def finished(finished_small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the finished copy that the tests of this module share."""
    return copy_of(finished_small, tmp_path_factory.mktemp("looked_at")).root


@pytest.fixture
def run_in_project(finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunCommand:
    """Return a function that calls a command in the copy and returns its output."""
    monkeypatch.chdir(finished)

    def call(command: Callable[..., None], *arguments: object) -> str:
        command(*arguments)
        return capsys.readouterr().out

    return call


def test_a_finished_suite_has_nothing_to_do(run_in_project: RunCommand) -> None:
    text = run_in_project(list_runs, None)
    assert text.startswith("Suite 'small': 4 runs: 4 done, 0 stale, 0 missing, 0 failed.\n")
    assert re.search(rf"^ *[\d.]+ +\[[\d., ]+\] +25 +64  {RUN}$", text, re.MULTILINE) and "Why a run" not in text
    text = run_in_project(explain_run, "mc/random", None)
    assert text.startswith(f"{RUN}: done: nothing to do\n") and "Shown in: velociti/table5." in text
    assert "To compute it" not in text
    assert run_in_project(show_plan, [], False, None) == "Suite 'small': 0 inference jobs pending; done: 4.\n"
    assert run_in_project(list_missing, None, False).startswith(
        "Nothing is missing in suite 'small', as far as its videos were"
    )


def test_a_table_is_shown_as_it_was_written(run_in_project: RunCommand) -> None:
    text = run_in_project(show_tables, "velociti/table2", None)
    lines = {line.split("  ")[0]: line for line in text.splitlines()}
    for (row, _), cell in Project(Path()).cells("velociti/table2").items():
        assert f"{float(cell['value']):.1f}" in lines[row]
    assert "Of its" not in text
    all_tables = run_in_project(show_tables, "results/tables/velociti", None)
    assert text in all_tables and "Table 5" in all_tables and "Table 11" in all_tables


@pytest.fixture
def item(finished: Path) -> str:
    """Return an item with requests."""
    return str(Project(finished).parquet("small/requests/velociti/mc")["item_id"][0])


def test_an_item_shows_frames_requests_and_answers(run_in_project: RunCommand, item: str) -> None:
    assert "of 64 answers are right." in run_in_project(show_item, RUN, None, None)
    text = run_in_project(show_item, "mc/random", f"{item}#a", None)
    for part in (f"Item {item} of {RUN}", "positive: ", "options: A, B", "expected: ", "answer: "):
        assert part in text
    assert "extracted by authors: " in text and "extracted by robust: " in text and "Counts as: mc_both " in text
    assert "scores: Yes " in run_in_project(show_item, "entail/oracle", item, None)
    assert "10 in the plan, 0 sent to the model" in text, "a baseline looks at no frame"
    lines = dict(line.strip().split(": ", 1) for line in text.splitlines() if ": " in line)
    assert Path(lines["file"]).is_file() and cv2.imread(lines["picture"]) is not None
    with pytest.raises(UserError, match="seg_0_10/Ev1/1'. Did you mean 'control/v_"):
        run_in_project(show_item, RUN, "contrl/v_aaaaaaaaaaa_seg_0_10/Ev1/1", None)


def test_a_long_or_hostile_answer_is_cut_and_escaped(run_in_project: RunCommand, item: str) -> None:
    path, text = Path(f"results/small/responses/{RUN}.parquet"), f"A\x1b[2J\x07\u202e\n  expected: B\n{1_000_000 * 'x'}"
    content_before, columns = path.read_bytes(), {"text": text, "error": "failed", "message": "\x1b]0;t\x07no"}
    edited_table = pl.read_parquet(path).with_columns(**{name: pl.lit(value) for name, value in columns.items()})
    with record_provenance(read_provenance(path) or Provenance()):
        write_table(edited_table, path, RESPONSES)
    output = run_in_project(show_item, RUN, item, None)
    path.write_bytes(content_before)
    assert not set(output) & {"\x1b", "\x07", "\u202e"} and len(output) < 4 * MAX_CHARS and "failed: no" in output
    assert "  | A[U+0007][U+202E]\n  |   expected: B\n" in output and f"... ({len(text)} characters)" in output


def test_missing_and_damaged_results_are_reported(run_in_project: RunCommand, item: str) -> None:
    path = Path(f"results/small/verdicts/{RUN}/robust.parquet")
    content_before = path.read_bytes()
    path.write_bytes(content_before[:-9])
    text = run_in_project(list_runs, None)
    assert re.search(rf"  failed +{RUN}$", text, re.MULTILINE) and "1 failed" in text
    assert f"{path}: damaged" in run_in_project(explain_run, RUN, None)
    path.write_bytes(content_before)
    responses = Path(f"results/small/responses/{RUN}.parquet")
    metrics = Path(f"results/small/metrics/{RUN}.parquet")
    for path in (responses, metrics):
        path.rename(path.with_suffix(".kept"))
    text = run_in_project(explain_run, RUN, None)
    table = run_in_project(show_tables, "table5", None)
    with pytest.raises(UserError, match="not found. Make it first"):
        run_in_project(show_item, RUN, item, None)
    for path in (responses, metrics):
        path.with_suffix(".kept").rename(path)
    assert text.startswith(f"{RUN}: missing: not computed yet\nMissing results: answers, metrics.\n")
    assert "holds 64 of its answers; they are not requested again" in text
    assert f"To compute it: snakemake {metrics} --cores <N>\n" in text, (
        "a run of the existing table would not compute it"
    )
    assert "Of its 2 runs: 1 missing, such as velociti/mc/fps1/random." in table and "–: no value." in table


def test_a_changed_setting_is_reported_before_and_after_planning(
    small: Project, run_in_project: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(small.root)
    small.edit("config/models/random.yaml", "adapter: random", "adapter: random\nsettings: {seed: 1}")
    for is_planned in (False, True):
        if is_planned:
            assert small.plan_rules().count("infer") == 1
        text = run_in_project(explain_run, RUN, None)
        assert text.startswith(f"{RUN}: stale: the next run of snakemake computes it again\nSettings changed: infer")
        assert "  settings.seed: 0 -> 1\n" in text
        assert "3 done, 1 stale, 0 missing, 0 failed" in run_in_project(list_runs, None)
        assert "Of its 2 runs: 1 stale" in " ".join(run_in_project(show_tables, "table5", None).split())
        text = " ".join(run_in_project(show_plan, ["table5"], False, None).split())
        assert text.startswith("Suite 'small': 1 inference job pending; done: 1. pending")
        assert "random: settings changed (settings.seed: 0 -> 1). It has no weights. 64 0 0 0 " in text

"""The commands that answer questions, on the results of a finished suite. They make nothing, so one copy serves all."""

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

from tests.workflow.conftest import Project, own_copy

RUN = "velociti/mc/fps1/random"
Say = Callable[..., str]


@pytest.fixture(scope="module")
def finished(finished_small: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy that only this module's tests look at."""
    return own_copy(finished_small, tmp_path_factory.mktemp("looked_at")).root


@pytest.fixture
def say(finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    """Calls a command in the copy; what it prints on a screen of 80 columns."""
    monkeypatch.chdir(finished)
    monkeypatch.setenv("COLUMNS", "80")

    def call(command: Callable[..., None], *arguments: object) -> str:
        command(*arguments)
        return capsys.readouterr().out

    return call


def test_a_finished_suite_has_nothing_to_do(say: Say) -> None:
    text = say(list_runs, None)
    assert text.startswith("Suite 'small': 4 runs: 4 done, 0 stale, 0 missing, 0 failed.\n")
    assert f"done             64       0         0        0  {RUN}\n" in text and "Why a run" not in text
    text = say(explain_run, "mc/random", None)
    assert text.startswith(f"{RUN}: done: nothing to do\n") and "Shown in: velociti/table5." in text
    assert "To compute it" not in text
    assert say(show_plan, [], False, None) == "Suite 'small': 0 inference jobs pending; done: 4.\n"
    assert say(list_missing, None, False).startswith("Nothing is missing in suite 'small', as far as its videos were")


def test_a_table_is_shown_as_it_was_written(say: Say) -> None:
    text = say(show_tables, "velociti/table2", None)
    lines = {line.split("  ")[0]: line for line in text.splitlines()}
    for (row, _), cell in Project(Path()).cells("velociti/table2").items():
        assert f"{float(cell['value']):.1f}" in lines[row]
    assert max(map(len, text.splitlines())) <= 80 and "Of its" not in text
    every = say(show_tables, "results/tables/velociti", None)
    assert text in every and "Table 5" in every and "Table 11" in every


@pytest.fixture
def item(finished: Path) -> str:
    """An item that was asked about."""
    return str(Project(finished).parquet("small/requests/velociti/mc")["item_id"][0])


def test_an_item_shows_what_the_model_saw_was_asked_and_answered(say: Say, item: str) -> None:
    assert "of 64 answers are right." in say(show_item, RUN, None, None)
    text = say(show_item, "mc/random", f"{item}#a", None)
    for part in (f"Item {item} of {RUN}", "positive: ", "options: A, B", "expected: ", "answer: "):
        assert part in text
    assert "extracted by authors: " in text and "extracted by robust: " in text and "Counts as: mc_both " in text
    assert "scores: Yes " in say(show_item, "entail/oracle", item, None)
    assert "10 in the plan, 0 sent to the model" in text, "a baseline looks at no frame"
    lines = dict(line.strip().split(": ", 1) for line in text.splitlines() if ": " in line)
    assert Path(lines["file"]).is_file() and cv2.imread(lines["picture"]) is not None
    with pytest.raises(UserError, match="seg_0_10/Ev1/1'. Did you mean 'control/v_"):
        say(show_item, RUN, "contrl/v_aaaaaaaaaaa_seg_0_10/Ev1/1", None)


def test_a_long_or_hostile_answer_is_cut_and_made_harmless(say: Say, item: str) -> None:
    path, text = Path(f"results/small/responses/{RUN}.parquet"), f"A\x1b[2J\x07\u202e\n  expected: B\n{1_000_000 * 'x'}"
    before, columns = path.read_bytes(), {"text": text, "error": "failed", "message": "\x1b]0;t\x07no"}
    other = pl.read_parquet(path).with_columns(**{name: pl.lit(value) for name, value in columns.items()})
    with record_provenance(read_provenance(path) or Provenance()):
        write_table(other, path, RESPONSES)
    shown = say(show_item, RUN, item, None)
    path.write_bytes(before)
    assert not set(shown) & {"\x1b", "\x07", "\u202e"} and len(shown) < 4 * MAX_CHARS and "failed: no" in shown
    assert "  | A[U+0007][U+202E]\n  |   expected: B\n" in shown and f"... ({len(text)} characters)" in shown


def test_what_is_gone_or_damaged_is_told(say: Say, item: str) -> None:
    path = Path(f"results/small/verdicts/{RUN}/robust.parquet")
    before = path.read_bytes()
    path.write_bytes(before[:-9])
    text = say(list_runs, None)
    assert f"failed            -       -         -        -  {RUN}\n" in text and "1 failed" in text
    assert f"{path}: damaged" in say(explain_run, RUN, None)
    path.write_bytes(before)
    responses = Path(f"results/small/responses/{RUN}.parquet")
    metrics = Path(f"results/small/metrics/{RUN}.parquet")
    for gone in (responses, metrics):
        gone.rename(gone.with_suffix(".kept"))
    text = say(explain_run, RUN, None)
    table = say(show_tables, "table5", None)
    with pytest.raises(UserError, match="not found. Make it first"):
        say(show_item, RUN, item, None)
    for gone in (responses, metrics):
        gone.with_suffix(".kept").rename(gone)
    assert text.startswith(f"{RUN}: missing: not computed yet\nMissing results: answers, metrics.\n")
    assert "holds 64 of its answers; they are not requested again" in text
    assert f"To compute it: snakemake {metrics} --cores <N>\n" in text, "the table exists, so that it would not be made"
    assert "Of its 2 runs: 1 missing, such as velociti/mc/fps1/random." in table and "–: no value." in table


def test_a_changed_setting_is_told_before_and_after_planning(
    small: Project, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(small.root)
    small.edit("config/models/random.yaml", "adapter: random", "adapter: random\nsettings: {seed: 1}")
    for is_planned in (False, True):
        if is_planned:
            assert small.planned().count("infer") == 1
        text = say(explain_run, RUN, None)
        assert text.startswith(f"{RUN}: stale: the next run of snakemake computes it again\nSettings changed: infer")
        assert "  settings.seed: 0 -> 1\n" in text
        assert "3 done, 1 stale, 0 missing, 0 failed" in say(list_runs, None)
        assert "Of its 2 runs: 1 stale" in " ".join(say(show_tables, "table5", None).split())
        text = " ".join(say(show_plan, ["table5"], False, None).split())
        assert text.startswith("Suite 'small': 1 inference job pending; done: 1. pending")
        assert "random: settings changed (settings.seed: 0 -> 1). It has no weights. 64 0 0 0 " in text

"""Test the output of commands in terminals of two widths and in a pipe."""

import pytest
from reprise.commands.output import OutputColumn, wrap_line, write_heading, write_lines, write_rows

from tests.unit.commands.terminal import STYLES, TerminalStream, check_widths, run_command
from tests.unit.config.conftest import Project

COLUMNS = [OutputColumn("score"), OutputColumn("failed"), OutputColumn("state", "left"), OutputColumn("run", "left")]
ROWS = [["12.5", "0", "done", "b/mc/fps1/one"], ["–", "0", "missing", "b/mc/fps1/another"]]


@pytest.mark.parametrize(
    "command_line",
    [
        *(
            "runs",
            "missing",
            "store",
            "plan --all",
            "plan oracle --all",
            "plan --config suite=paper qwen2-vl-7b",
            "show overview",
        ),
        *("plan --config suite=construction --all", "why velociti/mc/fps1/oracle", "show velociti/table2"),
        *("show vinoground/table3", "trace velociti/table2 --row Oracle --column Ctrl", "retry private"),
    ],
)
def test_commands_fit_a_terminal(project: Project, monkeypatch: pytest.MonkeyPatch, command_line: str) -> None:
    check_widths(command_line, monkeypatch)


def test_a_plan_in_a_pipe_has_no_wrapped_line(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = run_command("plan --config suite=paper", monkeypatch, None).splitlines()
    assert (
        "Suite 'paper': 0 inference jobs pending: its `run:` selects no model of these tables, so they only show "
        "published values." in lines
    )
    text = run_command("plan --config suite=construction --all", monkeypatch, None)
    assert "\n       ?        0      ?      ?        ?         ?  mmbench_video/sets.choice/interior1\n" in text


def test_lines_are_wrapped_between_words_and_after_slashes() -> None:
    assert wrap_line("- one two three", 10) == ["- one two", "    three"]
    assert wrap_line("see results/demo/table.md now", 14) == ["see", "  results/", "  demo/", "  table.md", "  now"]
    assert wrap_line("unbreakable", 5) == ["unbreakable"] and wrap_line("any width", None) == ["any width"]


def test_columns_of_zeros_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    write_rows(COLUMNS, ROWS)
    assert capsys.readouterr().out == (
        "score  state    run\n 12.5  done     b/mc/fps1/one\n    –  missing  b/mc/fps1/another\n"
    )


def test_names_are_below_their_rows_in_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = TerminalStream()
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "30")
    write_rows(COLUMNS, ROWS)
    assert STYLES.sub("", stream.getvalue()).splitlines() == [
        *("score  state  ", " 12.5  done", "    b/mc/fps1/one", "    –  missing", "    b/mc/fps1/another")
    ]
    write_heading("A heading")
    write_lines(["A line of more than thirty characters"])
    assert stream.getvalue().endswith("\x1b[1mA heading\x1b[0m\nA line of more than thirty\n  characters\n")

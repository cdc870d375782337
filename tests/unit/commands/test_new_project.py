"""Test commands in a project without results: they name missing results, their runs, and the calls that compute them."""

import shlex

import pytest
from reprise.__main__ import app
from reprise.core.errors import UserError

from tests.unit.config.conftest import Project

RUN, TABLE = "velociti/mc/fps1/oracle", "velociti/table2"
COUNTED = ("mmbench_video/unpacked", "temporalbench/short", "velociti/entail.subset", "vinoground/paper")
PLAN_HEADER = " pending answered frames tokens     rate      time  run\n"


@pytest.mark.parametrize(("command_line", "text"), [
    ("runs", "state    run\nmissing  mmbench_video/mmbench/interior8/toy-llava-ov\n"),
    ("runs --config suite=paper", "Suite 'paper': 0 runs: 0 done, 0 stale, 0 missing, 0 failed.\nIts `run:` selects no model of its tables,"),
    (f"why {RUN}", f"{RUN}: missing: not computed yet\nMissing results: answers, verdicts, metrics.\nShown in: velociti/table5, velociti/table10.\nTo compute it: snakemake results/tables/velociti/table5.md --cores <N>\n"),
    ("missing", "Nothing is missing in suite 'demo', as far as its videos were fetched.\n"),
    (f"retry {RUN}", "Failures to retry: 0 sources, 0 clips, 0 answers. Run snakemake now.\n"),
    ("retry private", "Failures to retry: 0 sources, 0 clips, 0 answers. Run snakemake now.\n"),
    (f"plan {RUN}", f"Suite 'demo': 1 inference job pending.\n\n{PLAN_HEADER}oracle: not computed yet. It has no weights.\n       ?        0      ?      ?        ?         ?  velociti/mc/fps1\n\nTotal: requests ?; frames ?; tokens ?.\nTime without a GPU: ?.\n"),
    (f"plan {TABLE}", "Disk, at most: videos of velociti rendered here.\n? pending: `snakemake results/demo/requests/velociti/entail.parquet results/demo/requests/velociti/entail.subset.parquet --cores <N>` reads the annotations and counts the requests.\n"),
    ("plan toy-llava-ov --config suite=temporal", f"? pending: `snakemake {' '.join(f'results/temporal/requests/{name}.parquet' for name in COUNTED)} --cores <N> --config suite=temporal` reads"),
    (f"plan results/tables/{TABLE}.md --config suite=rehearsal", f"{PLAN_HEADER}gemini-1.5-flash: not computed yet. It has no weights.\n"),
    ("plan --config suite=paper", "Suite 'paper': 0 inference jobs pending: its `run:` selects no model of these tables, so they only show published values.\n"),
    ("plan --config suite=construction", "more: --all lists them\n\nTotal: requests ?; frames ?; tokens ?.\nTime without a GPU: ?.\n"),
    (f"show {TABLE}", "\nOracle                     –       –       –       –"),
    ("show overview", "`reprise why <run>` gives the reason; `snakemake results/tables/overview.md --cores <N>` computes them.\n"),
    (f"trace {TABLE} --row Oracle --column Ctrl", ", suite demo\nmetrics: results/demo/metrics/velociti/entail/fps1/oracle.parquet (missing)\n"),
    (f"trace {TABLE} --row Random --column Ctrl", "It has no run: it is the paper's number, or the chance level.\n"),
    (f"trace {TABLE} --row gpt-4o --column Ctrl --config suite=paper", "  strict in the paper: 63.3\nvelociti/entail.frames.subset/fps1/gpt-4o is not selected by `run:` of config/suites/paper.yaml.\n"),
    ("store", "resources/store\n"),
    ("store --prune", "0.0 MB freed\n"),
    ("store --repair", "No damaged lines.\n"),
])  # fmt: skip
def test_commands_report_what_is_missing_and_how_to_compute_it(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command_line: str, text: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    app(shlex.split(command_line), standalone_mode=False)
    assert text in capsys.readouterr().out


@pytest.mark.parametrize(("command_line", "text"), [
    ("show table99", "no table 'table99' in suite 'demo'. Did you mean 'table9'? A table is named <benchmark>/table<N>."),
    ("plan tabel2", "no table or run 'tabel2' in suite 'demo'. Did you mean 'table2'? Its tables: velociti/table2,"),
    ("why interior8/oracle", "'interior8/oracle' matches 2 runs of suite 'demo': mmbench_video/packed/interior8/oracle, mmbench_video/unpacked/"),
    ("why mc/randon", "no run 'mc/randon' in suite 'demo'. Did you mean 'random'?"),
    ("trace table2 --row a --column b", "trace: 'table2' matches 4 tables. Copy one:\n  reprise trace mmbench_video/table2 --row a --column b\n"),
    (f"retry {RUN}/no-judge", f"no run '{RUN}/no-judge' in suite 'demo'."),
    ("retry v*/nothing", "retry: no run of suite 'demo' matches 'v*/nothing'; * stands for anything in <benchmark>/"),
    ("check oracle", "check: 'oracle' has adapter 'oracle'; only local models and your own servers"),
    (f"compare elsewhere:{RUN} {RUN}", "compare: 'elsewhere' has no results of Reprise: it has no folder results/."),
    (f"item {RUN}", "item: results/demo/requests/velociti/mc.parquet not found. Make it first: snakemake results/"),
    ("store --prune --used-by elsewhere", "--used-by /"),
    ("store --prune --yes", "store 'resources/store': other working directories may use it. Nothing was changed."),
])  # fmt: skip
def test_unknown_names_are_reported(project: Project, command_line: str, text: str) -> None:
    with pytest.raises(UserError) as caught:
        app(shlex.split(command_line), standalone_mode=False)
    assert str(caught.value).startswith(text)


def test_missing_weights_are_reported(project: Project) -> None:
    """GPUs and the build of torch are checked before, so the model needs none of them here."""
    project.edit("config/models/llava-onevision-7b.yaml", "gpus: 1", "gpus: 0")
    with pytest.raises(
        UserError, match="config/models/llava-onevision-7b.yaml: no weights in resources/store/weights/"
    ):
        app(["check", "llava-onevision-7b"], standalone_mode=False)

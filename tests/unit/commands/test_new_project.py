"""What commands say in a project where nothing was made yet: what there is to make, of which runs, and by which call."""

import shlex

import pytest
from reprise.__main__ import app
from reprise.core.errors import UserError

from tests.unit.config.conftest import Project

RUN, TABLE = "velociti/mc/fps1/oracle", "velociti/table2"
HEADS = "  to ask answered frames tokens     rate      time  run\n"


@pytest.mark.parametrize(("typed", "said"), [
    ("runs", "state     asked  failed  unread  missing  run\nmissing       -       -       -        -  mmbench_video/mmbench/interior8/toy-llava-ov\n"),
    ("runs --suite paper", "Suite 'paper': 0 runs: 0 done, 0 stale, 0 missing, 0 failed.\nIts `run:` selects no model of its tables,"),
    (f"why {RUN}", f"{RUN}: missing: not made yet\nNot there: answers, verdicts, metrics.\nShown in: velociti/table5, velociti/table10.\nTo make it: snakemake results/tables/velociti/table5.md --cores <N>\n"),
    ("missing", "Nothing is missing in suite 'demo', as far as its videos were looked for.\n"),
    (f"retry {RUN}", "Failures to try again: 0 sources, 0 clips, 0 answers. Run snakemake now.\n"),
    ("retry private", "Failures to try again: 0 sources, 0 clips, 0 answers. Run snakemake now.\n"),
    (f"plan {RUN}", f"Suite 'demo': 1 run asks a model.\n\n{HEADS}oracle: not made yet. It has no weights.\n       ?        0      ?      ?        ?         ?  velociti/mc/fps1\n\nIn all: questions ?; frames ?; tokens ?.\nTime without a GPU: ?.\n"),
    (f"plan {TABLE}", "Disk, at most: videos of velociti ?.\n? to ask: `snakemake results/demo/requests/velociti/entail.parquet --cores <N>`\nreads the release and counts the questions.\n"),
    (f"plan results/tables/{TABLE}.md --suite rehearsal", f"{HEADS}gemini-1.5-flash: not made yet. It has no weights.\n"),
    ("plan --suite paper", "Suite 'paper': 0 runs ask a model: its `run:` selects no model of these tables,\nso that they show published values only.\n"),
    ("plan --suite construction", "more: --all lists them\n\nIn all: questions ?; frames ?; tokens ?.\nTime without a GPU: ?.\n"),
    (f"show {TABLE}", "\nOracle                     –       –       –       –       –\n"),
    ("show overview", "`python -m reprise why\n<run>` says why; `snakemake results/tables/overview.md --cores <N>` makes them.\n"),
    (f"trace {TABLE} --row Oracle --column Ctrl", ", suite demo\nmetrics: results/demo/metrics/velociti/entail/fps1/oracle.parquet (not there)\n"),
    (f"trace {TABLE} --row Random --column Ctrl", "No run is behind it: it is the paper's number, or that of random guessing.\n"),
    (f"trace {TABLE} --row gpt-4o --column Ctrl --suite paper", "  strict in the paper: 63.3\nvelociti/entail.frames.subset/fps1/gpt-4o does not run: `run:` of config/suites/paper.yaml says what does.\n"),
    ("store", "resources/store\n"),
    ("store --prune", "0.0 MB freed\n"),
    ("store --repair", "no damaged line\n"),
])  # fmt: skip
def test_what_there_is_to_make_is_said(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, typed: str, said: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    app(shlex.split(typed), standalone_mode=False)
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(("typed", "said"), [
    ("show table99", "no table 'table99' in suite 'demo'. Did you mean 'table9'? A table is named <benchmark>/table<N>."),
    ("plan tabel2", "no table and no run 'tabel2' in suite 'demo'. Did you mean 'table2'? Its tables: velociti/table2,"),
    ("why interior8/oracle", "'interior8/oracle' fits 2 runs of suite 'demo': mmbench_video/packed/interior8/oracle, mmbench_video/unpacked/"),
    ("why mc/randon", "no run 'mc/randon' in suite 'demo'. Did you mean 'random'?"),
    ("trace table2 --row a --column b", "trace: 'table2' fits 4 tables. Copy one:\n  reprise trace mmbench_video/table2 --row a --column b\n"),
    (f"retry {RUN}/no-judge", f"no run '{RUN}/no-judge' in suite 'demo'."),
    ("retry v*/nothing", "retry: no run of suite 'demo' fits 'v*/nothing'; * stands for anything in <benchmark>/"),
    ("check oracle", "check: 'oracle' has adapter 'oracle'; only models with weights that see frames, and servers"),
    (f"compare elsewhere:{RUN} {RUN}", "compare: 'elsewhere' holds no results of Reprise: it has no results/."),
    (f"item {RUN}", "item: results/demo/requests/velociti/mc.parquet not found. Make it first: snakemake results/"),
    ("store --prune --used-by elsewhere", "--used-by /"),
    ("store --prune --yes", "store 'resources/store': other working directories may use it. Nothing was changed."),
])  # fmt: skip
def test_what_is_not_there_is_named(project: Project, typed: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        app(shlex.split(typed), standalone_mode=False)
    assert str(error.value).startswith(said)


def test_a_model_whose_weights_were_not_fetched_is_named(project: Project) -> None:
    """On any machine: what GPUs and build of torch it has is checked before."""
    project.edit("config/models/llava-onevision-7b.yaml", "gpus: 1", "gpus: 0")
    with pytest.raises(
        UserError, match="config/models/llava-onevision-7b.yaml: no weights in resources/store/weights/"
    ):
        app(["check", "llava-onevision-7b"], standalone_mode=False)

"""Targets as a user types them: what no rule makes, and what is not pinned yet, is said before jobs are planned."""

import logging
from pathlib import Path

import pytest
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.plan.runs import Plan
from reprise.plan.targets import asked_by, check_targets, targets_of, warn_of_unpinned

from tests.unit.config.conftest import Project


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("results/tables/velociti/table99.md", "velociti of suite 'demo' does not have a 'table99'. There are: table2, table3,"),
        ("results/tables/table99.tex", "no paper of suite 'demo' has a 'table99'. There are: table1 (temporalbench, mmbench_video), table2 (velociti,"),
        ("results/tables/tabel3.tex", "no paper of suite 'demo' has a 'tabel3'. Did you mean 'table3'?"),
        ("results/tables/velocti/table2.md", "unknown benchmark 'velocti'. Did you mean 'velociti'? Allowed: mmbench_video,"),
        ("results/tables/velociti/table2.pdf", "no format 'pdf'. Allowed: csv, html, md, tex."),
        ("results/tables/velociti/table2", "no format ''. Allowed: csv, html, md, tex."),
        ("results/reproduction.md", "suite 'demo' shows no published values (`show_published: false`)"),
        ("results/tables/overview.pdf", "no format 'pdf'. Allowed: csv, html, md, tex."),
        ("results/tables/table3.pdf", "no format 'pdf'. Allowed: html, md, tex."),
        ("results/tables/table3.csv", "no format 'csv'. Allowed: html, md, tex. The csv of each paper is results/tables/<benchmark>/table3.csv."),
        ("results/figures/velociti/fig99.png", "velociti of suite 'demo' does not have a 'fig99'. Did you mean 'fig"),
        ("results/figures/velociti/fig3.jpg", "no format 'jpg'. Did you mean 'png'? Allowed: csv, pdf, png, svg."),
        ("results/figures/velocti/fig3.png", "no figures of 'velocti' in suite 'demo'. Did you mean 'velociti'?"),
        ("results/demo/frames/velociti/fps2.shuffled.parquet", "no run of suite 'demo' shows velociti so. Name one in `extra_runs:` of config/suites/demo.yaml,"),
        ("results/demo/frames/velociti/fps1.shufled.parquet", "sampling 'fps1' has no view 'shufled'. Did you mean 'shuffled'?"),
        ("results/demo/frames/preview/velociti/toyt0KmlFOX.4-14.fps2.reversed.png", "no run of suite 'demo' shows velociti so."),
        ("results/report/items.html", "the report is made as a whole. Did you mean 'results/report/index.html'?"),
        ("results/paper/metrics/velociti/entail/fps1/oracle.parquet", "is of suite 'paper', but the suite is 'demo'. Add `--config suite=paper` after the targets."),
    ],
)  # fmt: skip
def test_a_target_that_no_rule_makes_is_said_in_words(here: Project, target: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        check_targets(Plan(load(Path())), [target])
    assert str(error.value).startswith(f"{target}: {said}")


def test_a_suite_without_an_overview_says_how_to_have_one(here: Project) -> None:
    with pytest.raises(
        UserError, match="suite 'rehearsal' has no overview. Name models in `overview:` of config/suites/r"
    ):
        check_targets(Plan(load(Path(), {"suite": "rehearsal"})), ["results/tables/overview.md"])


def test_all_wrong_targets_are_said_at_once(here: Project) -> None:
    with pytest.raises(UserError) as error:
        check_targets(
            Plan(load(Path())), ["results/tables/table3.tex", "results/tables/table3.pdf", "results/tables/x/y"]
        )
    assert [line.partition(":")[0] for line in str(error.value).splitlines()] == [
        "results/tables/table3.pdf",
        "results/tables/x/y",
    ]


def test_good_targets_pass(here: Project) -> None:
    paper = Plan(load(Path(), {"suite": "paper"}))
    check_targets(paper, ["results/reproduction.html"])
    with pytest.raises(UserError, match=r"no format 'pdf'\. Allowed: csv, html, md\."):
        check_targets(paper, ["results/reproduction.pdf"])
    targets = ["results/tables/table3.tex", "results/tables/velociti/table2.csv", "results/demo/sources/missing.md"]
    run = "velociti/entail/fps1/oracle"
    targets += [f"results/demo/responses/{run}.{kind}" for kind in ("parquet", "timings.parquet", "problems.csv")]
    targets += [f"results/demo/verdicts/{run}.robust.parquet", f"results/demo/verdicts/{run}/judge.parquet"]
    check_targets(Plan(load(Path())), [*targets, "results/tables/overview.md", "results/suite.json"])


def test_tables_cannot_be_printed_without_latex_and_the_message_says_so_before_any_job(
    here: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    both = ["results/tables/tables.pdf", "results/suite.pdf"]
    for target in both:
        with pytest.raises(UserError, match=f"{target}: pdflatex not found.*apt-get install texlive-latex-recommended"):
            check_targets(Plan(load(Path())), [target])
    program = tmp_path / "pdflatex"
    program.touch(mode=0o755)
    check_targets(Plan(load(Path())), both)


def test_targets_are_the_files_that_snakemake_is_asked_to_make() -> None:
    arguments = ["snakemake", "-n", "./results/tables/table3.tex", "--cores", "8", "--config", "suite=paper"]
    assert targets_of([*arguments, "--report", "results/report.html"]) == ["results/tables/table3.tex"]


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        ([], "Unpinned: models llava-next-video-7b, qwen2-7b; data of temporalbench, vinoground. A dry run passes, a run stops"),
        (["results/tables/vinoground/table8.md"], "Unpinned: models llava-next-video-7b, qwen2-7b; data of vinoground."),
        (["results/tables/table6.md"], "Unpinned: model llava-next-video-7b; data of temporalbench."),
        (["results/paper/metrics/vinoground/paper/black32/llava-next-video-7b.parquet"], "Unpinned: model llava-next-video-7b; data of vinoground."),
        (["results/paper/sources/velociti/3.parquet"], "Unpinned: data of velociti."),
        (["results/tables/vinoground/table2.md"], ""),
    ],
)  # fmt: skip
def test_what_is_unpinned_is_said(
    here: Project, caplog: pytest.LogCaptureFixture, targets: list[str], said: str
) -> None:
    here.edit("config/suites/paper.yaml", "run: [none]", "run: [llava-next-video-7b, qwen2-7b]\njudges: [qwen2-7b]")
    with caplog.at_level(logging.WARNING):
        warn_of_unpinned(Plan(load(Path(), {"suite": "paper"})), targets)
    assert [one.message[: len(said)] for one in caplog.records] == ([said] if said else [])


def test_judges_are_compared_where_two_rate_the_same(here: Project) -> None:
    demo = Plan(load(Path()))
    check_targets(demo, ["results/tables/judges.csv"])
    rated = asked_by(demo, ["results/tables/judges.md"])
    assert {one.judge for one in rated} == {"wordmatch", "wordmatch-recall"} and len(rated) == 2 * len(
        {one.run for one in rated}
    )
    with pytest.raises(UserError, match=r"judges.pdf: no format 'pdf'. Allowed: csv, html, md, tex."):
        check_targets(demo, ["results/tables/judges.pdf"])

"""Test targets on the command line: unknown and unpinned ones are named before jobs are planned."""

import logging
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.plan.targets import check_profile, check_targets, parse_targets, warn_about_models

from tests.unit.config.conftest import Project

NO_SUCH_FILE = "suite 'demo' has no such file. "


@pytest.mark.parametrize(
    ("target", "expected_message"),
    [
        ("results/tables/velociti/table99.md", f"{NO_SUCH_FILE}Did you mean 'table9.md'? Allowed: table10.md,"),
        ("results/tables/velocti/table2.md", f"{NO_SUCH_FILE}Did you mean 'results/tables/velociti'? Allowed: results,"),
        ("results/tables/table3.csv", f"{NO_SUCH_FILE}Did you mean 'table3.md'? Allowed: table3.html, table3.md, table3.tex."),
        ("results/reproduction.md", f"{NO_SUCH_FILE}It shows no published values (`show_published: false` in config/suites/demo.yaml)"),
        ("results/demo/frames/velociti/fps2.shuffled.parquet", "no run of suite 'demo' uses this sampling for velociti. Add one to `extra_runs:` of config/suites/demo.yaml,"),
        ("results/demo/metrics/velociti/entail/fps1/oracel.parquet", "unknown model 'oracel'. Did you mean 'oracle'?"),
        ("results/paper/metrics/velociti/entail/fps1/oracle.parquet", "belongs to suite 'paper', but the suite is 'demo'. Add `--config suite=paper` after the targets."),
        ("results/dmo/health.csv", "no result is in 'results/dmo'. Did you mean 'demo'?"),
        ("table3", "a target is a file in results/. Did you mean 'results/tables/table3.html'?"),
    ],
)  # fmt: skip
def test_an_unknown_target_has_a_plain_message(project: Project, target: str, expected_message: str) -> None:
    with pytest.raises(UserError) as error:
        check_targets(project.plan(), ["results/tables/table3.tex", target, "results/tables/x/y"])
    lines = str(error.value).splitlines()
    assert [line.partition(":")[0] for line in lines] == [target, "results/tables/x/y"], (
        "all unknown targets are named at once"
    )
    assert lines[0].startswith(f"{target}: {expected_message}")


def test_valid_targets_pass_and_a_missing_overview_is_explained(project: Project) -> None:
    with pytest.raises(UserError, match="It has no overview. List models in `overview:` of config/suites/rehearsal"):
        check_targets(project.plan("rehearsal"), ["results/tables/overview.md"])
    with pytest.raises(
        UserError, match="It has no temporal profiles. List models of its overview in `temporal:` of config/sui"
    ):
        check_targets(project.plan("rehearsal"), ["results/temporal/toy-llava-ov.html"])
    check_targets(project.plan("paper"), ["results/reproduction.html"])
    targets = ["results/tables/table3.tex", "results/tables/velociti/table2.csv", "results/demo/sources/missing.md"]
    run = "velociti/entail/fps1/oracle"
    targets += [f"results/demo/responses/{run}.{kind}" for kind in ("parquet", "timings.parquet", "problems.csv")]
    targets += [f"results/demo/verdicts/{run}.robust.parquet", f"results/demo/verdicts/{run}/judge.parquet"]
    check_targets(project.plan(), [*targets, "results/tables/overview.md"])


def test_pdf_tables_need_latex_before_any_job_runs(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    plan, pdf_targets = project.plan(), ["results/tables/tables.pdf", "results/suite.pdf"]
    for target in pdf_targets:
        with pytest.raises(UserError, match=f"{target}: pdflatex not found.*apt-get install texlive-latex-recommended"):
            check_targets(plan, [target])
    (tmp_path / "pdflatex").touch(mode=0o755)
    check_targets(plan, pdf_targets)


def test_targets_are_the_files_of_the_snakemake_call() -> None:
    arguments = ["snakemake", "-n", "./results/tables/table3.tex", "--cores", "8", "--config", "suite=paper"]
    assert parse_targets([*arguments, "--report", "results/report.html"]) == ["results/tables/table3.tex"]
    with pytest.raises(UserError, match="no profile 'profiles/slrum'.*'profiles/slurm'"):
        check_profile([*arguments, "--workflow-profile=profiles/slrum"])


@pytest.mark.parametrize(
    ("targets", "expected_message"),
    [
        ([], "Unpinned: models llava-next-video-7b, qwen2-7b; data of temporalbench, vinoground. A dry run accepts them, but a run"),
        (["results/tables/vinoground/table8.md"], "Unpinned: models llava-next-video-7b, qwen2-7b; data of vinoground."),
        (["results/paper/sources/velociti/3.parquet"], "Unpinned: data of velociti."),
        (["results/tables/vinoground/table2.md"], ""),
    ],
)  # fmt: skip
def test_unpinned_models_and_data_are_named(
    project: Project, caplog: pytest.LogCaptureFixture, targets: list[str], expected_message: str
) -> None:
    project.edit("config/suites/paper.yaml", "run: [none]", "run: [llava-next-video-7b, qwen2-7b]\njudges: [qwen2-7b]")
    with caplog.at_level(logging.WARNING):
        warn_about_models(project.plan("paper"), targets)
    assert [record.message[: len(expected_message)] for record in caplog.records] == (
        [expected_message] if expected_message else []
    )

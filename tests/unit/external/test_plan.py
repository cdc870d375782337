"""Test imported runs in the plan: planned if their files exist, with their digests as keys; mistakes are named."""

from pathlib import Path

import pytest
from reprise.commands.answers import export_run
from reprise.core.errors import UserError
from reprise.core.paths import Run

from tests.unit.config.conftest import Project

RUN = Run("vinoground", "paper", "black8", "random-imported")
FOLDER = "resources/imports/vinoground/random-imported"
SUITE = "config/suites/demo.yaml"


def write_model(project: Project, settings: str, slug: str = "random-imported") -> None:
    project.write(f"config/models/{slug}.yaml", f"label: L\nadapter: import\nsettings:\n{settings}")


def test_the_settings_next_to_a_log_are_inputs(project: Project, caplog: pytest.LogCaptureFixture) -> None:
    for path in Path(FOLDER).iterdir():
        path.unlink()
    names = ("20260818_101112_samples_vinoground.jsonl", "20260818_101112_results.json")
    for name in (*names, "20260101_101112_results.json"):
        project.write(f"{FOLDER}/{name}", "")
    imports = project.plan().imports
    assert [path.name for path in imports.answer_files(RUN)] == list(names)
    imports.warn_about_unused_files(frozenset({"random-imported"}))
    assert "20260101_101112_results.json: not used" in caplog.text


def test_an_explicit_imported_run_must_have_its_files(project: Project) -> None:
    project.edit(SUITE, "    subset: {per", "    extra_runs: [entail/fps1/random-imported]\n    subset: {per")
    settings = "{vinoground/paper/black8: ., velociti/entail.subset/fps1: ., velociti/entail/fps1: whole}"
    write_model(project, f"  runs: {settings}\n")
    assert "velociti/entail/fps1/random-imported: no files of answers. Put them" in project.message()


MISTAKES = {
    "runs": [
        ("vinoground/paper: .", "settings.runs: 'vinoground/paper': should have the form <benchmark>/<protocol>/<sampling>."),
        ("vinograund/paper/black8: .", "predictions for 'vinograund' cannot be imported"),
        ("vinoground/papr/black8: .", "unknown protocol 'papr'. Did you mean 'paper'?"),
        ("vinoground/paper/blak8: .", "unknown sampling 'blak8'. Did you mean 'black8'?"),
        ("vinoground/similarity/black8: .", "the authors' files contain no responses to form 'similarity'. Forms: questions."),
        ("vinoground/paper/black8: ../oracle", "settings.runs: 'vinoground/paper/black8': '../oracle' is not inside resources/imports/vinoground/random-imported."),
        ("vinoground/paper/fps1: /etc", "'/etc' is not inside"),
    ],
    "ratings": [
        ("vinoground/paper/black8/oracle: .", "benchmark 'vinoground' has no ratings by a judge."),
        ("mmbench_video/packed/interior8/oracel: .", "unknown model 'oracel'. Did you mean 'oracle'?"),
    ],
}  # fmt: skip


def test_all_mistakes_in_the_file_of_an_imported_model_are_named(project: Project) -> None:
    write_model(
        project,
        "".join(f"  {key}: {{{', '.join(entry for entry, _ in mistakes)}}}\n" for key, mistakes in MISTAKES.items()),
    )
    message = project.message()
    assert [expected for mistakes in MISTAKES.values() for _, expected in mistakes if expected not in message] == []
    write_model(project, "  folder: x\n")
    assert "settings.folder: unknown key. Allowed: names, ratings, runs." in project.message()


@pytest.mark.parametrize(("run", "message"), [
    ("vinoground/paper/black8/rndom", "no run 'vinoground/paper/black8/rndom' in suite 'demo'. Did you mean"),
    ("vinoground/similarity/black8/random", "the authors of vinoground have no file format for answers of form 'similarity'"),
    ("vinoground/paper/black8/random", "responses/vinoground/paper/black8/random.parquet not found. Make it first"),
])  # fmt: skip
def test_impossible_exports_are_reported(project: Project, run: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        export_run(run, project.root / "out")
    assert message in str(caught.value)

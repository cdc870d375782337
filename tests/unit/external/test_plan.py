"""Imported runs in the plan: there if their files are, keyed by them, and mistakes of their settings by name."""

import json
import shutil
from pathlib import Path

import pytest
from reprise.commands.answers import export_run
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.core.paths import Run
from reprise.core.schemas import ITEMS, REQUESTS, RESPONSES, write_table
from reprise.external.answers import ImportedAnswers
from reprise.models.base import Answer
from reprise.plan.runs import Plan
from reprise.plan.suite import write_keys
from reprise.stages.import_answers import responses

from tests.unit.benchmarks.releases import Pairs, requests_of

ROOT = Path(__file__).parents[3]
RUN = Run("vinoground", "paper", "black8", "random-imported")
FOLDER = Path("resources/imports/vinoground/random-imported")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose configuration and imports a test may change."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    (tmp_path / "resources").mkdir()
    for path in (ROOT / "resources").iterdir():
        if path.name == "imports":
            shutil.copytree(path, tmp_path / "resources/imports")
        elif path.name != "store":
            (tmp_path / "resources" / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def change_suite(old: str, new: str) -> None:
    suite = Path("config/suites/demo.yaml")
    assert old in suite.read_text()
    suite.write_text(suite.read_text().replace(old, new, 1))


def model_file(settings: str) -> None:
    Path("config/models/random-imported.yaml").write_text(f"label: L\nadapter: import\nsettings:\n{settings}")


def test_a_log_counts_with_the_settings_beside_it(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    for path in FOLDER.iterdir():
        path.unlink()
    names = ("20260818_101112_samples_vinoground.jsonl", "20260818_101112_results.json")
    for name in (*names, "20260101_101112_results.json"):
        (FOLDER / name).touch()
    plan = Plan(load(root))
    assert [path.name for path in plan.imports.answer_files(RUN)] == list(names)
    plan.imports.warn_of_unused(frozenset({"random-imported"}))
    assert "20260101_101112_results.json: not used" in caplog.text


def test_a_run_that_is_named_beside_the_tables_must_have_its_files(root: Path) -> None:
    change_suite("    subset: {per", "    extra_runs: [entail/fps1/random-imported]\n    subset: {per")
    model_file("  runs: {vinoground/paper/black8: ., velociti/entail.subset/fps1: ., velociti/entail/fps1: whole}\n")
    with pytest.raises(UserError, match=r"velociti/entail/fps1/random-imported: no answers found. Put the files"):
        write_keys(Plan(load(root)))


MISTAKES = {
    "runs": [
        ("vinoground/paper: .", "settings.runs: 'vinoground/paper': a run is named <benchmark>/<protocol>/<sampling>."),
        ("vinograund/paper/black8: .", "answers to 'vinograund' cannot be imported"),
        ("vinoground/papr/black8: .", "unknown protocol 'papr'. Did you mean 'paper'?"),
        ("vinoground/paper/blak8: .", "unknown sampling 'blak8'. Did you mean 'black8'?"),
        ("vinoground/similarity/black8: .", "the authors' files hold no answers to form 'similarity'. Forms: questions."),
        ("vinoground/paper/black8: ../oracle", "settings.runs: 'vinoground/paper/black8': '../oracle' is not inside resources/imports/vinoground/random-imported."),
        ("vinoground/paper/fps1: /etc", "'/etc' is not inside"),
    ],
    "ratings": [
        ("vinoground/paper/black8/oracle: .", "answers to 'vinoground' are not rated by a judge."),
        ("mmbench_video/packed/interior8/oracel: .", "unknown model 'oracel'. Did you mean 'oracle'?"),
    ],
}  # fmt: skip


def test_mistakes_in_an_imported_models_file_are_named_all_at_once(root: Path) -> None:
    named = (f"  {key}: {{{', '.join(one for one, _ in found)}}}\n" for key, found in MISTAKES.items())
    model_file("".join(named))
    with pytest.raises(UserError) as error:
        load(root)
    missing = [words for found in MISTAKES.values() for _, words in found if words not in str(error.value)]
    assert missing == []
    model_file("  folder: x\n")
    with pytest.raises(UserError, match=r"settings.folder: unknown key. Allowed: names, ratings, runs."):
        load(root)


def test_a_changed_file_changes_the_key_of_its_run_or_judge_alone(root: Path) -> None:
    rated = "mmbench_video/packed/interior8/oracle"
    Path("config/models/people.yaml").write_text(f"label: P\nadapter: import\nsettings:\n  ratings: {{{rated}: .}}\n")
    change_suite("judges: [wordmatch,", "judges: [people, wordmatch,")
    ratings = Path("resources/imports/mmbench_video/people/ratings.tsv")
    ratings.parent.mkdir(parents=True)
    ratings.write_text("index\trating\n0\t3\n")

    def keys() -> dict[str, str]:
        plan = Plan(load(root))
        write_keys(plan)
        folder = root / "results/demo/keys"
        names = [*(f"{run.name}.json" for run in plan.runs()), "judges/mmbench_video/packed/people.json"]
        return {name: json.loads((folder / name).read_text())["key"] for name in names}

    before = keys()
    answers = FOLDER / "textscore-response.jsonl"
    answers.write_text(answers.read_text().replace('"A"', '"B"', 1))
    ratings.write_text("index\trating\n0\t2\n")
    changed = [name for name, key in keys().items() if before[name] != key]
    assert changed == [f"{RUN.name}.json", "judges/mmbench_video/packed/people.json"]


EXPORTS = {
    "vinoground/paper/black8/rndom": "no run 'vinoground/paper/black8/rndom' in suite 'demo'. Did you mean",
    "vinoground/similarity/black8/random": "the authors of vinoground have no file format of answers to form 'similarity'",
    "vinoground/paper/black8/random": "responses/vinoground/paper/black8/random.parquet not found. Make it first",
}


def test_export_says_what_it_cannot_do(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for run, message in EXPORTS.items():
        with pytest.raises(UserError) as error:
            export_run(run, root / "out")
        assert message in str(error.value)
    items = Pairs(root, 2).items
    requests = requests_of("vinoground", "questions", items)
    results = root / "results/demo"
    write_table(items, results / "annotations/vinoground/items.parquet", ITEMS)
    write_table(requests, results / "requests/vinoground/paper.parquet", REQUESTS)
    said = ImportedAnswers({request: Answer(text="A") for request in requests["request_id"]})
    table = responses(requests, said, 8, "key").head(7)  # the clip of the last question is missing
    write_table(table, results / "responses/vinoground/paper/black8/random.parquet", RESPONSES)
    export_run("vinoground/paper/black8/random", root / "out")
    files = [root / f"out/{kind}score-response.jsonl" for kind in ("text", "video")]
    assert capsys.readouterr().out.split() == list(map(str, files))
    assert sum(len(path.read_text().splitlines()) for path in files) == 7

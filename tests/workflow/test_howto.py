"""The tutorial and the pages of docs/howto, followed to the letter in a copy of the project: what they write, change and run.

A line that is a path in backticks and a fenced block under it are a file; a `diff` block is a change of one; a block
without a language is what is typed. All else is for the reader.
"""

import csv
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest
from synthetic.toyworld.captions import caption
from synthetic.toyworld.sources import load_source_script

from tests.unit.models.adapters import tiny_video
from tests.workflow.conftest import COMMIT, ROOT, Project, both, copy_project, own_copy

BLOCK = re.compile(r"(?:^`(?P<path>[^`\n]+)`\n\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
HUNK = re.compile(r"^@@.*\n", re.MULTILINE)
PROGRAMS = {"rm": "rm", "python": sys.executable}
ENVIRONMENT = {"make", "source"}  # what sets up the environment, which the tests run in


class Block(NamedTuple):
    """A fenced block, and the path above it, if that is what stands there."""

    path: str
    language: str
    text: str

    @property
    def commands(self) -> list[list[str]]:
        """What is typed."""
        return (
            [] if self.path or self.language else [shlex.split(line, comments=True) for line in self.text.splitlines()]
        )

    def carry_out(self, project: Project) -> None:
        """Write a file or make a change; other blocks change nothing."""
        if self.path:
            assert not (project.root / self.path).exists(), f"{self.path} is not new"
            project.write(self.path, self.text)
        elif self.language == "diff":
            apply(self.text, project.root)


class Page:
    """A page as what it tells its reader to do: new files, changes of files that are there, and what is typed."""

    def __init__(self, name: str | Path) -> None:
        self.text = (ROOT / "docs" / name).read_text()
        self.blocks = [Block(one["path"] or "", *one.group("language", "text")) for one in BLOCK.finditer(self.text)]
        self.files = {block.path: block.text for block in self.blocks if block.path}
        self.changes = [block.text for block in self.blocks if block.language == "diff"]
        self.commands = [command for block in self.blocks for command in block.commands]

    def follow(self, project: Project) -> None:
        """Write its files and make its changes."""
        for block in self.blocks:
            block.carry_out(project)

    def play(self, project: Project) -> list[str]:
        """Do all that it says, in its order; what each command printed."""
        printed = []
        for block in self.blocks:
            block.carry_out(project)
            printed += [typed(project, command) for command in block.commands if command[0] not in ENVIRONMENT]
        return printed


def apply(change: str, root: Path) -> None:
    """Make a change; every line of it that is not new must be there, once."""
    header, *hunks = HUNK.split(change)
    old, new = re.findall(r"^(?:---|\+\+\+) (\S+)$", header, re.MULTILINE)
    assert old == new
    text = (root / new).read_text()
    for hunk in hunks:
        lines = hunk.splitlines(keepends=True)
        before, after = ("".join(line[1:] for line in lines if line[0] in f" {mark}") for mark in "-+")
        assert text.count(before) == 1, f"{new} has {text.count(before)} times:\n{before}"
        text = text.replace(before, after)
    (root / new).write_text(text)


def typed(project: Project, command: list[str]) -> str:
    """Run a command of a page; what it printed."""
    program = PROGRAMS.get(command[0])
    done = project.run([program, *command[1:]]) if program else project.module(*command)
    assert done.returncode == 0, both(done)
    return both(done)


def numbers(project: Project, table: str) -> dict[tuple[str, str], float]:
    """The values of a table by row and column."""
    return {place: float(row["value"]) for place, row in project.cells(table).items() if row["value"]}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """The project with the demo's checkpoints."""
    copy = copy_project(tmp_path / "project")
    (copy.root / "resources/demo").symlink_to(ROOT / "resources/demo")
    return copy


@pytest.fixture(scope="module")
def finished_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of the demo in a smaller toy world, where one model is asked: the steps of the pages are the same."""
    project = copy_project(tmp_path_factory.mktemp("demo") / "project")
    (project.root / "resources/demo").symlink_to(ROOT / "resources/demo")
    project.edit("workflow/synthetic/toyworld/generate.py", "EVALUATION_SOURCES = 16", "EVALUATION_SOURCES = 2")
    project.edit("config/suites/demo.yaml", "shards: 2", "shards: 1")
    project.edit("config/suites/demo.yaml", "run: [local]", "run: [oracle]")
    project.made("results/tables/velociti/table2.md")
    return project.root


@pytest.fixture
def demo(finished_demo: Path, tmp_path: Path) -> Project:
    return own_copy(finished_demo, tmp_path)


@pytest.mark.parametrize("name", ["add-benchmark", "add-model", "build-your-own", "evaluate-my-model"])
def test_editors_find_the_schemas_that_a_page_names(name: str) -> None:
    for path, text in Page(f"howto/{name}.md").files.items():
        named = re.findall(r"\$schema=(\S+)", text)
        assert bool(named) == path.startswith("config/")
        assert all((ROOT / path).parent.joinpath(one).resolve().is_file() for one in named)


BENCHMARK = Page("howto/add-benchmark.md")


def test_a_benchmark_takes_few_files_and_lines_that_are_as_clean_as_the_project_and_true(tmp_path: Path) -> None:
    added = sum(line.startswith("+") for change in BENCHMARK.changes for line in change.splitlines()[2:])
    lines = sum(len(text.splitlines()) for text in BENCHMARK.files.values()) + added
    assert len(BENCHMARK.files) <= 6 and lines <= 150 and len(BENCHMARK.changes) == 1, lines
    for row in csv.DictReader(BENCHMARK.files["resources/toyqa/toyqa.csv"].splitlines()):
        script = load_source_script(row["video"]).parts[0].script
        assert (row["answer"] == "Yes") == (row["statement"] in {caption(*deed) for deed in script.deeds}), row
    for path, text in BENCHMARK.files.items():
        if path.endswith(".py"):
            (tmp_path / Path(path).name).write_text(text)
    for check in (["check"], ["format", "--check"]):
        command = [sys.executable, "-m", "ruff", *check, "--no-cache", f"--config={ROOT}/pyproject.toml", str(tmp_path)]
        assert subprocess.run(command, check=False).returncode == 0


def test_adding_a_benchmark(project: Project) -> None:
    BENCHMARK.follow(project)
    for command in BENCHMARK.commands:
        typed(project, command)
    found = numbers(project, "toyqa/table1")
    (block,) = [block for block in BENCHMARK.blocks if block.language == "text" and block.text.startswith("|")]
    table = re.findall(r"^\|(.+)\|$", block.text, re.MULTILINE)
    (_, *columns), *rows = ([cell.strip() for cell in row.split("|")] for row in table)
    shown = {(row[0], column): float(value) for row in rows for column, value in zip(columns, row[1:], strict=True)}
    assert shown.keys() == found.keys()
    for place, value in shown.items():
        # A processor may tip one of the model's answers; the rest is arithmetic.
        assert found[place] == pytest.approx(value, abs=13 if "Toy" in place[0] else 0.05), place
    assert shown["Oracle", "All"] == 100 and shown["Chance", "All"] == 50
    assert (project.root / BENCHMARK.commands[-1][1]).is_file()


MODEL = Page("howto/add-model.md")


def test_adding_a_model(demo: Project) -> None:
    tiny_video.qwen2_vl(demo.root / "checkpoints/my-qwen2-vl")
    look, make = MODEL.commands
    before = numbers(demo, "velociti/table2")
    assert len(MODEL.files) == 1 and len(MODEL.changes) == 1
    MODEL.follow(demo)
    # Weights drawn at random give the options next to no probability, which would end the run.
    model = "config/models/my-qwen2-vl.yaml"
    demo.write(model, f"{demo.text(model)}settings: {{option_share: 0}}\n")
    demo.edit("config/suites/demo.yaml", "run: [oracle]", "run: [oracle, my-qwen2-vl]")
    typed(demo, look)
    assert demo.planned(make[1]) == ["infer", "metrics", "table", "verdicts"], "nothing else is asked again"
    typed(demo, make)
    found = numbers(demo, "velociti/table2")
    added = found.keys() - before.keys()
    assert added == {("My Qwen2-VL", column) for row, column in before if row == "Oracle"}
    assert {place: found[place] for place in before} == before
    answers = demo.parquet("demo/responses/velociti/entail/fps1/my-qwen2-vl")
    assert set(answers["error"]) == {""} and set(answers["frames_shown"]) == {10}


IMPORT = Page("howto/import-answers.md")


def test_importing_answers(demo: Project) -> None:
    before = numbers(demo, "velociti/table2")
    export, look, make = IMPORT.commands
    typed(demo, export)
    IMPORT.follow(demo)
    demo.edit("config/suites/demo.yaml", "run: [oracle]", "run: [oracle, somebody]")
    typed(demo, look)
    typed(demo, make)
    found = numbers(demo, "velociti/table2")
    added = {place: value for place, value in found.items() if place not in before}
    assert {row for row, _ in added} == {"Somebody's model, imported"} and set(added.values()) == {100}
    assert {place: found[place] for place in before} == before
    assert (demo.root / "results/demo/responses/velociti/entail/fps1/somebody.problems.csv").is_file()


LOGS = Page("howto/import-harness.md")


def test_importing_a_log(demo: Project) -> None:
    demo.edit("config/suites/demo.yaml", "run: [oracle]", "run: [my-log]")
    *_, shown = LOGS.play(demo)
    (footnote,) = re.findall(r"^Problems of imported answers: .*\.$", LOGS.text, re.MULTILINE)
    assert footnote in " ".join(shown.split()), shown
    said = demo.parquet("demo/responses/vinoground/authors/linspace32/my-log")
    assert said.filter(pl.col("error") != "no_answer")["error"].to_list() == ["", "failed_elsewhere"]


OWN = Page("howto/evaluate-my-model.md")


def test_evaluating_one_s_own_model_as_far_as_the_first_download(project: Project, hub: str) -> None:
    evaluate, pin, look, _ = OWN.commands
    before = {path: path.read_text() for path in (project.root / "config").rglob("*.yaml")}
    assert "velociti/entail.subset/fps1/llava-ov-late" in typed(project, [*evaluate, "--dry-run"])
    assert {path: path.read_text() for path in (project.root / "config").rglob("*.yaml")} == before
    OWN.follow(project)
    typed(project, [*pin, "--unchecked"])  # the repositories of this hub are empty
    assert f"revision: {COMMIT}" in project.text("config/models/my-model.yaml")
    typed(project, look)
    jobs = project.planned(*look[2:3], "--config", "suite=paper")
    assert jobs.count("infer") == 1 and jobs.count("weights") == 1 and jobs.count("import_answers") == 0


BUILD = Page("howto/build-your-own.md")


def judged(row: dict[str, str], shown: dict[str, str]) -> str:
    """What somebody says who has seen the videos: every sample fits, and each video shows its caption of the csv."""
    if row["task_id"].startswith("category/"):
        return "action"
    if "option" in row:
        return "fits" if shown.get(row["video"]) == row["option"] else "does not fit"
    if "caption" in row:
        return "shows it" if shown[row["video"]] == row["text"] else "does not show it"
    return row["choices"].partition(" | ")[0]


def review(project: Project, benchmark: str) -> None:
    """Fill in a copy of the tasks, as the page says."""
    captions, clips = (
        csv.DictReader(BUILD.files[path].splitlines()) for path in ("my/captions/captions.csv", "my/clips/clips.csv")
    )
    shown = {row["video"]: row["caption"] for row in captions}
    shown |= {f"own/{row['video']}.short-{row['start']}-{row['end']}": row["caption"] for row in clips}
    rows = project.rows(f"results/mine/construction/{benchmark}/review/tasks.csv")
    target = project.root / f"my/reviews/{benchmark}/ann.csv"
    target.parent.mkdir(parents=True)
    with target.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"reviewer": "ann", "verdict": judged(row, shown)} for row in rows)


def test_building_a_benchmark_of_one_s_own_clips(tmp_path: Path) -> None:
    project = copy_project(tmp_path / "project")
    BUILD.follow(project)
    *render, tasks, statistics, tables = BUILD.commands
    for command in (*render, tasks):
        typed(project, command)
    for benchmark in ("velociti", "vinoground", "temporalbench"):
        review(project, benchmark)
    for command in (statistics, tables):
        typed(project, command)
    found = numbers(project, "velociti/table2")
    tests = [column for row, column in found if row == "Oracle"]
    assert len(tests) == 8 and all(found["Oracle", test] == 100 for test in tests)
    found = numbers(project, "vinoground/table3")
    assert [found["Oracle", column] for column in ("s_t", "s_v", "s_g")] == [100, 100, 100]
    pairs = project.rows("results/mine/release/vinoground/vinoground.csv")
    assert sorted(sorted((row["pos_vid"], row["neg_vid"])) for row in pairs) == [["four", "three"], ["one", "two"]]
    found = numbers(project, "temporalbench/table2")
    assert [found[row, column] for row in ("Oracle", "Oracle, long") for column in ("BA", "MBA")] == [100] * 4
    items = project.parquet("mine/annotations/temporalbench/items")
    assert items["flaws"].list.len().sum() == 0
    asked = Counter(items.filter(task="long")["clip_id"])
    assert asked == {
        f"own/{name}": 4 for name in ("four.long-2-10", "one.long-0-10", "three.long-2-10", "two.long-0-10")
    }
    pool = project.parquet("mine/construction/temporalbench/pool")
    kept = pool.filter(filter="")
    assert kept.height and kept["shots"].null_count() == kept["motion"].null_count() == 0
    cuts = project.parquet("mine/construction/temporalbench/clips/0").filter(status="ok")
    objects = [project.root / "resources/store" / name for name in cuts["object"]]
    assert "freed" in project.called("store", "--prune", "--yes", "--used-by", ".") and all(
        path.is_file() for path in objects
    )
    objects[0].unlink()
    page = "results/mine/construction/temporalbench/statistics.md"
    done = project.snakemake(page, "--forcerun", "construction_clip_metadata", "--config", "suite=mine")
    assert done.returncode == 0 and objects[0].is_file(), both(done)
    line = f"Construction of temporalbench: {kept.height} of {pool.height} rows kept before texts are written"
    assert line in both(done)
    project.edit("my/events/events.csv", "blink", "yodel")
    done = project.snakemake("results/mine/construction/velociti/written.parquet", "--config", "suite=mine")
    assert "`python -m reprise runs` lists" in both(done)
    listed = project.called("runs", "--suite", "mine")
    assert "round 1 of writing velociti by toy-writer: " in listed and "no words for yodel" in listed


TUTORIAL, WHY = Page("tutorial.md"), Page("howto/why-wrong.md")
ITEM = "agent_random/v_toyqeiWQeUI_seg_14_24/Ev1/1"


@pytest.fixture(scope="module")
def tutored(finished_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The smaller toy world after the tutorial; its 8 frames a second are 3, which is quicker."""
    project = own_copy(finished_demo, tmp_path_factory.mktemp("tutored"))
    project.edit("config/suites/demo.yaml", "run: [oracle]", "run: [toy-llava-ov]")
    project.edit("config/config.yaml", "fps8: {rule: fps_mid, fps: 8}", "fps8: {rule: fps_mid, fps: 3}")
    TUTORIAL.play(project)
    return project


def test_the_tutorial_ends_with_a_changed_table(tutored: Project) -> None:
    assert {row for row, _ in numbers(tutored, "velociti/table9")} == {"1fps", "2fps", "8fps"}
    logs = list((tutored.root / "results/demo/logs/infer/velociti").rglob("*.log"))
    assert len(logs) == 3 and not any("loading the model" in log.read_text() for log in logs), "answers are kept"


def test_finding_why_an_answer_is_wrong(tutored: Project) -> None:
    listed, item = WHY.play(tutored)
    assert f"{ITEM}#pos" in listed and "answers are right" in listed
    (shown,) = [block.text for block in WHY.blocks if block.language == "text"]
    assert [line for line in shown.splitlines() if line not in item] == []
    assert (tutored.root / "results/demo/frames/preview/velociti/toyqeiWQeUI.14-24.fps1.png").is_file()

"""Test the tutorial and the pages of docs/howto by following them in a copy of the project.

A path in backticks and the fenced block below it are a new file. A `diff` block changes a file. A block without a
language contains commands. The tests ignore everything else.
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
from synthetic.toyworld.sources import find_source

from tests.unit.models.adapters import tiny_video
from tests.workflow.conftest import COMMIT, ROOT, Project, copy_of, copy_project, printed_text

BLOCK = re.compile(r"(?:^`(?P<path>[^`\n]+)`\n\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
HUNK = re.compile(r"^@@.*\n", re.MULTILINE)
EXECUTABLES = {"rm": "rm", "python": sys.executable}
SETUP_PROGRAMS = {"make", "source"}  # These set up the environment, in which the tests already run.


class Block(NamedTuple):
    """A fenced block, with the path above it, if any."""

    path: str
    language: str
    text: str

    @property
    def commands(self) -> list[list[str]]:
        """Return the commands of the block."""
        return (
            [] if self.path or self.language else [shlex.split(line, comments=True) for line in self.text.splitlines()]
        )

    def carry_out(self, project: Project) -> None:
        """Write the file or apply the change of the block; other blocks have no effect."""
        if self.path:
            assert not (project.root / self.path).exists(), f"{self.path} is not new"
            project.write(self.path, self.text)
        elif self.language == "diff":
            apply_diff(self.text, project.root)


class Page:
    """The instructions of a page: new files, changes of existing files, and commands."""

    def __init__(self, name: str | Path) -> None:
        self.text = (ROOT / "docs" / name).read_text()
        self.blocks = [
            Block(match["path"] or "", *match.group("language", "text")) for match in BLOCK.finditer(self.text)
        ]
        self.files = {block.path: block.text for block in self.blocks if block.path}
        self.changes = [block.text for block in self.blocks if block.language == "diff"]
        self.commands = [command for block in self.blocks for command in block.commands]

    def follow(self, project: Project) -> None:
        """Write the files of the page and apply its changes."""
        for block in self.blocks:
            block.carry_out(project)

    def play(self, project: Project) -> list[str]:
        """Follow all instructions in order, and return the output of each command."""
        outputs = []
        for block in self.blocks:
            block.carry_out(project)
            outputs += [run_command(project, command) for command in block.commands if command[0] not in SETUP_PROGRAMS]
        return outputs


def apply_diff(change: str, root: Path) -> None:
    """Apply a diff; each hunk's old lines must occur exactly once in the file."""
    header, *hunks = HUNK.split(change)
    old, new = re.findall(r"^(?:---|\+\+\+) (\S+)$", header, re.MULTILINE)
    assert old == new
    text = (root / new).read_text()
    for hunk in hunks:
        lines = hunk.splitlines(keepends=True)
        old_lines, new_lines = ("".join(line[1:] for line in lines if line[0] in f" {mark}") for mark in "-+")
        assert text.count(old_lines) == 1, f"{new} has {text.count(old_lines)} times:\n{old_lines}"
        text = text.replace(old_lines, new_lines)
    (root / new).write_text(text)


def run_command(project: Project, command: list[str]) -> str:
    """Run a command of a page and return its output."""
    program = EXECUTABLES.get(command[0])
    process = project.run([program, *command[1:]]) if program else project.module(*command)
    assert process.returncode == 0, printed_text(process)
    return printed_text(process)


def table_values(project: Project, table: str) -> dict[tuple[str, str], float]:
    """Return the values of a table by row and column."""
    return {cell: float(row["value"]) for cell, row in project.cells(table).items() if row["value"]}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Return a copy of the project with the demo's checkpoints."""
    copy = copy_project(tmp_path / "project")
    (copy.root / "resources/demo").symlink_to(ROOT / "resources/demo")
    return copy


@pytest.fixture(scope="module")
def finished_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy with one table of the demo, in a smaller toy world and for one model. The pages' steps stay the same."""
    project = copy_project(tmp_path_factory.mktemp("demo") / "project")
    (project.root / "resources/demo").symlink_to(ROOT / "resources/demo")
    project.edit("workflow/synthetic/toyworld/generate.py", "EVALUATION_SOURCES = 16", "EVALUATION_SOURCES = 2")
    project.edit("config/suites/demo.yaml", "shards: 2", "shards: 1")
    project.edit("config/suites/demo.yaml", "run: [local]", "run: [oracle]")
    project.run_rules("results/tables/velociti/table2.md")
    return project.root


@pytest.fixture
def demo(finished_demo: Path, tmp_path: Path) -> Project:
    return copy_of(finished_demo, tmp_path)


@pytest.mark.parametrize("name", ["add-benchmark", "add-model", "build-your-own", "evaluate-my-model"])
def test_editors_find_the_schemas_that_a_page_names(name: str) -> None:
    for path, text in Page(f"howto/{name}.md").files.items():
        schemas = re.findall(r"\$schema=(\S+)", text)
        assert bool(schemas) == path.startswith("config/")
        assert all((ROOT / path).parent.joinpath(schema).resolve().is_file() for schema in schemas)


BENCHMARK = Page("howto/add-benchmark.md")


def test_the_example_benchmark_is_short_correct_and_passes_ruff(tmp_path: Path) -> None:
    added = sum(line.startswith("+") for change in BENCHMARK.changes for line in change.splitlines()[2:])
    lines = sum(len(text.splitlines()) for text in BENCHMARK.files.values()) + added
    assert len(BENCHMARK.files) <= 6 and lines <= 150 and len(BENCHMARK.changes) == 1, lines
    for row in csv.DictReader(BENCHMARK.files["resources/toyqa/toyqa.csv"].splitlines()):
        script = find_source(row["video"]).parts[0].script
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
        run_command(project, command)
    values = table_values(project, "toyqa/table1")
    (block,) = [block for block in BENCHMARK.blocks if block.language == "text" and block.text.startswith("|")]
    table = re.findall(r"^\|(.+)\|$", block.text, re.MULTILINE)
    (_, *columns), *rows = ([cell.strip() for cell in row.split("|")] for row in table)
    page_values = {
        (row[0], column): float(value) for row in rows for column, value in zip(columns, row[1:], strict=True)
    }
    assert page_values.keys() == values.keys()
    for cell, value in page_values.items():
        # Processors may differ in one of the model's answers. The other values do not depend on a model.
        assert values[cell] == pytest.approx(value, abs=13 if "Toy" in cell[0] else 0.05), cell
    assert page_values["Oracle", "All"] == 100 and page_values["Chance", "All"] == 50
    assert (project.root / BENCHMARK.commands[-1][1]).is_file()


MODEL = Page("howto/add-model.md")


def test_adding_a_model(demo: Project) -> None:
    tiny_video.qwen2_vl(demo.root / "checkpoints/my-qwen2-vl")
    check_command, run_command_ = MODEL.commands
    values_before = table_values(demo, "velociti/table2")
    assert len(MODEL.files) == 1 and len(MODEL.changes) == 1
    MODEL.follow(demo)
    # Random weights give the options almost no probability, and the run would abort.
    model = "config/models/my-qwen2-vl.yaml"
    demo.write(model, f"{demo.text(model)}settings: {{option_share: 0}}\n")
    demo.edit("config/suites/demo.yaml", "run: [oracle]", "run: [oracle, my-qwen2-vl]")
    run_command(demo, check_command)
    assert demo.plan_rules(run_command_[1]) == ["infer", "metrics", "table", "verdicts"], "no other run is repeated"
    run_command(demo, run_command_)
    values = table_values(demo, "velociti/table2")
    new_cells = values.keys() - values_before.keys()
    assert new_cells == {("My Qwen2-VL", column) for row, column in values_before if row == "Oracle"}
    assert {cell: values[cell] for cell in values_before} == values_before
    answers = demo.parquet("demo/responses/velociti/entail/fps1/my-qwen2-vl")
    assert set(answers["error"]) == {""} and set(answers["frames_shown"]) == {10}


IMPORT = Page("howto/import-answers.md")


def test_importing_answers(demo: Project) -> None:
    values_before = table_values(demo, "velociti/table2")
    export_command, check_command, table_command = IMPORT.commands
    run_command(demo, export_command)
    IMPORT.follow(demo)
    demo.edit("config/suites/demo.yaml", "run: [oracle]", "run: [oracle, somebody]")
    run_command(demo, check_command)
    run_command(demo, table_command)
    values = table_values(demo, "velociti/table2")
    new_values = {cell: value for cell, value in values.items() if cell not in values_before}
    assert {row for row, _ in new_values} == {"Somebody's model, imported"} and set(new_values.values()) == {100}
    assert {cell: values[cell] for cell in values_before} == values_before
    assert (demo.root / "results/demo/responses/velociti/entail/fps1/somebody.problems.csv").is_file()


IMPORT_LOG = Page("howto/import-harness.md")


def test_importing_a_harness_log(demo: Project) -> None:
    demo.edit("config/suites/demo.yaml", "run: [oracle]", "run: [my-log]")
    *_, output = IMPORT_LOG.play(demo)
    (footnote,) = re.findall(r"^Problems of imported answers: .*\.$", IMPORT_LOG.text, re.MULTILINE)
    assert footnote in " ".join(output.split()), output
    responses = demo.parquet("demo/responses/vinoground/authors/linspace32/my-log")
    assert responses.filter(pl.col("error") != "no_answer")["error"].to_list() == ["", "failed_elsewhere"]


EVALUATE = Page("howto/evaluate-my-model.md")


def test_evaluating_your_model_up_to_the_first_download(project: Project, hub: str) -> None:
    eval_command, pin_command, plan_command, _ = EVALUATE.commands
    configuration = {path: path.read_text() for path in (project.root / "config").rglob("*.yaml")}
    assert "velociti/entail.subset/fps1/llava-ov-late" in run_command(project, [*eval_command, "--dry-run"])
    assert {path: path.read_text() for path in (project.root / "config").rglob("*.yaml")} == configuration
    EVALUATE.follow(project)
    run_command(project, [*pin_command, "--unchecked"])  # the repositories of this hub are empty
    assert f"revision: {COMMIT}" in project.text("config/models/my-model.yaml")
    run_command(project, plan_command)
    jobs = project.plan_rules(*plan_command[2:3], "--config", "suite=paper")
    assert jobs.count("infer") == 1 and jobs.count("weights") == 1 and jobs.count("import_answers") == 0


BUILD = Page("howto/build-your-own.md")


def choose_verdict(row: dict[str, str], caption_by_video: dict[str, str]) -> str:
    """Return the verdict of an ideal annotator: all samples fit, and each video shows its caption of the csv file."""
    if row["task_id"].startswith("category/"):
        return "action"
    if "option" in row:
        return "fits" if caption_by_video.get(row["video"]) == row["option"] else "does not fit"
    if "caption" in row:
        return "shows it" if caption_by_video[row["video"]] == row["text"] else "does not show it"
    return row["choices"].partition(" | ")[0]


def review(project: Project, benchmark: str) -> None:
    """Fill in a copy of the review tasks, as the page describes."""
    captions, clips = (
        csv.DictReader(BUILD.files[path].splitlines()) for path in ("my/captions/captions.csv", "my/clips/clips.csv")
    )
    caption_by_video = {row["video"]: row["caption"] for row in captions}
    caption_by_video |= {f"own/{row['video']}.short-{row['start']}-{row['end']}": row["caption"] for row in clips}
    rows = project.rows(f"results/mine/construction/{benchmark}/review/tasks.csv")
    target = project.root / f"my/reviews/{benchmark}/ann.csv"
    target.parent.mkdir(parents=True)
    with target.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"reviewer": "ann", "verdict": choose_verdict(row, caption_by_video)} for row in rows)


def test_building_a_benchmark_from_your_clips(tmp_path: Path) -> None:
    project = copy_project(tmp_path / "project")
    BUILD.follow(project)
    *setup_commands, tasks_command, statistics_command, tables_command = BUILD.commands
    for command in (*setup_commands, tasks_command):
        run_command(project, command)
    for benchmark in ("velociti", "vinoground", "temporalbench"):
        review(project, benchmark)
    for command in (statistics_command, tables_command):
        run_command(project, command)
    values = table_values(project, "velociti/table2")
    tests = [column for row, column in values if row == "Oracle"]
    assert len(tests) == 8 and all(values["Oracle", test] == 100 for test in tests)
    values = table_values(project, "vinoground/table3")
    assert [values["Oracle", column] for column in ("s_t", "s_v", "s_g")] == [100, 100, 100]
    pairs = project.rows("results/mine/release/vinoground/vinoground.csv")
    assert sorted(sorted((row["pos_vid"], row["neg_vid"])) for row in pairs) == [["four", "three"], ["one", "two"]]
    values = table_values(project, "temporalbench/table2")
    assert [values[row, column] for row in ("Oracle", "Oracle, long") for column in ("BA", "MBA")] == [100] * 4
    items = project.parquet("mine/annotations/temporalbench/items")
    assert items["flaws"].list.len().sum() == 0
    request_counts = Counter(items.filter(task="long")["clip_id"])
    assert request_counts == {
        f"own/{name}": 4 for name in ("four.long-2-10", "one.long-0-10", "three.long-2-10", "two.long-0-10")
    }
    pool = project.parquet("mine/construction/temporalbench/pool")
    kept_clips = pool.filter(filter="")
    assert kept_clips.height and kept_clips["shots"].null_count() == kept_clips["motion"].null_count() == 0
    cuts = project.parquet("mine/construction/temporalbench/clips/0").filter(status="ok")
    objects = [project.root / "resources/store" / name for name in cuts["object"]]
    assert "freed" in project.call_reprise("store", "--prune", "--yes", "--used-by", ".") and all(
        path.is_file() for path in objects
    )
    objects[0].unlink()
    page = "results/mine/construction/temporalbench/statistics.md"
    process = project.snakemake(page, "--forcerun", "construction_clip_metadata", "--config", "suite=mine")
    assert process.returncode == 0 and objects[0].is_file(), printed_text(process)
    line = f"Construction of temporalbench: {kept_clips.height} of {pool.height} rows kept before texts are written"
    assert line in printed_text(process)
    project.edit("my/events/events.csv", "blink", "yodel")
    process = project.snakemake("results/mine/construction/velociti/written.parquet", "--config", "suite=mine")
    assert "`reprise runs` lists" in printed_text(process)
    output = project.call_reprise("runs", "--config", "suite=mine")
    assert "round 1 of writing velociti by toy-writer: " in output and "no words for yodel" in output


TUTORIAL, WHY = Page("tutorial.md"), Page("howto/why-wrong.md")
ITEM = "agent_random/v_toyqeiWQeUI_seg_14_24/Ev1/1"


@pytest.fixture(scope="module")
def after_tutorial(finished_demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return the demo copy after the tutorial. Its `fps8` samples 3 frames a second to save time."""
    project = copy_of(finished_demo, tmp_path_factory.mktemp("tutored"))
    project.edit("config/suites/demo.yaml", "run: [oracle]", "run: [toy-llava-ov]")
    project.edit("config/config.yaml", "fps8: {rule: fps_mid, fps: 8}", "fps8: {rule: fps_mid, fps: 3}")
    TUTORIAL.play(project)
    return project


def test_the_tutorial_ends_with_a_changed_table(after_tutorial: Project) -> None:
    assert {row for row, _ in table_values(after_tutorial, "velociti/table9")} == {"1fps", "2fps", "8fps"}
    logs = list((after_tutorial.root / "results/demo/logs/infer/velociti").rglob("*.log"))
    assert len(logs) == 3 and not any("loading the model" in log.read_text() for log in logs), (
        "no model is loaded, as all answers are cached"
    )


def test_finding_why_an_answer_is_wrong(after_tutorial: Project) -> None:
    wrong_answers, item_page = WHY.play(after_tutorial)
    assert f"{ITEM}#pos" in wrong_answers and "answers are right" in wrong_answers
    (page_output,) = [block.text for block in WHY.blocks if block.language == "text"]
    assert [line for line in page_output.splitlines() if line not in item_page] == []
    assert (after_tutorial.root / "results/demo/frames/preview/velociti/toyqeiWQeUI.14-24.fps1.png").is_file()

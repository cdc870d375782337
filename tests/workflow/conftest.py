"""Fixtures with copies of the project that have a small suite: real clips, released rows, baselines instead of models."""

import csv
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

import polars as pl
import pytest
from filelock import FileLock
from reprise.__main__ import app
from reprise.core.files import file_digest

from tests.unit.fetch.server import Behaviour, serve_paths
from tests.unit.videos import run_ffmpeg
from tests.workflow.warm import LONGEST_S, run_module

ROOT = Path(__file__).parents[2]
COPIED = ("Snakefile", "workflow", "config", "profiles", *(f"resources/{name}" for name in ("prompts", "runners", "published", "subsets", "rehearsal")))  # fmt: skip
FULL = "--logger-reprise-full"  # Snakemake's own output, which names every job
JOB = re.compile(r"^ *(?:local)?rule (\w+):$", re.MULTILINE)
COMMIT = "0123456789abcdef0123456789abcdef01234567"
SUITE = """\
title: Small
show_published: false
run: [local]
shards: 2
missing_share_max: 0.5
benchmarks:
  velociti:
    tables: config/tables/small.yaml
    figures: config/figures/small.yaml
    release: {kind: folder, path: release}
    clips: ids
    route: {kind: folder, path: videos, pattern: "{source_id}.mp4"}
    subset: {per_test: 2}
"""
TABLES = """\
benchmark: velociti
tables:
  table2:
    title: StrictVLE
    caption: Strict.
    metrics: [strict]
    columns: [{title: Ctrl, group: control}, {title: Avg, group: average}]
    sections:
      - protocol: entail
        sampling: fps1
        rows:
          - {label: Random, chance: true}
          - {label: Oracle, model: oracle}
          - {label: Always Yes, model: always-first}
  table5:
    title: Choice
    caption: Choice.
    metrics: [mc_a]
    columns: [{title: A, group: average}, {title: B, metrics: [mc_b], group: average}, {title: Both, metrics: [mc_both], group: average}]
    sections: [{protocol: mc, sampling: fps1, rows: [{label: Always A, model: always-first}, {label: Draws, model: random}]}]
  table11:
    title: Counts
    caption: Counts.
    columns: [{title: Samples, metrics: [samples], decimals: 0}]
    sections: [{rows: [{label: Ctrl, dataset: true, group: control}]}]
"""
FIGURES = """\
benchmark: velociti
figures:
  fig3: {kind: scatter, title: Scores, caption: Scores., across: pos, up: neg, of: [{table: table2, rows: [Oracle, Always Yes]}]}
  own_strict: {kind: points, title: Strict, caption: Strict., of: [{table: table2}]}
"""
AVERAGE = "columns: [{title: Avg, group: average}]"
TOY_TABLES = f"""\
benchmark: velociti
tables:
  table2:
    title: StrictVLE
    caption: Strict.
    metrics: [strict]
    {AVERAGE}
    sections: [{{protocol: entail, sampling: fps1, rows: [{{label: Toy, model: toy-llava-ov}}, {{label: Oracle, model: oracle}}]}}]
  table3:
    title: Choice
    caption: Choice.
    metrics: [mc_both]
    {AVERAGE}
    sections: [{{protocol: mc, sampling: fps1, rows: [{{label: Toy, model: toy-llava-ov}}]}}]
overview: {{table: table2, protocol: entail, protocol_without_scores: entail.frames, sampling: fps1, columns: [{{title: Strict, metrics: [strict], group: average}}]}}
"""


CompletedRun = subprocess.CompletedProcess[str]


def printed_text(process: CompletedRun) -> str:
    """Return everything that a process printed."""
    return process.stdout + process.stderr


@dataclass
class Project:
    """A copy of the project in a test's folder, or a working directory that uses the library of another folder."""

    root: Path
    library: Path | None = field(default=None, kw_only=True)

    def module(self, *command: str, **environment: str) -> CompletedRun:
        """Run `python -m` in the copy, with the copy's library."""
        return run_module(command, self.root, self.environment | environment)

    def snakemake(self, *arguments: str, **environment: str) -> CompletedRun:
        return self.module("snakemake", "--cores", "2", *arguments, **environment)

    def reprise(self, *command: str) -> CompletedRun:
        return self.module("reprise", *command)

    def run(self, command: Sequence[str], **environment: str) -> CompletedRun:
        """Run a command in the copy in a new process."""
        return subprocess.run(
            command,
            cwd=self.root,
            env=self.environment | environment,
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
        )

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of the copy. Bytecode is always written, because hundreds of processes import the library."""
        return os.environ | {"PYTHONPATH": str((self.library or self.root) / "workflow"), "PYTHONDONTWRITEBYTECODE": ""}

    def reprise_output(self, *command: str) -> str:
        """Return the output of a `reprise` command of the copy's library, which must succeed."""
        process = self.reprise(*command)
        assert process.returncode == 0, printed_text(process)
        return process.stdout

    def call_reprise(self, *command: str) -> str:
        """Return the output of a `reprise` command in this process, for copies whose library is unchanged."""
        with chdir(self.root), redirect_stdout(StringIO()) as stream:
            app(command, standalone_mode=False)
        return stream.getvalue()

    def run_failing(self, *arguments: str) -> str:
        """Return the output of a `snakemake` run, which must fail without a traceback."""
        output = printed_text(process := self.snakemake(*arguments))
        assert process.returncode != 0 and "Traceback (most recent" not in output, output
        return output

    def run_rules(self, *arguments: str) -> list[str]:
        """Run `snakemake`, which must succeed, and return the rules of the jobs that ran."""
        output = printed_text(process := self.snakemake(FULL, *arguments))
        assert process.returncode == 0, output
        return sorted(JOB.findall(output))

    def plan_rules(self, *arguments: str) -> list[str]:
        """Return the rules of the jobs that a dry run lists."""
        return self.run_rules("--dry-run", *arguments)

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.root / name
        text = path.read_text()
        assert old in text, f"{name} does not contain {old!r}"
        path.write_text(text.replace(old, new, 1))

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def write_rows(self, name: str, rows: Sequence[Sequence[str]]) -> None:
        text = StringIO()
        csv.writer(text, delimiter="\t" if name.endswith(".tsv") else ",", lineterminator="\n").writerows(rows)
        self.write(name, text.getvalue())

    def text(self, name: str) -> str:
        return (self.root / name).read_text()

    def rows(self, name: str) -> list[dict[str, str]]:
        """Return the rows of a csv file."""
        with (self.root / name).open() as stream:
            return list(csv.DictReader(stream))

    def cells(self, table: str) -> dict[tuple[str, str], dict[str, str]]:
        """Return the cells of a tidy table by row label and column, in the `fixed` convention."""
        rows = self.rows(f"results/tables/{table}.csv")
        return {(row["row"], row["column"]): row for row in rows if row["convention"] != "authors"}

    def digests(self, stage: str) -> dict[str, tuple[str, int]]:
        """Return the digest and the modification time of each result table of a stage of the small suite."""
        folder = self.root / "results/small" / stage
        tables = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*.parquet"))}
        return {name: (file_digest(path), path.stat().st_mtime_ns) for name, path in tables.items()}

    def parquet(self, name: str) -> pl.DataFrame:
        return pl.read_parquet(self.root / "results" / f"{name}.parquet")


def make_video(path: Path, seconds: int, pattern: str = "testsrc2") -> None:
    """Write an H.264 video."""
    path.parent.mkdir(parents=True, exist_ok=True)
    source = f"{pattern}=size=128x128:rate=24:duration={seconds}"
    options = ("-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-threads", "1")
    run_ffmpeg("-f", "lavfi", "-i", source, *options, path)


def copy_project(target: Path) -> Project:
    for name in COPIED:
        source, copy = ROOT / name, target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy)  # Includes bytecode; otherwise each job would compile the library again.
        else:
            shutil.copy2(source, copy)
    project = Project(target)
    project.edit("profiles/default/config.yaml", "300/3s", "300/1s")  # Each run waits for this interval at its end.
    return project


def small_rows() -> list[list[str]]:
    """Return four samples per test, on two clips of one source video and one clip of another."""
    tests = ["control", "agent_random", "agent_bind", "coref", "action_adv", "action_manner", "action_bind", "chrono"]
    clips = ["v_aaaaaaaaaaa_seg_0_10", "v_aaaaaaaaaaa_seg_10_20", "v_bbbbbbbbbbb_seg_2_12"]
    return [
        [test, clips[i % 3], f"Ev{i + 1}", f"{test} {i} holds", f"{test} {i} fails"] for test in tests for i in range(4)
    ]


def small_suite(project: Project) -> Project:
    """Add a suite with real files to the copy and configure the copy to use it."""
    project.write("config/suites/small.yaml", SUITE)
    project.write("config/tables/small.yaml", TABLES)
    project.write("config/figures/small.yaml", FIGURES)
    project.edit("config/config.yaml", "suite: demo", "suite: small")
    project.write_rows("release/rows.csv", [["test_name", "video_id", "event", "pos", "neg"], *small_rows()])
    make_video(project.root / "videos/aaaaaaaaaaa.mp4", 21)
    make_video(project.root / "videos/bbbbbbbbbbb.mp4", 13, "testsrc")
    return project


def build_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Project], object]) -> Path:
    """Return a copy of the project on which `make` ran once, in the first test process that needs it."""
    base = factory.getbasetemp()
    folder = (base if "PYTEST_XDIST_WORKER" not in os.environ else base.parent) / name
    with FileLock(folder.with_suffix(".lock")):
        if not (folder / "complete").exists():
            make(copy_project(folder / "project"))
            (folder / "complete").touch()
    return folder / "project"


def copy_of(finished: Path, folder: Path) -> Project:
    """Copy a project for a test that may change it. The copy keeps file times, so no result is out of date."""
    folder.mkdir(exist_ok=True)
    subprocess.run(["cp", "-a", str(finished), str(folder / "project")], check=True)
    return Project(folder / "project")


@pytest.fixture(scope="session")
def finished_small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy whose small suite has been run; tests that change it use copies."""
    return build_once(tmp_path_factory, "small", lambda project: small_suite(project).run_rules())


@pytest.fixture
def small(finished_small: Path, tmp_path: Path) -> Project:
    return copy_of(finished_small, tmp_path)


@pytest.fixture(scope="session")
def prepared_small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy with the small suite, which has not been run."""
    return build_once(tmp_path_factory, "prepared", small_suite)


@pytest.fixture
def fresh(prepared_small: Path, tmp_path: Path) -> Project:
    return copy_of(prepared_small, tmp_path)


def toy_suite(project: Project) -> Project:
    """Add the small suite with the early toy checkpoint as one of its models."""
    small_suite(project)
    project.write("config/tables/small.yaml", TOY_TABLES)
    project.edit("config/suites/small.yaml", "    figures: config/figures/small.yaml\n", "")
    shutil.copytree(ROOT / "resources/demo/checkpoints", project.root / "resources/demo/checkpoints")
    project.edit("config/models/toy-llava-ov.yaml", "checkpoints/llava-ov-late", "checkpoints/llava-ov-early")
    return project


def construction_suite(folder: Path, benchmark: str, tables: str) -> Project:
    """Return a copy whose suite constructs one benchmark, with the demo's reviews."""
    project, suite = copy_project(folder / "project"), "config/suites/construction.yaml"
    project.edit("config/config.yaml", "suite: demo", "suite: construction")
    suite_head, *benchmarks = re.split(r"^(?=  \w+:\n)", project.text(suite), flags=re.MULTILINE)
    project.write(suite, suite_head + next(text for text in benchmarks if text.startswith(f"  {benchmark}:")))
    project.write(f"config/tables/construction/{benchmark}.yaml", tables)
    reviews = f"resources/demo/reviews/{benchmark}"
    shutil.copytree(ROOT / reviews, project.root / reviews)
    return project


@pytest.fixture(scope="session")
def finished_toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_once(tmp_path_factory, "toy", lambda project: toy_suite(project).run_rules())


@pytest.fixture
def toy(finished_toy: Path, tmp_path: Path) -> Project:
    return copy_of(finished_toy, tmp_path)


class AnyRepository(dict[str, Behaviour]):
    """A hub that answers each request for a repository's main commit."""

    def get(self, path: str, default: Behaviour | None = None) -> Behaviour:  # type: ignore[override]
        name = path.split("/api/")[1].split("/", 1)[1].removesuffix("/revision/main")
        body = json.dumps({"id": name, "sha": COMMIT, "siblings": [], "tags": []})
        return Behaviour(body.encode(), content_type="application/json")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with serve_paths(AnyRepository()) as (url, _):
        monkeypatch.setenv("HF_ENDPOINT", url)
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        yield url

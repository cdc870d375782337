"""A copy of the project with a small suite of its own: real clips, released rows, baselines instead of models."""

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

from tests.unit.fetch.server import Behaviour, serving
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
  own_strict: {kind: bars, title: Strict, caption: Strict., of: [{table: table2}]}
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
overview: {{table: table2, protocol: entail, sampling: fps1, columns: [{{title: Strict, metrics: [strict], group: average}}]}}
"""


Done = subprocess.CompletedProcess[str]


def both(done: Done) -> str:
    """What a process printed."""
    return done.stdout + done.stderr


@dataclass
class Project:
    """A copy of the project in a folder of the test, or a folder that is worked in by the library of another place."""

    root: Path
    library: Path | None = field(default=None, kw_only=True)

    def module(self, *command: str, **environment: str) -> Done:
        """Run `python -m` in the copy, with the copy's own library."""
        return run_module(command, self.root, self.environment | environment)

    def snakemake(self, *arguments: str, **environment: str) -> Done:
        return self.module("snakemake", "--cores", "2", *arguments, **environment)

    def reprise(self, *command: str) -> Done:
        return self.module("reprise", *command)

    def run(self, command: Sequence[str], **environment: str) -> Done:
        """Run a command in the copy, in a process of its own."""
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
        """The library is compiled once, whatever the machine says: hundreds of processes import it."""
        return os.environ | {"PYTHONPATH": str((self.library or self.root) / "workflow"), "PYTHONDONTWRITEBYTECODE": ""}

    def said(self, *command: str) -> str:
        """What a command of the copy's own library says that succeeds."""
        done = self.reprise(*command)
        assert done.returncode == 0, both(done)
        return done.stdout

    def called(self, *command: str) -> str:
        """The same without a process of its own, where the copy's library is as the project's."""
        with chdir(self.root), redirect_stdout(StringIO()) as said:
            app(command, standalone_mode=False)
        return said.getvalue()

    def refused(self, *arguments: str) -> str:
        """What a run says that fails."""
        said = both(done := self.snakemake(*arguments))
        assert done.returncode != 0 and "Traceback (most recent" not in said, said
        return said

    def made(self, *arguments: str) -> list[str]:
        """Run to success; the rules of the jobs that ran."""
        said = both(done := self.snakemake(FULL, *arguments))
        assert done.returncode == 0, said
        return sorted(JOB.findall(said))

    def planned(self, *arguments: str) -> list[str]:
        """The rules of the jobs that a dry run lists."""
        return self.made("--dry-run", *arguments)

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.root / name
        text = path.read_text()
        assert old in text, f"{name} does not hold {old!r}"
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
        """The rows of a csv."""
        with (self.root / name).open() as stream:
            return list(csv.DictReader(stream))

    def cells(self, table: str) -> dict[tuple[str, str], dict[str, str]]:
        """Those of a tidy table by row label and column, as the fixed convention has them."""
        rows = self.rows(f"results/tables/{table}.csv")
        return {(row["row"], row["column"]): row for row in rows if row["convention"] != "authors"}

    def digests(self, stage: str) -> dict[str, tuple[str, int]]:
        """Digest and time of every table of a stage of the small suite."""
        folder = self.root / "results/small" / stage
        tables = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*.parquet"))}
        return {name: (file_digest(path), path.stat().st_mtime_ns) for name, path in tables.items()}

    def parquet(self, name: str) -> pl.DataFrame:
        return pl.read_parquet(self.root / "results" / f"{name}.parquet")


def make_video(path: Path, seconds: int, pattern: str = "testsrc2") -> None:
    """A real h264 file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    source = f"{pattern}=size=128x128:rate=24:duration={seconds}"
    options = ("-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-threads", "1")
    run_ffmpeg("-f", "lavfi", "-i", source, *options, path)


def copy_project(target: Path) -> Project:
    for name in COPIED:
        source, copy = ROOT / name, target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy)  # with what Python has compiled: every job would do it again
        else:
            shutil.copy2(source, copy)
    project = Project(target)
    project.edit("profiles/default/config.yaml", "300/3s", "300/1s")  # at its end each small run waits for so long
    return project


def small_rows() -> list[list[str]]:
    """Two clips of one source video and one of another; four samples a test."""
    tests = ["control", "agent_random", "agent_bind", "coref", "action_adv", "action_manner", "action_bind", "chrono"]
    clips = ["v_aaaaaaaaaaa_seg_0_10", "v_aaaaaaaaaaa_seg_10_20", "v_bbbbbbbbbbb_seg_2_12"]
    return [
        [one, clips[i % 3], f"Ev{i + 1}", f"{one} {i} holds", f"{one} {i} fails"] for one in tests for i in range(4)
    ]


def small_suite(project: Project) -> Project:
    """Give the copy a suite of real files and make it the configured one."""
    project.write("config/suites/small.yaml", SUITE)
    project.write("config/tables/small.yaml", TABLES)
    project.write("config/figures/small.yaml", FIGURES)
    project.edit("config/config.yaml", "suite: demo", "suite: small")
    project.write_rows("release/rows.csv", [["test_name", "video_id", "event", "pos", "neg"], *small_rows()])
    make_video(project.root / "videos/aaaaaaaaaaa.mp4", 21)
    make_video(project.root / "videos/bbbbbbbbbbb.mp4", 13, "testsrc")
    return project


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Project], object]) -> Path:
    """A copy of the project that is worked on once, by the first of the processes that run tests."""
    own = factory.getbasetemp()
    place = (own if "PYTEST_XDIST_WORKER" not in os.environ else own.parent) / name
    with FileLock(place.with_suffix(".lock")):
        if not (place / "made").exists():
            make(copy_project(place / "project"))
            (place / "made").touch()
    return place / "project"


def own_copy(finished: Path, place: Path) -> Project:
    """A finished suite that a test may change; times are kept, so nothing is out of date."""
    place.mkdir(exist_ok=True)
    subprocess.run(["cp", "-a", str(finished), str(place / "project")], check=True)
    return Project(place / "project")


@pytest.fixture(scope="session")
def finished_small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy whose small suite has been run once; tests take their own copies of it."""
    return made_once(tmp_path_factory, "small", lambda project: small_suite(project).made())


@pytest.fixture
def small(finished_small: Path, tmp_path: Path) -> Project:
    return own_copy(finished_small, tmp_path)


@pytest.fixture(scope="session")
def prepared_small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with the small suite, nothing run."""
    return made_once(tmp_path_factory, "prepared", small_suite)


@pytest.fixture
def fresh(prepared_small: Path, tmp_path: Path) -> Project:
    return own_copy(prepared_small, tmp_path)


def toy_suite(project: Project) -> Project:
    """The small suite with a toy checkpoint as one of its models, in its early state."""
    small_suite(project)
    project.write("config/tables/small.yaml", TOY_TABLES)
    project.edit("config/suites/small.yaml", "    figures: config/figures/small.yaml\n", "")
    shutil.copytree(ROOT / "resources/demo/checkpoints", project.root / "resources/demo/checkpoints")
    project.edit("config/models/toy-llava-ov.yaml", "checkpoints/llava-ov-late", "checkpoints/llava-ov-early")
    return project


def construction_suite(folder: Path, benchmark: str, tables: str) -> Project:
    """A copy whose suite makes one benchmark alone, before people have seen anything but what the demo's reviewers did."""
    project, suite = copy_project(folder / "project"), "config/suites/construction.yaml"
    project.edit("config/config.yaml", "suite: demo", "suite: construction")
    head, *benchmarks = re.split(r"^(?=  \w+:\n)", project.text(suite), flags=re.MULTILINE)
    project.write(suite, head + next(one for one in benchmarks if one.startswith(f"  {benchmark}:")))
    project.write(f"config/tables/construction/{benchmark}.yaml", tables)
    reviews = f"resources/demo/reviews/{benchmark}"
    shutil.copytree(ROOT / reviews, project.root / reviews)
    return project


@pytest.fixture(scope="session")
def finished_toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "toy", lambda project: toy_suite(project).made())


@pytest.fixture
def toy(finished_toy: Path, tmp_path: Path) -> Project:
    return own_copy(finished_toy, tmp_path)


class AnyRepository(dict[str, Behaviour]):
    """Answers what a hub answers when it is asked for a repository's main commit."""

    def get(self, path: str, default: Behaviour | None = None) -> Behaviour:  # type: ignore[override]
        name = path.split("/api/")[1].split("/", 1)[1].removesuffix("/revision/main")
        body = json.dumps({"id": name, "sha": COMMIT, "siblings": [], "tags": []})
        return Behaviour(body.encode(), kind="application/json")


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with serving(AnyRepository()) as (url, _):
        monkeypatch.setenv("HF_ENDPOINT", url)
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        yield url

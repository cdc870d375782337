"""A copy of the project with a small suite of its own: real clips, released rows, baselines instead of models."""

import csv
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from filelock import FileLock
from reprise.media.ffmpeg import QUIET, ffmpeg_executable

from tests.workflow.warm import LONGEST_S, run_module

ROOT = Path(__file__).parents[2]
RESOURCES = ("prompts", "programs", "published", "subsets", "rehearsal")
COPIED = ("Snakefile", "workflow", "config", "profiles", *(f"resources/{name}" for name in RESOURCES))
FULL = "--logger-reprise-full"  # Snakemake's own output, which names every job
JOB = re.compile(r"^(?:local)?rule (\w+):$", re.MULTILINE)
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
    columns:
      - {title: A, metrics: [mc_a], group: average}
      - {title: B, metrics: [mc_b], group: average}
      - {title: Both, metrics: [mc_both], group: average}
    sections:
      - protocol: mc
        sampling: fps1
        rows: [{label: Always A, model: always-first}, {label: Draws, model: random}]
  table11:
    title: Counts
    caption: Counts.
    columns: [{title: Samples, metrics: [samples], decimals: 0}]
    sections: [{rows: [{label: Ctrl, dataset: true, group: control}]}]
"""

FIGURES = """\
benchmark: velociti
figures:
  fig3:
    kind: scatter
    title: Scores
    caption: Scores.
    across: pos
    up: neg
    of: [{table: table2, rows: [Oracle, Always Yes]}]
  own_strict:
    kind: bars
    title: Strict
    caption: Strict.
    of: [{table: table2}]
"""

TOY_TABLES = """\
benchmark: velociti
tables:
  table2:
    title: StrictVLE
    caption: Strict.
    metrics: [strict]
    columns: [{title: Avg, group: average}]
    sections:
      - protocol: entail
        sampling: fps1
        rows:
          - {label: Toy, model: toy-llava-ov}
          - {label: Oracle, model: oracle}
  table3:
    title: Choice
    caption: Choice.
    metrics: [mc_both]
    columns: [{title: Both, group: average}]
    sections:
      - protocol: mc
        sampling: fps1
        rows: [{label: Toy, model: toy-llava-ov}]
  table6:
    title: Blind
    caption: Blind.
    metrics: [strict]
    columns: [{title: Avg, group: average}]
    sections:
      - protocol: entail
        rows: [{label: Oracle, model: oracle, sampling: none}]
overview:
  table: table2
  protocol: entail
  sampling: fps1
  columns: [{title: Strict, metrics: [strict], group: average}]
"""


@dataclass
class Project:
    """A copy of the project in a folder of the test, or a folder that is worked in by the library of another place."""

    root: Path
    library: Path | None = field(default=None, kw_only=True)

    def snakemake(
        self, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run snakemake in the copy, with the copy's own library."""
        return run_module(
            ["snakemake", "--cores", "2", *arguments], self.root, self.environment | dict(environment or {})
        )

    def reprise(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one of the library's commands in the copy."""
        return run_module(arguments, self.root, self.environment)

    def run(
        self, command: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the copy, in a process of its own."""
        return subprocess.run(
            command,
            cwd=self.root,
            env=self.environment | dict(environment or {}),
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"PYTHONPATH": str((self.library or self.root) / "workflow")}

    def made(self, *arguments: str) -> list[str]:
        """Run to success; the rules of the jobs that ran."""
        done = self.snakemake(FULL, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return sorted(JOB.findall(done.stdout + done.stderr))

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


def make_video(path: Path, seconds: int, pattern: str = "testsrc2") -> None:
    """A real h264 file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    source = f"{pattern}=size=128x128:rate=24:duration={seconds}"
    options = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-threads", "1"]
    subprocess.run([ffmpeg_executable(), *QUIET, "-y", "-f", "lavfi", "-i", source, *options, str(path)], check=True)


def copy_project(target: Path) -> Project:
    for name in COPIED:
        source, copy = ROOT / name, target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy)  # with what Python has compiled: every job would do it again
        else:
            shutil.copy2(source, copy)
    return Project(target)


def small_rows() -> list[list[str]]:
    """Two clips of one source video and one of another; four samples a test."""
    tests = ["control", "agent_random", "agent_bind", "coref", "action_adv", "action_manner", "action_bind", "chrono"]
    clips = ["v_aaaaaaaaaaa_seg_0_10", "v_aaaaaaaaaaa_seg_10_20", "v_bbbbbbbbbbb_seg_2_12"]
    return [
        [test, clips[i % 3], f"Ev{i + 1}", f"{test} {i} holds", f"{test} {i} fails"] for test in tests for i in range(4)
    ]


def small_suite(project: Project) -> Project:
    """Give the copy a suite of real files and make it the configured one."""
    project.write("config/suites/small.yaml", SUITE)
    project.write("config/tables/small.yaml", TABLES)
    project.write("config/figures/small.yaml", FIGURES)
    project.edit("config/config.yaml", "suite: demo", "suite: small")
    (project.root / "release").mkdir()
    with (project.root / "release/rows.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["test_name", "video_id", "event", "pos", "neg"], *small_rows()])
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


@pytest.fixture(scope="session")
def finished_toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "toy", lambda project: toy_suite(project).made())


@pytest.fixture
def toy(finished_toy: Path, tmp_path: Path) -> Project:
    return own_copy(finished_toy, tmp_path)


class Hub(BaseHTTPRequestHandler):
    """Answers what a hub answers when it is asked for a repository's main commit."""

    def do_GET(self) -> None:
        name = self.path.split("/api/")[1].split("/", 1)[1].split("?")[0].removesuffix("/revision/main")
        body = json.dumps({"id": name, "sha": COMMIT, "siblings": [], "tags": []}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the test's output is not a server's log."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    yield server.server_address[0]  # type: ignore[misc]
    server.shutdown()

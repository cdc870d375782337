"""The reduced suite, which passes every stage on a few seconds of video, and its runs."""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import yaml
from reprise.core.files import file_digest, text_digest

from tests.faults.plugged import REGISTRATION
from tests.unit.fetch.server import Behaviour, serving
from tests.unit.rows import PAIR_COLUMNS, QUESTION_COLUMNS
from tests.workflow.conftest import FULL, ROOT, Project, copy_project, make_video

CHECKPOINT = ROOT / "resources/demo/checkpoints/siglip"
REVISION = "0123456789abcdef0123456789abcdef01234567"
NEWER_REVISION = "76543210fedcba9876543210fedcba9876543210"
SUITE = """\
title: Reduced
show_published: true
run: [pixels, hub-siglip, o3, gpt-4v, gpt-4o, last-letter, toy-writer]
overview: [pixels]
shards: 2
missing_share_max: 0.0
benchmarks:
  vinoground:
    tables: config/tables/reduced_vinoground.yaml
    figures: config/figures/reduced_vinoground.yaml
    release: {kind: folder, path: release/vinoground}
    clips: ids
    route: {kind: folder, path: videos}
    judges: [last-letter]
  mmbench_video:
    tables: config/tables/reduced_mmbench.yaml
    release: {kind: folder, path: release/mmbench}
    clips: release
    route: {kind: folder, path: videos}
    judges: [gpt-4v, gpt-4o]
  velociti:
    tables: config/tables/reduced_velociti.yaml
    release: {kind: constructed}
    construction:
      kind: velociti
      annotations: {kind: folder, path: vidsitu}
      writer: toy-writer
      prompts: resources/prompts/construction/velociti.yaml
      per_video: 1
      review: {verdicts: "reviews/*.csv", undecided: keep}
    clips: ids
    route: {kind: folder, path: videos}
"""
VELOCITI = """\
benchmark: velociti
tables:
  table2:
    title: Strict
    caption: Strict.
    metrics: [strict]
    columns: [{title: Ctrl, group: control}]
    sections: [{protocol: entail, sampling: fps1, rows: [{label: Pixels, model: pixels}]}]
"""
VINOGROUND = """\
benchmark: vinoground
tables:
  table2:
    title: Pairs
    caption: Pairs.
    columns: [{title: Total, metrics: [pairs], group: all, decimals: 0}]
    sections: [{rows: [{label: Count, dataset: true}]}]
  table3:
    title: Scores
    caption: Scores.
    columns: [{title: text, metrics: [text], group: all}, {title: group, metrics: [group], group: all}]
    sections:
      - sampling: linspace4
        rows:
          - {label: Pixels, model: pixels, protocol: paper}
          - {label: Pixels by judge, model: pixels, protocol: cot.judged}
          - {label: SigLIP, model: hub-siglip, protocol: similarity}
overview:
  table: table3
  protocol: paper
  sampling: linspace4
  columns: [{title: text, metrics: [text], group: all}]
"""
FIGURES = """\
benchmark: vinoground
figures:
  fig1:
    kind: bars
    title: Scores
    caption: Scores.
    axis: score (%)
    of: [{table: table3, metrics: [text]}]
"""
MMBENCH = """\
benchmark: mmbench_video
tables:
  table3:
    title: Ratings
    caption: Ratings.
    columns: [{title: ALL, metrics: [mean], group: overall, decimals: 2}]
    sections: [{rows: [{label: Imported, model: o3, protocol: unpacked, sampling: none}]}]
"""
MODELS = {
    "pixels": "label: Pixels\nadapter: pixels\npieces: 2\nsettings: {seed: 0}\n",
    "hub-siglip": f"label: SigLIP\nadapter: contrastive\nrepo: toy/siglip\nrevision: {REVISION}\n",
}
PREVIEW = "results/reduced/frames/preview/vinoground/0.pos.linspace4.png"
AGREEMENT = "results/tables/judges.md"
FIGURE = "results/figures/vinoground/fig1.png"
REPORT = "results/report/index.html"
STARTED = re.compile(r"^(?:local)?rule (\w+):\n(?:    .*\n)*?    jobid: (\d+)$", re.MULTILINE)
ENDED = re.compile(r"^Finished jobid: (\d+)", re.MULTILINE)
PLANNED = re.compile(r"^(?:local)?rule (\w+):\n((?:    .*\n)+)", re.MULTILINE)
# They say how long something took.
TIMED = re.compile(r"timings|^\.?overview\.")
# In the report only these do: rows of a run's page, the overview's cells without a link, and these pages' digests.
TIMED_PARTS = {
    "results/report/runs/": re.compile(rb'<tr><th scope="row">(?:Time|Of which)</th>.*</tr>'),
    REPORT: re.compile(rb'<td class="right">[0-9.]+</td>'),
    "results/report/manifest.json": re.compile(rb'"(?:runs/[^"]*|index\.html)":"[0-9a-f]*"'),
}
TRACEBACK = "Traceback (most recent call last)"
UNLOCK = "--unlock"
LONGEST_S = 600
LONGEST_LAST_WORDS_S = 10  # of what a run started, something may hold the pipe
TOLERANT = {"failed_share_max": 0.5}


@dataclass(frozen=True)
class Job:
    """A job of the suite, as Snakemake plans it."""

    rule: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """How a run ended, and all that it printed."""

    returncode: int
    output: str

    @property
    def is_ok(self) -> bool:
        return self.returncode == 0

    @property
    def has_traceback(self) -> bool:
        return TRACEBACK in self.output

    def tail(self, lines: int = 60) -> str:
        return "\n".join(self.output.splitlines()[-lines:])


class Run:
    """A run of the suite in a process group of its own."""

    def __init__(self, command: Sequence[str], root: Path) -> None:
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  it lives as long as the run
        environment = os.environ | {"PYTHONPATH": str(root / "workflow")}
        # Through a pipe, as to a terminal: a limit of the size of files is not one of what the run may say.
        self._process = subprocess.Popen(
            command, cwd=root, env=environment, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            while said := os.read(stream.fileno(), 1 << 16):
                os.write(self._output.fileno(), said)

    def wait(self, longest_s: float = LONGEST_S) -> Outcome:
        try:
            code = self._process.wait(timeout=longest_s)
        except subprocess.TimeoutExpired:
            self.kill()
            return Outcome(-1, f"{self.output()}\nstill running after {longest_s:.0f} s\n")
        self._listener.join(LONGEST_LAST_WORDS_S)
        return Outcome(code, self.output())

    def output(self) -> str:
        return os.pread(self._output.fileno(), 1 << 24, 0).decode(errors="replace")

    def wait_for_jobs(self, count: int) -> bool:
        """Wait until so many jobs have started; False if the run ended before."""
        while len(self.started()) < count:
            if self._process.poll() is not None:
                return False
            time.sleep(0.01)
        return True

    def is_running(self) -> bool:
        return self._process.poll() is None

    def started(self) -> dict[str, str]:
        """Job id -> rule, of all jobs that have started."""
        return {job: rule for rule, job in STARTED.findall(self.output())}

    def running(self) -> list[str]:
        """The rules of the jobs that have started and not ended."""
        ended = set(ENDED.findall(self.output()))
        return [rule for job, rule in self.started().items() if job not in ended]

    def signal(self, number: signal.Signals) -> None:
        os.killpg(self._process.pid, number)

    def kill(self) -> None:
        """SIGKILL to the whole group, unless it has ended."""
        if self._process.poll() is None:
            self.signal(signal.SIGKILL)
        self._process.wait()


@dataclass
class Reduced(Project):
    """A copy of the project with the reduced suite."""

    targets: tuple[str, ...] = ("all", PREVIEW, AGREEMENT, FIGURE, REPORT)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "snakemake", "--cores", "2", FULL, *arguments]

    def start(self, *arguments: str, inside: Sequence[str] = ()) -> Run:
        """Start a run of everything, by a command that runs commands, if one is named."""
        return Run([*inside, *self.command(*self.targets, *arguments)], self.root)

    def run_suite(self, inside: Sequence[str] = ()) -> Outcome:
        """Run everything, with `--unlock` before it if Snakemake asks for that, as the manual says."""
        outcome = self.start(inside=inside).wait()
        if not outcome.is_ok and UNLOCK in outcome.output:
            Run(self.command(UNLOCK), self.root).wait()
            outcome = self.start(inside=inside).wait()
        return outcome

    def unlock(self) -> None:
        """What `--unlock` does, without planning all jobs before."""
        shutil.rmtree(self.root / ".snakemake/locks", ignore_errors=True)

    def finish(self) -> None:
        outcome = self.run_suite()
        assert outcome.is_ok, outcome.output

    def copy(self, target: Path) -> "Reduced":
        """A copy with the same times, so that nothing in it is out of date."""
        subprocess.run(["cp", "-a", "--reflink=auto", str(self.root), str(target)], check=True)
        return replace(self, root=target)

    def remove(self) -> None:
        shutil.rmtree(self.root)

    def jobs(self) -> list[Job]:
        """All jobs of the suite, by a dry run that takes nothing for finished."""
        outcome = self.start("--dry-run", "--forceall").wait()
        assert outcome.is_ok, outcome.output
        blocks = PLANNED.findall(outcome.output)
        return [Job(rule, _names(block, "input"), _names(block, "output")) for rule, block in blocks if rule != "all"]

    def numbers(self) -> dict[str, str]:
        """Digests of all results, from the answers to what people read; not of logs, and of how long something took."""
        files = [path for path in (self.root / "results").rglob("*") if path.is_file()]
        names = [(str(path.relative_to(self.root)), path) for path in files if not TIMED.search(path.name)]
        return {name: _digest(name, path) for name, path in names if "/logs/" not in name}


def _digest(name: str, path: Path) -> str:
    for begin, timed in TIMED_PARTS.items():
        if name.startswith(begin):
            return text_digest(timed.sub(b"", path.read_bytes()).decode("latin-1"))
    return file_digest(path)


def _names(block: str, key: str) -> tuple[str, ...]:
    found = re.search(rf"^    {key}: (.*)$", block, re.MULTILINE)
    return tuple(found[1].split(", ")) if found else ()


def plug_adapters(project: Project) -> None:
    """Give the copy the harness's adapters."""
    adapters = project.root / "workflow/reprise/models/adapters"
    shutil.copy2(Path(__file__).with_name("plugged.py"), adapters / "plugged.py")
    with (adapters / "__init__.py").open("a") as registry:
        registry.write(REGISTRATION)


def write_pairs(path: Path, count: int) -> None:
    """A release of Vinoground: pairs of spans of two videos."""
    rows = [
        [str(i), "action", "", "aaaaaaaaaaa", "0", "2", f"{i} eats", "bbbbbbbbbbb", "1", "3", f"{i} sleeps"]
        for i in range(count)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([PAIR_COLUMNS, *rows])


def write_annotations(project: Project) -> None:
    """VidSitu's annotations of a span of each video, in words that the writer knows."""
    clips = {"v_aaaaaaaaaaa_seg_0_2": ("red", "blue"), "v_bbbbbbbbbbb_seg_0_3": ("green", "white")}
    entries = [
        {
            f"Ev{place}": {
                "vid_seg_int": clip,
                "Verb": f"{verb} ({sense})",
                "VerbID": f"{verb}.01",
                "Args": {"Arg0 (agent)": f"the {colour} circle", "AMnr (manner)": "slowly"},
            }
            for place, (verb, sense, colour) in enumerate(
                [("grow", "growing", one), ("spin", "spinning", two), ("float", "floating up", one)], 1
            )
        }
        for clip, (one, two) in clips.items()
    ]
    for name, content in {"vseg_split_valid_lb": list(clips), "vsann_valid_lb": entries}.items():
        project.write(f"vidsitu/{name}.json", json.dumps(content))


def write_videos(project: Project) -> None:
    make_video(project.root / "videos/aaaaaaaaaaa.mp4", 3)
    make_video(project.root / "videos/bbbbbbbbbbb.mp4", 4, "testsrc")


def reduced_suite(root: Path) -> Reduced:
    """The suite, nothing run."""
    project = Reduced(copy_project(root).root)
    plug_adapters(project)
    for name, text in MODELS.items():
        project.write(f"config/models/{name}.yaml", text)
    project.write("config/suites/reduced.yaml", SUITE)
    project.write("config/suites/other.yaml", SUITE.replace("title: Reduced", "title: Other"))
    project.write("config/tables/reduced_vinoground.yaml", VINOGROUND)
    project.write("config/figures/reduced_vinoground.yaml", FIGURES)
    project.write("config/tables/reduced_mmbench.yaml", MMBENCH)
    project.write("config/tables/reduced_velociti.yaml", VELOCITI)
    project.edit("config/config.yaml", "suite: demo", "suite: reduced")
    write_videos(project)
    write_annotations(project)
    write_pairs(project.root / "release/vinoground/vinoground.csv", 2)
    questions = [[str(i), "a" * 11, "News", f"What is {i}?", f"circle {i}", "['OCR']", ""] for i in range(3)]
    _write_tsv(project, "release/mmbench/MMBench-Video.tsv", [QUESTION_COLUMNS, *questions])
    _write_tsv(project, IMPORTED.format("o3"), [["index", "prediction"], *([str(i), f"circle {i}"] for i in range(3))])
    ratings = [["index", "score"], *([str(i), str(i + 1)] for i in range(3))]
    for judge in ("gpt-4v", "gpt-4o"):
        _write_tsv(project, IMPORTED.format(judge).replace("none/", "none/o3/"), ratings)
    return project


def faulty_suite(project: Reduced, faults: Sequence[str]) -> Reduced:
    """Turn a copy into a suite whose models fail at some of their questions, each in one way."""
    for name in faults:
        model = f"label: {name}\nadapter: faulty\nsettings: {{fault: {name}}}\n"
        project.write(f"config/models/faulty-{name}.yaml", model)
    slugs = [f"faulty-{name}" for name in faults]
    rows = [{"label": slug, "model": slug, "protocol": "paper", "sampling": "linspace4"} for slug in slugs]
    suite, tables = yaml.safe_load(SUITE), yaml.safe_load(VINOGROUND)
    del (
        suite["benchmarks"]["mmbench_video"],
        suite["benchmarks"]["velociti"],
        suite["overview"],
        tables["tables"]["table2"],
    )
    tables["tables"]["table3"]["sections"] = [{"rows": rows}]
    project.write("config/suites/faulty.yaml", yaml.safe_dump(suite | {"run": slugs} | TOLERANT))
    project.write("config/tables/reduced_vinoground.yaml", yaml.safe_dump(tables))
    project.edit("config/config.yaml", "suite: reduced", "suite: faulty")
    write_pairs(project.root / "release/vinoground/vinoground.csv", 12)
    return replace(project, targets=("all",))


IMPORTED = "resources/imports/mmbench_video/{}/unpacked/none/answers.tsv"


def _write_tsv(project: Project, name: str, rows: Sequence[Sequence[str]]) -> None:
    path = project.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as stream:
        csv.writer(stream, delimiter="\t").writerows(rows)


@contextmanager
def hub_of_weights() -> Iterator[str]:
    """A server that shows the tiny checkpoint as a repository of the hub, at two revisions."""
    files = {path.name: path.read_bytes() for path in sorted(CHECKPOINT.iterdir())}
    served = {}
    for revision in (REVISION, NEWER_REVISION):
        listing = [{"type": "file", "path": name, "size": len(content), "oid": text_digest(name)[:40]}
                   for name, content in files.items()]  # fmt: skip
        served[f"/api/models/toy/siglip/tree/{revision}"] = Behaviour(
            json.dumps(listing).encode(), kind="application/json"
        )
        for name, content in files.items():
            headers = {"ETag": f'"{text_digest(name)[:40]}"', "X-Repo-Commit": revision}
            path = f"/toy/siglip/resolve/{revision}/{name}"
            served[path] = Behaviour(content, headers=headers, kind="application/octet-stream")
    with serving(served) as (url, _):
        yield url

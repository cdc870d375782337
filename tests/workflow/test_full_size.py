"""Test the plan of the full paper suite with all models pinned, on a machine without videos."""

import json
import re
import shutil
import sys
from collections import Counter

import pytest
import yaml

from tests.workflow.conftest import COMMIT, FULL, JOB, ROOT, Project, copy_project

BENCHMARKS = ("velociti", "vinoground", "temporalbench", "mmbench_video")
UNPINNED = re.compile(r"\bunpinned\b")
JOB_BENCHMARK = re.compile(r"^    wildcards: .*\bbenchmark=(\w+)", re.MULTILINE)
SHARDS = 60
MAX_JOBS = 550
# CPU time is 5 s on an idle machine, and up to three times as much on a busy one.
MAX_SECONDS, MAX_MB = 30, 300
MEASURE = """\
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
out = done.stdout + done.stderr
print(json.dumps([done.returncode, out, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a copy whose paper suite runs all models, with all revisions pinned."""
    project = copy_project(tmp_path_factory.mktemp("full") / "project")
    shutil.copytree(ROOT / "envs", project.root / "envs")
    for path in (project.root / "config").rglob("*.yaml"):
        path.write_text(UNPINNED.sub(COMMIT, path.read_text()))
    for path in (project.root / "config/models").iterdir():
        model = yaml.safe_load(path.read_text())
        if "checkpoint" in model:  # Local weights are an empty file here.
            for name in ["model.safetensors", *model.get("served_by", {}).get("runner_files", [])]:
                project.write(f"{model['checkpoint']}/{name}", "")
    suite = yaml.safe_load(project.text("config/suites/paper.yaml"))
    suite |= {"run": ["all"], "judges": ["wordmatch"], "budget_usd": 1e6, "budget_tokens": 10**12}
    suite["benchmarks"]["vinoground"]["judges"] = ["last-letter"]
    project.write("config/suites/paper.yaml", yaml.safe_dump(suite, sort_keys=False))
    project.edit("config/suites/rehearsal.yaml", "shards: 4", f"shards: {SHARDS}")
    return project


@pytest.mark.parametrize(("suite", "runs", "judges"), [("paper", 130, 10), ("rehearsal", 250, 50)])
def test_everything_is_planned_without_a_video(full: Project, suite: str, runs: int, judges: int) -> None:
    """The plan needs few jobs per benchmark, little time and little memory."""
    command = [sys.executable, "-m", "snakemake", "-n", "--cores", "2", FULL, "--config", f"suite={suite}"]
    process = full.run([sys.executable, "-c", MEASURE, *command])
    code, text, seconds, mb = json.loads(process.stdout)
    assert code == 0, text
    jobs, jobs_by_benchmark = Counter(JOB.findall(text)), Counter(JOB_BENCHMARK.findall(text))
    assert jobs["infer"] > runs and jobs["judge"] >= judges
    assert jobs["sources"] == jobs["clips"] == SHARDS * len(BENCHMARKS)
    assert (
        jobs_by_benchmark.keys() == set(BENCHMARKS) and max(jobs_by_benchmark.values()) + jobs["weights"] <= MAX_JOBS
    ), jobs_by_benchmark
    assert seconds < MAX_SECONDS and mb < MAX_MB, (jobs, seconds, mb)

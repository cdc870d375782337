"""The paper suite with everything running, on a machine that has none of the videos: a site that has pinned all."""

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
OF_BENCHMARK = re.compile(r"^    wildcards: .*\bbenchmark=(\w+)", re.MULTILINE)
SHARDS = 60
MOST_JOBS = 550
# 5 s on an idle machine; processor time on one that others use is two or three times as much.
MOST_SECONDS, MOST_MB = 30, 300
MEASURE = """\
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
out = done.stdout + done.stderr
print(json.dumps([done.returncode, out, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy whose paper suite runs every model that is asked, all of it pinned."""
    project = copy_project(tmp_path_factory.mktemp("full") / "project")
    shutil.copytree(ROOT / "envs", project.root / "envs")
    for path in (project.root / "config").rglob("*.yaml"):
        path.write_text(UNPINNED.sub(COMMIT, path.read_text()))
    for path in (project.root / "config/models").iterdir():
        model = yaml.safe_load(path.read_text())
        if "checkpoint" in model:  # weights that a site has put there
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
    """In few jobs a paper, with a job a shard, whose number the site chooses; in little time and memory."""
    command = [sys.executable, "-m", "snakemake", "-n", "--cores", "2", FULL, "--config", f"suite={suite}"]
    done = full.run([sys.executable, "-c", MEASURE, *command])
    code, text, seconds, mb = json.loads(done.stdout)
    assert code == 0, text
    jobs, of_paper = Counter(JOB.findall(text)), Counter(OF_BENCHMARK.findall(text))
    assert jobs["infer"] > runs and jobs["judge"] >= judges
    assert jobs["sources"] == jobs["clips"] == SHARDS * len(BENCHMARKS)
    assert of_paper.keys() == set(BENCHMARKS) and max(of_paper.values()) + jobs["weights"] <= MOST_JOBS, of_paper
    assert seconds < MOST_SECONDS and mb < MOST_MB, (jobs, seconds, mb)

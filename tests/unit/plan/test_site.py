"""The site that jobs are submitted to: its file, the calls that submit, what fits where, and what Slurm prints."""

from pathlib import Path

import pytest
from reprise.config.model import Model
from reprise.config.problems import read
from reprise.core.errors import UserError
from reprise.plan.site import PartitionLimits, Site, partitions_file, partitions_in, problems, site_of

SITE = Site(
    partitions={
        "cpu": PartitionLimits(max_runtime=60, max_mem_mb=4000, max_threads=16),
        "gpu": PartitionLimits(max_runtime=600, max_mem_mb=64000, max_threads=6, max_gpu=1),
        "big": PartitionLimits(max_runtime=300, max_mem_mb=512000, max_threads=32, max_gpu=4),
    }
)


@pytest.fixture(autouse=True)
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("profiles/cluster/config.yaml")
    path.parent.mkdir(parents=True)
    path.write_text("executor: slurm\nslurm-partition-config: here.yaml\n")


@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        ("--workflow-profile profiles/cluster", "here.yaml"),
        ("--workflow-profile cluster --slurm-partition-config=other.yaml", "other.yaml"),
        ("--workflow-profile cluster --executor local", None),
        ("--executor slurm --slurm-partition-config other.yaml", "other.yaml"),
        ("", None),
    ],
)
def test_which_file_a_call_means(arguments: str, file: str | None) -> None:
    assert partitions_file(["snakemake", *arguments.split()]) == (Path(file) if file else None)


def test_a_dry_run_needs_no_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("here.yaml").write_text("partitions:\n  cpu: {max_runtime: 60}\n")
    monkeypatch.setenv("PATH", "/nonexistent")
    call = ["snakemake", "--workflow-profile", "cluster"]
    for look in ("-n", "--dry-run", "-np", "--unlock"):
        assert site_of([*call, look]) == Site(partitions={"cpu": PartitionLimits(max_runtime=60)})
    with pytest.raises(UserError, match=r"no Slurm here: there is no command 'sinfo'.*without `--workflow-profile"):
        site_of(call)


def test_a_wrong_file_is_named_with_its_line() -> None:
    Path("here.yaml").write_text("partitions:\n  gpu: {max_gpus: 4}\n")
    with pytest.raises(UserError, match="line 2: partitions.gpu.max_gpus: .*Did you mean 'max_gpu'"):
        read(Site, Path("here.yaml"))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"gpus": 4, "memory_mb": 500000}, None),
        ({"gpus": 8}, "gpus: 8: no partition has a node with so many; the most is max_gpu: 4."),
        ({"gpus": 1, "memory_mb": 600000}, "memory_mb: 600000: the most of partitions gpu, big is max_mem_mb: 512000."),
        ({"memory_mb": 5000}, "memory_mb: 5000: the most of partition cpu is max_mem_mb: 4000."),
        ({"gpus": 1, "threads": 40}, "its job takes 40 CPUs: the most of partitions gpu, big is max_threads: 32."),
    ],
)
def test_what_no_partition_can_hold(settings: dict[str, int], words: str | None) -> None:
    model = Model.model_validate({"label": "M", "adapter": "random", **settings})
    assert list(problems(model, SITE)) == ([words] if words else [])


# Of Slurm 22.05.8 with two nodes that have a GPU and one that has none (tests/cluster/slurm.py).
RECORDED = "accel|up|2:00:00|8|8000|gpu:1\nshort*|up|1:00:00|8|8000|(null)\naccel|up|2:00:00|8|8000|gpu:1\n"


def test_the_partitions_of_a_real_slurm() -> None:
    assert partitions_in(f"{RECORDED}old|down|1:00|8|8000|(null)\n") == {
        "accel": PartitionLimits(max_runtime=120, max_mem_mb=8000, max_threads=8, max_gpu=1),
        "short": PartitionLimits(max_runtime=60, max_mem_mb=8000, max_threads=8),
    }


@pytest.mark.parametrize(
    ("lines", "node"),
    [
        # the node with the most GPUs counts, not the most of each kind
        (["128|1000000|(null)", "64|512000|gpu:4", "32|256000|gpu:4"], (4, 512000, 64)),
        (["8|8000+|gpu:a100:4(S:0-1),gpu:v100:2,shard:8"], (6, 8000, 8)),
    ],
)
def test_a_job_can_have_what_one_node_has(lines: list[str], node: tuple[int, int, int]) -> None:
    for time, minutes in {"infinite": None, "30:00": 30, "2:00:00": 120, "7-12:30:00": 10830}.items():
        found = partitions_in("\n".join(f"all|up|{time}|{one}" for one in lines))["all"]
        assert (found.max_gpu, found.max_mem_mb, found.max_threads) == node and found.max_runtime == minutes

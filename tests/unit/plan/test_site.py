"""The site that jobs are submitted to: its file, the calls that submit, and what fits where."""

from pathlib import Path

import pytest
from reprise.config.model import Model
from reprise.config.problems import read
from reprise.core.errors import UserError
from reprise.plan.site import PartitionLimits, Site, partitions_file, problems, site_of

SITE = Site(
    partitions={
        "cpu": PartitionLimits(max_runtime=60, max_mem_mb=4000, max_threads=16),
        "gpu": PartitionLimits(max_runtime=600, max_mem_mb=64000, max_threads=6, max_gpu=1),
        "big": PartitionLimits(max_runtime=300, max_mem_mb=512000, max_threads=32, max_gpu=4),
    }
)
PROFILE = "executor: slurm\nslurm-partition-config: here.yaml\n"


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "profiles/cluster/config.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(PROFILE)
    return path


@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        ("--workflow-profile profiles/cluster", "here.yaml"),
        ("--workflow-profile=cluster", "here.yaml"),
        ("--workflow-profile cluster --slurm-partition-config=other.yaml", "other.yaml"),
        ("--workflow-profile cluster --executor local", None),
        ("--executor slurm --slurm-partition-config other.yaml", "other.yaml"),
        ("--executor slurm", None),
        ("", None),
    ],
)
def test_which_file_a_call_means(profile: Path, arguments: str, file: str | None) -> None:
    assert partitions_file(["snakemake", *arguments.split()]) == (Path(file) if file else None)


def test_a_dry_run_needs_no_slurm(profile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("here.yaml").write_text("partitions:\n  cpu: {max_runtime: 60}\n")
    monkeypatch.setenv("PATH", "/nonexistent")
    call = ["snakemake", "--workflow-profile", "cluster"]
    for look in ("-n", "--dry-run", "--dryrun", "-np", "--unlock"):
        assert site_of([*call, look]) == Site(partitions={"cpu": PartitionLimits(max_runtime=60)})
    with pytest.raises(UserError, match="no Slurm here"):
        site_of(call)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("partitions:\n  gpu: {max_gpus: 4}\n", "line 2: partitions.gpu.max_gpus: .*Did you mean 'max_gpu'"),
        ("partitions:\n  gpu: {max_gpu: many}\n", "line 2: partitions.gpu.max_gpu: "),
        ("partitions: {}\n", "none is named"),
        ("", "should be a group of keys"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "partitions.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=words):
        read(Site, path)


def test_what_a_job_can_have() -> None:
    assert [SITE.most("max_runtime", gpus) for gpus in (0, 1, 2)] == [60, 600, 300]
    assert [SITE.most("max_mem_mb", gpus) for gpus in (0, 1, 2)] == [4000, 512000, 512000]
    endless = Site(partitions={"any": PartitionLimits(max_gpu=8)})
    assert endless.most("max_runtime", 0) is None and endless.most("max_mem_mb", 4) is None


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, None),
        ({"gpus": 4, "memory_mb": 500000}, None),
        ({"gpus": 8}, "gpus: 8: no partition has a node with so many; the most is max_gpu: 4."),
        ({"gpus": 1, "memory_mb": 600000}, "memory_mb: 600000: the most of partitions gpu, big is max_mem_mb: 512000."),
        ({"memory_mb": 5000}, "memory_mb: 5000: the most of partition cpu is max_mem_mb: 4000."),
        ({"gpus": 1, "memory_mb": 40000}, None),
        ({"gpus": 1, "threads": 40}, "its job takes 40 CPUs: the most of partitions gpu, big is max_threads: 32."),
        ({"threads": 17}, "its job takes 17 CPUs: the most of partition cpu is max_threads: 16."),
    ],
)
def test_what_no_partition_can_hold(settings: dict[str, int], words: str | None) -> None:
    model = Model.model_validate({"label": "M", "adapter": "random", **settings})
    assert list(problems(model, SITE)) == ([words] if words else [])

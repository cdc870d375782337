"""Test cluster partitions: their file, the calls that submit jobs, and the models that fit."""

from pathlib import Path

import pytest
from reprise.config.model import Model
from reprise.config.problems import read_config_file
from reprise.core.errors import UserError
from reprise.plan.site import (
    SlurmPartition,
    SlurmSite,
    find_partitions_file,
    find_resource_problems,
    find_runtime_warning,
    load_site,
)

SITE = SlurmSite(
    partitions={
        "cpu": SlurmPartition(max_runtime=60, max_mem_mb=4000, max_threads=16),
        "gpu": SlurmPartition(max_runtime=600, max_mem_mb=64000, max_threads=6, max_gpu=1),
        "big": SlurmPartition(max_runtime=300, max_mem_mb=512000, max_threads=32, max_gpu=4),
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
def test_the_partitions_file_of_a_call(arguments: str, file: str | None) -> None:
    assert find_partitions_file(["snakemake", *arguments.split()]) == (Path(file) if file else None)


# A file of the plugin's `generate-slurm-partition-config`, with a key that only the plugin reads.
GENERATED = """\
partitions:
  accel:
    max_gpu: 1
    max_mem_mb: 8000
    max_nodes: 2
    max_runtime: '2:00:00'
    max_threads: 8
  long: {max_runtime: 7-12:30:00}
  minutes: {max_runtime: 90}
"""


def test_the_file_is_read_in_the_format_of_the_plugin() -> None:
    Path("here.yaml").write_text(GENERATED)
    assert load_site(["snakemake", "--workflow-profile", "cluster"]) == SlurmSite(
        partitions={
            "accel": SlurmPartition(max_runtime=120, max_mem_mb=8000, max_threads=8, max_gpu=1),
            "long": SlurmPartition(max_runtime=10830),
            "minutes": SlurmPartition(max_runtime=90),
        }
    )
    assert load_site(["snakemake"]) is None, "without the profile, jobs run on this machine"


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("max_runtime: 2h", "line 2: partitions.gpu.max_runtime: .*should be minutes or days-hours:minutes:seconds"),
        ("max_gpu: many", "line 2: partitions.gpu.max_gpu: "),
    ],
)
def test_an_invalid_file_is_reported_with_its_line(limit: str, message: str) -> None:
    Path("here.yaml").write_text(f"partitions:\n  gpu: {{{limit}}}\n")
    with pytest.raises(UserError, match=message):
        read_config_file(SlurmSite, Path("here.yaml"))


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"gpus": 4, "memory_mb": 500000}, None),
        ({"gpus": 8}, "gpus: 8: no partition has a node with so many; the largest is max_gpu: 4."),
        (
            {"gpus": 1, "memory_mb": 600000},
            "memory_mb: 600000: the largest of partitions gpu, big is max_mem_mb: 512000.",
        ),
        ({"memory_mb": 5000}, "memory_mb: 5000: the largest of partition cpu is max_mem_mb: 4000."),
        ({"gpus": 1, "threads": 40}, "its job takes 40 CPUs: the largest of partitions gpu, big is max_threads: 32."),
    ],
)
def test_models_that_fit_no_partition_are_reported(settings: dict[str, int], problem: str | None) -> None:
    model = Model.model_validate({"label": "M", "adapter": "random", **settings})
    assert list(find_resource_problems(model, SITE)) == ([problem] if problem else [])


@pytest.mark.parametrize(
    ("hours", "runs_per_group", "warning"),
    [
        (2.5, 8, "hours: 2.5: 8 runs share an allocation of 600 minutes, so each has 75."),
        (1.25, 8, ""),
        (2.5, 1, ""),
        (20, 1, ""),
    ],
)
def test_a_shared_allocation_with_too_little_time_is_reported(hours: float, runs_per_group: int, warning: str) -> None:
    Path("here.yaml").write_text("partitions:\n  gpu: {max_runtime: 600, max_gpu: 1}\n")
    profile = Path("profiles/cluster/config.yaml")
    profile.write_text(f"{profile.read_text()}group-components: ['answers_{{benchmark}}_{{model}}={runs_per_group}']\n")
    site = load_site(["snakemake", "--workflow-profile", "cluster"])
    assert site is not None
    model = Model.model_validate({"label": "M", "adapter": "random", "gpus": 1, "hours": hours})
    assert find_runtime_warning(model, site).startswith(warning)
    assert bool(find_runtime_warning(model, site)) == bool(warning)

"""What Slurm prints, read."""

import pytest
from reprise.core.errors import UserError
from reprise.plan.site import Node, Partition, minutes_of, partitions, partitions_in

# Of Slurm 22.05.8 with two nodes that have a GPU and one that has none (tests/cluster/slurm.py).
RECORDED = """\
accel|up|2:00:00|8|8000|gpu:1
short*|up|1:00:00|8|8000|(null)
accel|up|2:00:00|8|8000|gpu:1
"""


def test_the_partitions_of_a_real_slurm() -> None:
    assert partitions_in(RECORDED) == [
        Partition("accel", is_default=False, minutes=120, node=Node(gpus=1, memory_mb=8000, threads=8)),
        Partition("short", is_default=True, minutes=60, node=Node(gpus=0, memory_mb=8000, threads=8)),
    ]


def test_a_job_can_have_what_one_node_has() -> None:
    """The node with the most GPUs counts, not the most of each kind."""
    (found,) = partitions_in(
        "all|up|infinite|128|1000000|(null)\nall|up|infinite|64|512000|gpu:4\nall|up|infinite|32|256000|gpu:4\n"
    )
    assert found == Partition("all", is_default=False, minutes=None, node=Node(gpus=4, memory_mb=512000, threads=64))


def test_a_partition_that_takes_no_jobs_is_none() -> None:
    assert partitions_in("old|down|1:00|8|8000|(null)\nfull|drain|1:00|8|8000|(null)\n") == []


@pytest.mark.parametrize(
    ("resources", "gpus"),
    [("(null)", 0), ("gpu:2", 2), ("gpu:a100:4(S:0-1)", 4), ("gpu:a100:4,gpu:v100:2,shard:8", 6), ("craynetwork:4", 0)],
)
def test_gpus_of_a_node(resources: str, gpus: int) -> None:
    assert partitions_in(f"p|up|1:00|8|8000+|{resources}")[0].node == Node(gpus, 8000, 8)


@pytest.mark.parametrize(
    ("time", "minutes"),
    [
        ("infinite", None),
        ("n/a", None),
        ("30:00", 30),
        ("2:00:00", 120),
        ("1-00:00:00", 1440),
        ("7-12:30:00", 10830),
        ("45", 0),
    ],
)
def test_minutes_of_a_limit(time: str, minutes: int | None) -> None:
    assert minutes_of(time) == minutes


def test_without_slurm_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(UserError, match=r"no Slurm here: there is no command 'sinfo'.*without `--workflow-profile"):
        partitions()

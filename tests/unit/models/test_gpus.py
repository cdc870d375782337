"""Test which GPUs a job locks or waits for, and whether a build of torch supports them."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.store import Store
from reprise.models.inference.resident import FOREIGN_IDLE_GRACE_S
from reprise.models.inference.response_cache import lock_response_cache
from reprise.models.local import gpus
from reprise.models.local.gpus import (
    TorchBuild,
    check_build,
    get_driver_error,
    list_visible_gpus,
    query_free_memory,
    read_installed_build,
    take_gpus,
)

from tests.unit.models.fake_driver import FREE, FakeDriver, gpu

PROGRAM = """\
import sys, time
from pathlib import Path
from reprise.core.store import Store
from reprise.models.local.gpus import take_gpus
from reprise.models.inference.response_cache import lock_response_cache
folder = Path(sys.argv[1])
locks = take_gpus(2, folder / "locks", "m")
with lock_response_cache(Store(folder), "k"):
    print("locked", flush=True)
    time.sleep(60)
"""


@contextmanager
def another_job(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a job that holds both GPUs and the key's lock, and kill it at the end."""
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None and job.stdout.readline() == "locked\n"
        yield job
        job.kill()


def test_a_gpu_of_another_node_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm jobs on two nodes that share a store each have a GPU named 0; their locks differ."""
    monkeypatch.setattr("reprise.models.local.gpus.sleep", lambda seconds: pytest.fail("the job waits"))
    locks = []
    for job, node in (("17", "a"), ("18", "a"), ("18", "b")):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
        monkeypatch.setenv("SLURM_JOB_ID", job)
        monkeypatch.setattr("reprise.models.local.gpus.gethostname", lambda node=node: node)
        locks += take_gpus(1, tmp_path, "m")
    assert len(locks) == 3


def test_a_job_waits_for_another_until_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,7")
    messages: list[str] = []
    with another_job(tmp_path) as job, monkeypatch.context() as patched:
        patched.setattr(log, "info", lambda text: (messages.append(text), job.kill()))
        with lock_response_cache(Store(tmp_path), "k"):
            assert "another run with the same key is in progress" in messages[0]
    monkeypatch.setattr("reprise.models.local.gpus.sleep", lambda seconds: (job.kill(), job.wait()))
    with another_job(tmp_path) as job:
        assert len(take_gpus(2, tmp_path / "locks", "m")) == 2
    assert "waiting for 2 free GPUs of 2" in caplog.text
    assert (os.environ["CUDA_VISIBLE_DEVICES"], os.environ["CUDA_DEVICE_ORDER"]) == ("3,7", "PCI_BUS_ID")


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    folder = tmp_path / "driver"
    folder.mkdir()
    return FakeDriver(folder, monkeypatch)


# --- listing -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cuda_visible_devices", "names"), [
    (None, ["0", "1", "2"]),
    ("0, 2", ["0", "2"]),
    (" 1 ,0,1", ["1", "0"]),
    ("", []),
    ("NoDevFiles", []),
    ("2,-1,0", ["2"]),
    ("0,7,1", ["0"]),
    ("GPU-11aa-bb,0", ["GPU-11aa-bb", "0"]),
    ("GPU-22", ["GPU-22"]),
    ("GPU-", []),
    ("MIG-4f5c-11,MIG-4f5c-12", ["MIG-4f5c-11", "MIG-4f5c-12"]),
    ("MIG-GPU-11aa-bb/1/0", ["MIG-GPU-11aa-bb/1/0"]),
])  # fmt: skip
def test_gpus_are_named_as_cuda_names_them(
    cuda_visible_devices: str | None, names: list[str], driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.report(gpu(0), gpu(1), gpu(2))
    if cuda_visible_devices is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", cuda_visible_devices)
    assert [visible_gpu.name for visible_gpu in list_visible_gpus()] == names


@pytest.mark.parametrize("reported", ["[N/A]", "[Not Supported]", "[Insufficient Permissions]", "[Unknown Error]", ""])
def test_memory_that_the_driver_does_not_report_is_unknown(reported: str, driver: FakeDriver, tmp_path: Path) -> None:
    """The driver reports no memory for MIG, GPUs that share the CPU's memory, and GPUs that need a reset."""
    driver.report(gpu(0, reported, memory_total=reported), gpu(1))
    assert query_free_memory(["1"]) == [FREE * 2**20] and query_free_memory(["0", "1"]) is None
    assert len(take_gpus(2, tmp_path / "locks", "m", TorchBuild("torch", None))) == 2


def test_invalid_lines_and_fields_are_ignored(driver: FakeDriver) -> None:
    lost_gpu_line = (
        "Unable to determine the device handle for GPU0000:3B:00.0: GPU is lost.  Reboot the system to recover this GPU"
    )
    driver.report(gpu(1), before=(lost_gpu_line, ""), code=15)
    assert [visible_gpu.name for visible_gpu in list_visible_gpus()] == ["1"]
    driver.report(gpu(0, name="A card, with a comma"), unknown=("compute_cap",))
    (listed_gpu,) = list_visible_gpus()
    assert (listed_gpu.capability, listed_gpu.driver_version, listed_gpu.model) == (
        None,
        "580.65.06",
        "A card, with a comma",
    )


def test_a_driver_that_hangs_or_fails_is_named(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.report(before=("Failed to initialize NVML: Driver/library version mismatch",), code=18)
    with pytest.raises(
        UserError, match=r"needs 1 GPU, but this machine has 0 \(Failed to initialize NVML: Driver/library"
    ):
        take_gpus(1, tmp_path, "m")
    assert get_driver_error().startswith("Failed to initialize NVML")
    with monkeypatch.context() as patched:
        patched.setenv("PATH", str(tmp_path / "empty"))
        with pytest.raises(UserError, match=r"but this machine has 0 \(nvidia-smi cannot be started: No such file"):
            take_gpus(1, tmp_path, "m")
        assert get_driver_error() == "", "a machine without a GPU"
    driver.report(gpu(0), seconds=60)
    monkeypatch.setattr(gpus, "QUERY_TIMEOUT_S", 0.5)
    with pytest.raises(UserError, match=r"nvidia-smi does not answer within 0\.5 s: the driver hangs"):
        take_gpus(1, tmp_path, "m")


# --- locking -------------------------------------------------------------------------------------------------------


def test_a_job_takes_the_gpus_with_most_free_memory_and_not_a_full_one(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.report(gpu(0, 900), gpu(1, 40_000), gpu(2, 80_100), gpu(3, 80_400))
    locks = take_gpus(2, tmp_path, "m")
    # GPUs whose free memory differs by less than a gigabyte keep their order.
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "2,3"
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    locks += take_gpus(1, tmp_path, "m")
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "1"
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    wait_seconds: list[float] = []
    monkeypatch.setattr(
        "reprise.models.local.gpus.sleep", lambda seconds: (wait_seconds.append(seconds), locks.pop().release())
    )
    take_gpus(1, tmp_path, "m")
    assert wait_seconds and os.environ["CUDA_VISIBLE_DEVICES"] == "1", (
        "the job waits for its GPU and does not take the full one"
    )


def test_if_all_gpus_are_full_the_one_with_most_free_memory_is_taken(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_seconds: list[float] = []
    monkeypatch.setattr("reprise.models.local.gpus.sleep", wait_seconds.append)
    driver.report(gpu(0, 900), gpu(1, 2_900))
    take_gpus(1, tmp_path, "m")
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "1"
    assert sum(wait_seconds) > FOREIGN_IDLE_GRACE_S, "long enough for an idle model of another Snakemake to be unloaded"


def test_a_job_waits_for_the_memory_of_a_process_that_was_just_killed(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.report(gpu(0, 900), gpu(1, 2_900))
    monkeypatch.setattr("reprise.models.local.gpus.sleep", lambda seconds: driver.report(gpu(0, 80_000), gpu(1, 2_900)))
    take_gpus(1, tmp_path, "m")
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0"


def test_a_gpu_that_fills_up_while_it_is_locked_is_released(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user's process, which ignores locks, starts between the query and the lock."""
    driver.report(gpu(0, 81_000), gpu(1, 60_000))

    class DelayedLock(gpus.FileLock):  # type: ignore[misc]
        def acquire(self, *arguments: object, **options: object) -> object:
            driver.report(gpu(0, 500), gpu(1, 60_000))
            return super().acquire(*arguments, **options)

    monkeypatch.setattr(gpus, "FileLock", DelayedLock)
    take_gpus(1, tmp_path, "m")
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "1"


def test_two_names_of_a_gpu_share_one_lock(driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver.report(gpu(0), gpu(1))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    (lock,) = take_gpus(1, tmp_path, "m")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-00aa-bb")
    wait_seconds: list[float] = []
    monkeypatch.setattr(
        "reprise.models.local.gpus.sleep", lambda seconds: (wait_seconds.append(seconds), lock.release())
    )
    take_gpus(1, tmp_path, "m")
    assert wait_seconds and os.environ["CUDA_VISIBLE_DEVICES"] == "GPU-00aa-bb"


def test_a_process_uses_one_mig_instance(driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver.report(gpu(0))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-a,MIG-b")
    take_gpus(1, tmp_path, "m")
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "MIG-a"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-a,MIG-b")
    with pytest.raises(UserError, match=r"gpus: 2, but CUDA_VISIBLE_DEVICES names MIG instances"):
        take_gpus(2, tmp_path, "m")


def test_names_of_gpus_in_mixed_forms_become_uuids(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.report(gpu(0), gpu(1))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,GPU-00")
    take_gpus(2, tmp_path, "m")
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "GPU-11aa-bb,GPU-00aa-bb"


# --- builds of torch -----------------------------------------------------------------------------------------------

TORCH = TorchBuild("torch 2.13.0", "13.0")
OLDER_TORCH = TorchBuild("torch 2.10.0", "12.8", ("sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"))
V100 = {"compute_cap": "7.0", "name": "Tesla V100-SXM2-32GB"}


@pytest.mark.parametrize(("build", "fields", "message"), [
    (TORCH, {"driver_version": "535.183.01"},
     r"torch 2\.13\.0 is built for CUDA 13\.0, which needs driver 580 or newer; this machine has driver 535\.183\.01"),
    (TORCH, {"driver_version": "580.65.06"}, None),
    (TORCH, {"driver_version": "[N/A]"}, None),
    (OLDER_TORCH, {"driver_version": "535.183.01"}, None),
    (OLDER_TORCH, {"driver_version": "470.82.01"}, "which needs driver 525 or newer"),
    (TORCH, V100, r"GPU 0 \(Tesla V100-SXM2-32GB\) has compute capability 7\.0 \(sm_70\), but torch 2\.13\.0 for CUDA 13\.0"),
    (OLDER_TORCH, V100, None),
    (TORCH, {"compute_cap": "7.5"}, None),
    (TORCH, {"compute_cap": "8.9"}, None),
    (TORCH, {"compute_cap": "12.1"}, None),
    (TORCH, {"compute_cap": "[N/A]"}, None),
    (TorchBuild("t", "12.4", ("sm_80", "sm_90a")), {"compute_cap": "12.0"}, r"has code for sm_80, sm_90a"),
    (TorchBuild("t", "12.4", ("sm_80", "compute_90")), {"compute_cap": "12.0"}, None),
    (TorchBuild("t", "14.2"), {}, None),
])  # fmt: skip
def test_a_build_that_does_not_support_a_gpu_is_named(
    build: TorchBuild, fields: dict[str, str], message: str | None, driver: FakeDriver, tmp_path: Path
) -> None:
    driver.report(gpu(0, **fields))
    for check in (lambda: check_build(build, 1), lambda: take_gpus(1, tmp_path, "m", build)):
        if message is None:
            check()
        else:
            with pytest.raises(UserError, match=message + r"[^\n]*docs/reference/gpus\.md"):
                check()


def test_a_gpu_that_the_build_cannot_use_is_not_taken_if_others_are_free(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.report(gpu(0, **V100), gpu(1, 20_000))
    take_gpus(1, tmp_path, "m", TORCH)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "1"
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    with pytest.raises(UserError, match=r"needs 3 GPUs, but this machine has 1 \(GPU 0 .* has compute capability 7\.0"):
        take_gpus(3, tmp_path, "m", TORCH)


@pytest.mark.parametrize("name", ["MIG-4f5c-11", "MIG-GPU-00aa-bb/1/0"])
def test_the_driver_of_a_mig_instance_is_that_of_the_machine(
    name: str, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.report(gpu(0, driver_version="535.183.01"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", name)
    with pytest.raises(UserError, match=r"this machine has driver 535\.183\.01"):
        check_build(TORCH, 1)


def test_a_forward_compatibility_package_replaces_the_check_of_the_driver(
    driver: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.report(gpu(0, driver_version="535.183.01"))
    (tmp_path / "compat").mkdir()
    (tmp_path / "compat" / "libcuda.so.1").touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/nowhere:{tmp_path / 'compat'}")
    check_build(TORCH, 1)


def test_too_few_gpus_for_a_model_are_an_error(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    driver.report(gpu(0))
    with pytest.raises(UserError, match=r"this machine shows 1 GPU\."):
        check_build(TORCH, 4)
    driver.report(*map(gpu, range(4)))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    with pytest.raises(UserError, match=r"this machine shows 2 GPUs \(CUDA_VISIBLE_DEVICES is '2,3'\)\."):
        check_build(TORCH, 4)


def test_a_cpu_build_of_torch_is_an_error_on_a_machine_with_gpus(driver: FakeDriver) -> None:
    driver.report(gpu(0))
    with pytest.raises(UserError, match=r"torch .* is a build for CPUs only"):
        check_build(TorchBuild("torch 2.13.0+cpu", None, is_cpu_only=True), 1)
    driver.report()
    check_build(TorchBuild("torch 2.13.0+cpu", None, is_cpu_only=True), 1)


def test_a_build_is_identified_without_importing_torch(tmp_path: Path) -> None:
    folder = tmp_path / "torch"
    (folder / "lib").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise SystemExit('imported')")
    (folder / "version.py").write_text(
        "from typing import Optional\n__version__ = '2.10.0+cu128'\ncuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n"
    )
    (folder / "lib" / "libtorch_python.so").write_bytes(b"\0sm_7\0sm_70 sm_75 compute_75\0")
    program = "from reprise.models.local.gpus import read_installed_build; print(*read_installed_build())"
    environment = os.environ | {"PYTHONPATH": ":".join([str(tmp_path), *sys.path])}
    process = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert process.stdout == "torch 2.10.0+cu128 12.8 ('sm_70', 'sm_75', 'compute_75') False\n"
    assert read_installed_build().name.startswith("torch 2")

"""List the GPUs of this machine, lock those that a job uses, and check that the build of torch supports them.

Snakemake only counts GPUs, so jobs lock each GPU that they use. This module does not import torch.
"""

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from mmap import ACCESS_READ, mmap
from pathlib import Path
from shutil import which
from socket import gethostname
from time import monotonic, sleep
from typing import NamedTuple

from filelock import BaseFileLock, FileLock, Timeout

from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.plain import sanitize_line

MIB = 2**20
QUERY_FIELDS = ("index", "uuid", "memory.free", "memory.total", "driver_version", "compute_cap", "name")
# Drivers before 510 do not know every field.
LEGACY_QUERY_FIELDS = tuple(field for field in QUERY_FIELDS if field != "compute_cap")
# Without persistence mode the driver initialises each GPU first, which takes seconds per GPU.
QUERY_TIMEOUT_S = 60
# A GPU with a smaller share of free memory is in use by another user's process.
MIN_FREE_SHARE = 0.1
# Bytes by which GPUs must differ in free memory for one to be preferred.
MEMORY_STEP = 2 * 10**9
# Seconds between two checks for free GPUs, and between two log lines about the waiting.
POLL_S, LOG_INTERVAL_S = 5, 60
# If all GPUs are full, a full GPU is taken after this many checks. The checks take longer than the time for which an
# idle model of another Snakemake may keep its GPU (`FOREIGN_IDLE_GRACE_S` in models/inference/resident.py).
MAX_FULL_CHECKS = 5
GUIDE_PATH = "docs/reference/gpus.md"


class Gpu(NamedTuple):
    """One GPU, or one MIG instance of a GPU. Properties that the driver does not report are None or empty."""

    name: str
    """name of the GPU in CUDA_VISIBLE_DEVICES"""
    uuid: str = ""
    free_bytes: int | None = None
    total_bytes: int | None = None
    driver_version: str = ""
    capability: tuple[int, int] | None = None
    """compute capability, such as (8, 0)"""
    model: str = ""

    @property
    def has_room(self) -> bool:
        """Return whether enough memory is free, or its amount is unknown."""
        return (
            self.free_bytes is None or self.total_bytes is None or self.free_bytes >= MIN_FREE_SHARE * self.total_bytes
        )

    def __str__(self) -> str:
        return f"GPU {self.name}" + (f" ({self.model})" if self.model else "")


# --- listing -----------------------------------------------------------------------------------------------------


def list_gpus() -> list[Gpu]:
    """List all GPUs with nvidia-smi; empty if there is no driver."""
    gpus, _ = _query_gpus()
    return gpus


def _query_gpus() -> tuple[list[Gpu], str]:
    """List all GPUs; if there are none, also return the driver's message."""
    for fields in (QUERY_FIELDS, LEGACY_QUERY_FIELDS):
        command = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
        try:
            process = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=QUERY_TIMEOUT_S)
        except OSError as error:  # nvidia-smi is missing, or this user may not run it
            return [], f"nvidia-smi cannot be started: {error.strerror}"
        except subprocess.TimeoutExpired:
            raise UserError(
                f"nvidia-smi does not answer within {QUERY_TIMEOUT_S} s: the driver hangs, and no GPU of this machine "
                "can be used. Run `nvidia-smi` to check, have the machine restarted, or use another one."
            ) from None
        gpus = [gpu for line in process.stdout.splitlines() if (gpu := _parse_gpu(line, fields))]
        if gpus:
            return gpus, ""
    # An old driver rejects the first query because of an unknown field, so only the last query has the real message.
    return [], sanitize_line(" ".join((process.stdout or process.stderr).split()))


def _parse_gpu(line: str, fields: Sequence[str]) -> Gpu | None:
    """Parse a line of nvidia-smi; None if it describes no GPU, such as an error message."""
    values = [value.strip() for value in line.split(",", len(fields) - 1)]
    row = dict(zip(fields, values, strict=False))
    if len(values) < len(fields) or not row["index"].isdecimal():
        return None
    version = re.fullmatch(r"(\d+)\.(\d+)", row.get("compute_cap", ""))
    return Gpu(
        name=row["index"],
        uuid=row["uuid"],
        free_bytes=_parse_mebibytes(row["memory.free"]),
        total_bytes=_parse_mebibytes(row["memory.total"]),
        driver_version=row["driver_version"] if row["driver_version"][:1].isdecimal() else "",
        capability=(int(version[1]), int(version[2])) if version else None,
        model=sanitize_line(row["name"]),
    )


def _parse_mebibytes(mebibytes: str) -> int | None:
    """Convert a number of mebibytes to bytes; None for any other text, such as `[N/A]`."""
    return int(mebibytes) * MIB if mebibytes.isdecimal() else None


def get_driver_error() -> str:
    """Return the message of nvidia-smi if it lists no GPU; empty if it lists GPUs or is not installed."""
    return _query_gpus()[1] if which("nvidia-smi") else ""


def list_visible_gpus() -> list[Gpu]:
    """List the GPUs that this process may use: those of CUDA_VISIBLE_DEVICES, or all if it is unset."""
    return _filter_visible(list_gpus())


def _filter_visible(all_gpus: Sequence[Gpu]) -> list[Gpu]:
    """Select GPUs as CUDA does: by number, UUID, start of a UUID or MIG instance, up to the first unknown name."""
    setting = os.environ.get("CUDA_VISIBLE_DEVICES")
    if setting is None:
        return list(all_gpus)
    visible: list[Gpu] = []
    for name in map(str.strip, setting.split(",")):
        gpu = _find_gpu(name, all_gpus)
        if gpu is None:
            break
        if all((gpu.uuid or gpu.name) != (previous.uuid or previous.name) for previous in visible):
            visible.append(gpu)
    return visible


def _find_gpu(name: str, all_gpus: Sequence[Gpu]) -> Gpu | None:
    """Find a GPU by its name in CUDA_VISIBLE_DEVICES; if the driver lists no GPU, accept any well-formed name."""
    if name.startswith("MIG-"):
        parent = re.match(r"MIG-(GPU-[0-9a-f-]+)/", name)  # the form of drivers before 470
        # Instances with their own UUIDs do not name their GPU; the driver version is the machine's.
        default = Gpu(name, driver_version=next((gpu.driver_version for gpu in all_gpus if gpu.driver_version), ""))
        gpu = next((gpu for gpu in all_gpus if parent and gpu.uuid == parent[1]), default)
        return gpu._replace(name=name, uuid=name, free_bytes=None, total_bytes=None)
    is_uuid = name.startswith("GPU-")
    if not is_uuid and not name.isdecimal():
        return None
    if not all_gpus:
        return Gpu(name)
    matches = [gpu for gpu in all_gpus if (gpu.uuid.startswith(name) if is_uuid else int(gpu.name) == int(name))]
    return matches[0]._replace(name=name) if len(matches) == 1 else None


def query_free_memory(names: Sequence[str]) -> list[int] | None:
    """Return the free bytes of each of these GPUs; None if the driver does not report them for all GPUs."""
    all_gpus = list_gpus()
    gpus = [_find_gpu(name, all_gpus) for name in names]
    free = [gpu.free_bytes for gpu in gpus if gpu is not None and gpu.free_bytes is not None]
    return free if len(free) == len(names) else None


# --- builds of torch -----------------------------------------------------------------------------------------------


class TorchBuild(NamedTuple):
    """A build of torch, or of an engine that includes its own torch."""

    name: str
    """such as `torch 2.13.0`"""
    cuda_version: str | None
    """CUDA version of the build; None if the build has none or its version is unknown"""
    architectures: tuple[str, ...] = ()
    """architectures that the build contains code for, such as `sm_80`; empty if unknown"""
    is_cpu_only: bool = False
    """whether the build is known to be for CPUs only"""


# Major version of CUDA -> the oldest driver that supports it, according to NVIDIA's "CUDA Compatibility".
MIN_DRIVER_VERSIONS = {11: 450, 12: 525, 13: 580}
# Architectures of the PyPI wheels of torch 2.10 (CUDA 12.8) and 2.13 (CUDA 13.0).
CUDA_13_ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")
BUILD_ARCHITECTURES = {"12.8": ("sm_70", *CUDA_13_ARCHITECTURES), "13.0": CUDA_13_ARCHITECTURES}
ARCHITECTURE_PATTERN = re.compile(rb"sm_\d+[a-z]?(?: (?:sm|compute)_\d+[a-z]?)+")
TORCH_LIBRARY = "lib/libtorch_python.so"


@cache
def read_installed_build() -> TorchBuild:
    """Read the properties of the installed torch from its files, because importing it takes seconds."""
    spec = find_spec("torch")
    folder = Path(next(iter(spec.submodule_search_locations or ()), "")) if spec else Path()
    version, library = folder / "version.py", folder / TORCH_LIBRARY
    text = version.read_text(encoding="utf-8") if spec and version.is_file() else ""
    cuda = re.search(r"""^cuda\b[^=\n]*=\s*['"]([\d.]+)['"]""", text, re.MULTILINE)
    name = re.search(r"""^__version__\s*=\s*['"](.+?)['"]""", text, re.MULTILINE)
    architectures: tuple[str, ...] = ()
    if cuda and library.is_file():
        with library.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            match = ARCHITECTURE_PATTERN.search(content)
            architectures = tuple(match[0].decode().split()) if match else ()
    is_for_cpu = bool(re.search(r"^cuda\b[^=\n]*=\s*None", text, re.MULTILINE)) and not re.search(
        r"^(hip|rocm|xpu)\b[^=\n]*=\s*['\"]", text, re.MULTILINE
    )
    return TorchBuild(
        f"torch {name[1] if name else '(not installed)'}", cuda[1] if cuda else None, architectures, is_for_cpu
    )


def find_driver_problem(build: TorchBuild, gpus: Sequence[Gpu]) -> str | None:
    """Explain why the driver of these GPUs cannot run a build; None if it can or if its version is unknown."""
    driver = next((gpu.driver_version for gpu in gpus if gpu.driver_version), "")
    minimum = MIN_DRIVER_VERSIONS.get(int(build.cuda_version.split(".")[0])) if build.cuda_version else None
    if not driver or minimum is None or int(driver.split(".")[0]) >= minimum or _has_newer_libcuda():
        return None
    return (
        f"{build.name} is built for CUDA {build.cuda_version}, which needs driver {minimum} or newer; this machine "
        f"has driver {driver}. Have the driver updated, or use builds for an older CUDA: see {GUIDE_PATH}."
    )


def _has_newer_libcuda() -> bool:
    """Return whether NVIDIA's forward-compatibility package replaces the driver's own library.

    The package has a folder named `compat` and makes an old driver work with a newer CUDA.
    """
    folders = [Path(name) for name in os.environ.get("LD_LIBRARY_PATH", "").split(":") if name]
    return any(
        (folder / "libcuda.so.1").exists() for folder in folders if any("compat" in part for part in folder.parts)
    )


def find_capability_problem(build: TorchBuild, gpu: Gpu) -> str | None:
    """Explain that a build has no code for a GPU; None if it has code or if the capability is unknown."""
    architectures = build.architectures or BUILD_ARCHITECTURES.get(build.cuda_version or "", ())
    if not architectures or gpu.capability is None or any(_supports(name, gpu.capability) for name in architectures):
        return None
    major, minor = gpu.capability
    return (
        f"{gpu} has compute capability {major}.{minor} (sm_{major}{minor}), but {build.name} for CUDA "
        f"{build.cuda_version} has code for {', '.join(architectures)} only. Use another GPU, or builds for another "
        f"CUDA: see {GUIDE_PATH}."
    )


def _supports(architecture: str, capability: tuple[int, int]) -> bool:
    """Return whether code for an architecture runs on a GPU.

    Binaries run on later GPUs of the same major version, PTX (`compute_90`) on all later ones, and code with a letter
    (`sm_90a`) only on exactly that architecture.
    """
    kind, digits, letter = re.fullmatch(r"(sm|compute)_(\d+)([a-z]?)", architecture).groups()  # type: ignore[union-attr]
    version = int(digits[:-1]), int(digits[-1])
    if letter:
        return version == capability
    return version <= capability and (kind == "compute" or version[0] == capability[0])


def select_usable_gpus(build: TorchBuild, gpus: Sequence[Gpu], count: int) -> list[Gpu]:
    """Return the GPUs that a build supports; raise a UserError if the build leaves fewer than `count`."""
    if problem := find_driver_problem(build, gpus):
        raise UserError(problem)
    problems = {gpu: find_capability_problem(build, gpu) for gpu in gpus}
    usable = [gpu for gpu, problem in problems.items() if problem is None]
    if len(usable) < count <= len(gpus):
        raise UserError(next(problem for problem in problems.values() if problem))
    return usable


def check_build(build: TorchBuild, count: int) -> None:
    """Raise a UserError if this machine has GPUs, but fewer than `count` that a build supports."""
    gpus = list_visible_gpus() if count else []
    if gpus and build.is_cpu_only:
        raise UserError(
            f"{build.name} is a build for CPUs only, but a model requests GPUs (`gpus` in its file). Install a build "
            f"for CUDA (see {GUIDE_PATH}), or set `gpus: 0`."
        )
    select_usable_gpus(build, gpus, count)
    if 0 < len(gpus) < count:
        setting = os.environ.get("CUDA_VISIBLE_DEVICES")
        explanation = f" (CUDA_VISIBLE_DEVICES is '{sanitize_line(setting)}')" if setting is not None else ""
        raise UserError(
            f"this machine shows {len(gpus)} GPU{'s' * (len(gpus) > 1)}{explanation}. Correct `gpus`, or use another "
            "machine."
        )


# --- locking -------------------------------------------------------------------------------------------------------


def take_gpus(
    count: int,
    lock_folder: Path,
    model_name: str,
    torch_build: TorchBuild | None = None,
    make_room: Callable[[], bool] = lambda: False,
) -> list[BaseFileLock]:
    """Wait for free GPUs, lock them, make only them visible to CUDA, and return the locks.

    GPUs with the most free memory come first. After they are locked, their memory is checked again, because other
    users' processes ignore the locks. A full GPU is taken only if no other job holds a GPU that will become free. If
    too few GPUs are free, `make_room` is called, which returns whether it has freed any.
    """
    if count == 0:
        return []
    lock_folder.mkdir(parents=True, exist_ok=True)
    logged_at, full_check_count = -float(LOG_INTERVAL_S), 0
    while True:
        gpus = _list_candidates(count, model_name, torch_build or read_installed_build())
        lock_by_gpu = _lock_gpus(count, gpus, lock_folder)
        full_check_count += any(not gpu.has_room for gpu in lock_by_gpu)
        # The memory of a process that was just killed may not be released yet.
        is_settled = full_check_count >= MAX_FULL_CHECKS or all(gpu.has_room for gpu in lock_by_gpu)
        if lock_by_gpu and is_settled and _is_unchanged(lock_by_gpu):
            break
        for lock in lock_by_gpu.values():
            lock.release()
        if (lock_by_gpu and is_settled) or make_room():  # in the first case, another process has taken the memory
            continue
        if monotonic() - logged_at >= LOG_INTERVAL_S:
            logged_at = monotonic()
            log.info(f"waiting for {count} free GPUs of {len(gpus)}")
        sleep(POLL_S)
    names = [gpu.name for gpu in lock_by_gpu]
    if len({name.isdecimal() for name in names}) > 1:  # torch requires that all names have the same form
        names = [gpu.uuid or gpu.name for gpu in lock_by_gpu]
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(names)
    # Drivers and schedulers number GPUs by PCI bus; CUDA would number them by speed.
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    return list(lock_by_gpu.values())


def _list_candidates(count: int, model_name: str, build: TorchBuild) -> list[Gpu]:
    """List the GPUs that a model may use; raise a UserError if there are fewer than `count`."""
    all_gpus, message = _query_gpus()
    visible = _filter_visible(all_gpus)
    gpus = select_usable_gpus(build, visible, count)
    if len(gpus) < count:
        setting = os.environ.get("CUDA_VISIBLE_DEVICES")
        causes = [f"CUDA_VISIBLE_DEVICES is '{sanitize_line(setting)}'"] if setting is not None else []
        causes += [message] if message else []
        causes += [problem for gpu in visible if (problem := find_capability_problem(build, gpu))][:1]
        explanation = f" ({'; '.join(causes)})" if causes else ""
        raise UserError(
            f"config/models/{model_name}.yaml: the model needs {count} GPU{'s' * (count > 1)}, but this machine has "
            f"{len(gpus)}{explanation}. Remove the model from the suite's `run:`, or correct `gpus` in its file."
        )
    if count > 1 and any(gpu.name.startswith("MIG-") for gpu in gpus):
        raise UserError(
            f"config/models/{model_name}.yaml: gpus: {count}, but CUDA_VISIBLE_DEVICES names MIG instances, and a "
            "process can use only one. Set `gpus: 1` if the model fits in one, or use whole GPUs."
        )
    return gpus


def _lock_gpus(count: int, gpus: Sequence[Gpu], lock_folder: Path) -> dict[Gpu, BaseFileLock]:
    """Lock `count` GPUs, those with the most free memory first; return none if the job should wait for other jobs."""
    lock_by_gpu: dict[Gpu, BaseFileLock] = {}
    lock_by_full_gpu: dict[Gpu, BaseFileLock] = {}
    busy_count = 0
    # Memory is compared in coarse steps, because a desktop's small use should not separate neighbouring GPUs.
    max_free = max(gpu.free_bytes or 0 for gpu in gpus)
    for gpu in sorted(gpus, key=lambda gpu: (max_free - (gpu.free_bytes or 0)) // MEMORY_STEP):
        if len(lock_by_gpu) == count:
            break
        # A lock of the operating system is required, because it ends with its process, even after a kill.
        lock = FileLock(
            lock_folder / f"gpu-{_get_machine_name()}-{gpu.uuid or gpu.name}.lock".replace("/", "_"),
            fallback_to_soft=False,
        )
        try:
            lock.acquire(blocking=False)
            (lock_by_gpu if gpu.has_room else lock_by_full_gpu)[gpu] = lock
        except Timeout:
            busy_count += 1
    if not busy_count and len(lock_by_gpu) + len(lock_by_full_gpu) >= count:
        while len(lock_by_gpu) < count:
            gpu = next(iter(lock_by_full_gpu))
            lock_by_gpu[gpu] = lock_by_full_gpu.pop(gpu)
    for lock in [*lock_by_full_gpu.values(), *(lock_by_gpu.values() if len(lock_by_gpu) < count else ())]:
        lock.release()
    return lock_by_gpu if len(lock_by_gpu) == count else {}


def _is_unchanged(gpus: Iterable[Gpu]) -> bool:
    """Return whether all GPUs that had free memory when they were locked still have free memory."""
    all_gpus = list_gpus()
    return all(
        not gpu.has_room or (current := _find_gpu(gpu.name, all_gpus)) is None or current.has_room for gpu in gpus
    )


def _get_machine_name() -> str:
    """Return a name for the scope in which GPU numbers are unique.

    Nodes, and Slurm jobs of one node, may each have a GPU 0, but they share one store.
    """
    return "-".join(filter(None, (re.sub(r"[^A-Za-z0-9.]", "_", gethostname()), os.environ.get("SLURM_JOB_ID"))))

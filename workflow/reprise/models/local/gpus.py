"""The GPUs of this machine: what the driver lists, which of them a job takes, and which builds of torch can use them.

Snakemake counts GPUs; a lock on each says which of them are free of other jobs. Imports no torch.
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
from reprise.core.plain import plain

MIB = 2**20
FIELDS = ("index", "uuid", "memory.free", "memory.total", "driver_version", "compute_cap", "name")
# Drivers before 510 do not know every field.
OLD_FIELDS = tuple(field for field in FIELDS if field != "compute_cap")
# Without persistence mode the driver wakes each GPU first, which takes seconds a GPU.
ANSWER_S = 60
# A GPU with less than this share of its memory free is in use by somebody else's process.
ROOM = 0.1
STEP = 2 * 10**9
POLL_S, NOTE_S = 5, 60
# How often GPUs are found full, where no others are, before one is taken all the same: for longer than an idle model of
# another Snakemake may keep its GPU (`OTHERS_S` in models/asking/kept.py).
LOOKS = 5
GUIDE = "docs/reference/gpus.md"


class Gpu(NamedTuple):
    """One GPU, or one MIG instance of a GPU. What the driver does not say is None, or empty."""

    name: str
    """its name in CUDA_VISIBLE_DEVICES"""
    uuid: str = ""
    free: int | None = None
    """bytes"""
    total: int | None = None
    driver: str = ""
    capability: tuple[int, int] | None = None
    """compute capability, such as (8, 0)"""
    model: str = ""

    @property
    def has_room(self) -> bool:
        return self.free is None or self.total is None or self.free >= ROOM * self.total

    def __str__(self) -> str:
        return f"GPU {self.name}" + (f" ({self.model})" if self.model else "")


# --- listing -----------------------------------------------------------------------------------------------------


def listed_gpus() -> list[Gpu]:
    """List all GPUs by nvidia-smi; none where there is no driver."""
    gpus, _ = _listing()
    return gpus


def _listing() -> tuple[list[Gpu], str]:
    """List all GPUs, with the driver's words where it lists none."""
    for fields in (FIELDS, OLD_FIELDS):
        command = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=ANSWER_S)
        except OSError as error:  # no such program, or none that this user may run
            return [], f"nvidia-smi cannot be started: {error.strerror}"
        except subprocess.TimeoutExpired:
            raise UserError(
                f"nvidia-smi does not answer within {ANSWER_S} s, so that no GPU of this machine can be used: its "
                "driver hangs. Try `nvidia-smi` yourself, have the machine restarted, or use another one."
            ) from None
        gpus = [gpu for line in done.stdout.splitlines() if (gpu := _read(line, fields))]
        if gpus:
            return gpus, ""
    # Of an old driver the last query fails for another reason than an unknown field.
    return [], plain(" ".join((done.stdout or done.stderr).split()))


def _read(line: str, fields: Sequence[str]) -> Gpu | None:
    """Read a line of nvidia-smi; None for one that describes no GPU, such as an error of a GPU that is lost."""
    values = [value.strip() for value in line.split(",", len(fields) - 1)]
    found = dict(zip(fields, values, strict=False))
    if len(values) < len(fields) or not found["index"].isdecimal():
        return None
    version = re.fullmatch(r"(\d+)\.(\d+)", found.get("compute_cap", ""))
    return Gpu(
        name=found["index"],
        uuid=found["uuid"],
        free=_bytes(found["memory.free"]),
        total=_bytes(found["memory.total"]),
        driver=found["driver_version"] if found["driver_version"][:1].isdecimal() else "",
        capability=(int(version[1]), int(version[2])) if version else None,
        model=plain(found["name"]),
    )


def _bytes(mebibytes: str) -> int | None:
    """Read a size; None for `[N/A]`, `[Not Supported]` and the like."""
    return int(mebibytes) * MIB if mebibytes.isdecimal() else None


def driver_failure() -> str:
    """Return what nvidia-smi says where it is installed and lists no GPU; else nothing."""
    return _listing()[1] if which("nvidia-smi") else ""


def visible_gpus() -> list[Gpu]:
    """List the GPUs that this process may use: those of CUDA_VISIBLE_DEVICES, else all of them."""
    return _visible(listed_gpus())


def _visible(listed: Sequence[Gpu]) -> list[Gpu]:
    """Select GPUs as CUDA does: by number, UUID, the start of a UUID or MIG instance, up to the first unknown name."""
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    if given is None:
        return list(listed)
    visible: list[Gpu] = []
    for name in map(str.strip, given.split(",")):
        gpu = _named(name, listed)
        if gpu is None:
            break
        if all((gpu.uuid or gpu.name) != (other.uuid or other.name) for other in visible):
            visible.append(gpu)
    return visible


def _named(name: str, listed: Sequence[Gpu]) -> Gpu | None:
    """Find a GPU by its name in CUDA_VISIBLE_DEVICES. Where the driver lists nothing, any well-formed name is taken."""
    if name.startswith("MIG-"):
        parent = re.match(r"MIG-(GPU-[0-9a-f-]+)/", name)  # the form of drivers before 470
        # Instances with UUIDs of their own do not name their GPU; the driver is that of the machine.
        unknown = Gpu(name, driver=next((gpu.driver for gpu in listed if gpu.driver), ""))
        whole = next((gpu for gpu in listed if parent and gpu.uuid == parent[1]), unknown)
        return whole._replace(name=name, uuid=name, free=None, total=None)
    is_uuid = name.startswith("GPU-")
    if not is_uuid and not name.isdecimal():
        return None
    if not listed:
        return Gpu(name)
    matches = [gpu for gpu in listed if (gpu.uuid.startswith(name) if is_uuid else int(gpu.name) == int(name))]
    return matches[0]._replace(name=name) if len(matches) == 1 else None


def free_memory(names: Sequence[str]) -> list[int] | None:
    """Return the bytes that are free on each of these GPUs; None where the driver does not say so of one of them."""
    listed = listed_gpus()
    gpus = [_named(name, listed) for name in names]
    free = [gpu.free for gpu in gpus if gpu is not None and gpu.free is not None]
    return free if len(free) == len(names) else None


# --- builds of torch -----------------------------------------------------------------------------------------------


class Build(NamedTuple):
    """A build of torch, or of an engine that brings its own."""

    name: str
    """such as `torch 2.13.0`"""
    cuda: str | None
    """the version of CUDA that it was built with; None where there is none, or where nothing says so"""
    architectures: tuple[str, ...] = ()
    """those that it has code for, such as `sm_80`; none where nothing says so"""
    is_for_cpu: bool = False
    """whether it is known to use no GPU"""


# Major version of CUDA -> the oldest driver that runs it, by NVIDIA's "CUDA Compatibility".
DRIVERS = {11: 450, 12: 525, 13: 580}
# What the wheels of torch 2.10 (CUDA 12.8) and 2.13 (CUDA 13.0) on PyPI have code for.
OF_CUDA_13 = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")
ARCHITECTURES = {"12.8": ("sm_70", *OF_CUDA_13), "13.0": OF_CUDA_13}
LISTED = re.compile(rb"sm_\d+[a-z]?(?: (?:sm|compute)_\d+[a-z]?)+")
LIBRARY = "lib/libtorch_python.so"


@cache
def installed_build() -> Build:
    """Return the build of torch that is installed here, read from its files: to import it takes seconds."""
    spec = find_spec("torch")
    folder = Path(next(iter(spec.submodule_search_locations or ()), "")) if spec else Path()
    version, library = folder / "version.py", folder / LIBRARY
    text = version.read_text(encoding="utf-8") if spec and version.is_file() else ""
    cuda = re.search(r"""^cuda\b[^=\n]*=\s*['"]([\d.]+)['"]""", text, re.MULTILINE)
    name = re.search(r"""^__version__\s*=\s*['"](.+?)['"]""", text, re.MULTILINE)
    architectures: tuple[str, ...] = ()
    if cuda and library.is_file():
        with library.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            listed = LISTED.search(content)
            architectures = tuple(listed[0].decode().split()) if listed else ()
    is_for_cpu = bool(re.search(r"^cuda\b[^=\n]*=\s*None", text, re.MULTILINE)) and not re.search(
        r"^(hip|rocm|xpu)\b[^=\n]*=\s*['\"]", text, re.MULTILINE
    )
    return Build(
        f"torch {name[1] if name else '(not installed)'}", cuda[1] if cuda else None, architectures, is_for_cpu
    )


def driver_problem(build: Build, gpus: Sequence[Gpu]) -> str | None:
    """Explain why the driver of these GPUs cannot run a build; None where it can, or where too little is known."""
    driver = next((gpu.driver for gpu in gpus if gpu.driver), "")
    least = DRIVERS.get(int(build.cuda.split(".")[0])) if build.cuda else None
    if not driver or least is None or int(driver.split(".")[0]) >= least or _has_newer_libcuda():
        return None
    return (
        f"{build.name} is built for CUDA {build.cuda}, which needs driver {least} or newer; this machine has driver "
        f"{driver}. Have the driver updated, or use builds for an older CUDA: {GUIDE} says how."
    )


def _has_newer_libcuda() -> bool:
    """Return whether NVIDIA's package for forward compatibility stands in for the driver's own library."""
    folders = [Path(name) for name in os.environ.get("LD_LIBRARY_PATH", "").split(":") if name]
    return any(
        (folder / "libcuda.so.1").exists() for folder in folders if any("compat" in part for part in folder.parts)
    )


def capability_problem(build: Build, gpu: Gpu) -> str | None:
    """Explain why a build has no code for a GPU; None where it has some, or where too little is known."""
    architectures = build.architectures or ARCHITECTURES.get(build.cuda or "", ())
    if not architectures or gpu.capability is None or any(_runs(name, gpu.capability) for name in architectures):
        return None
    major, minor = gpu.capability
    return (
        f"{gpu} has compute capability {major}.{minor} (sm_{major}{minor}), and {build.name} for CUDA {build.cuda} has "
        f"code for {', '.join(architectures)}. Use another GPU, or builds for another CUDA: {GUIDE} says how."
    )


def _runs(architecture: str, capability: tuple[int, int]) -> bool:
    """Return whether code for an architecture runs on a GPU: binaries on later ones of the same major version, PTX
    (`compute_90`) on all later ones; with a letter (`sm_90a`) on that very one."""
    kind, digits, letter = re.fullmatch(r"(sm|compute)_(\d+)([a-z]?)", architecture).groups()  # type: ignore[union-attr]
    own = int(digits[:-1]), int(digits[-1])
    if letter:
        return own == capability
    return own <= capability and (kind == "compute" or own[0] == capability[0])


def usable_gpus(build: Build, gpus: Sequence[Gpu], count: int) -> list[Gpu]:
    """Return the GPUs that a build can use; a UserError where they are too few only because of the build."""
    if problem := driver_problem(build, gpus):
        raise UserError(problem)
    problems = {gpu: capability_problem(build, gpu) for gpu in gpus}
    usable = [gpu for gpu, problem in problems.items() if problem is None]
    if len(usable) < count <= len(gpus):
        raise UserError(next(problem for problem in problems.values() if problem))
    return usable


def check_build(build: Build, count: int) -> None:
    """Raise a UserError where this machine has GPUs and a build can use too few of them."""
    gpus = visible_gpus() if count else []
    if gpus and build.is_for_cpu:
        raise UserError(
            f"{build.name} is a build for processors alone, and a model asks for GPUs (`gpus` in its file). Install a "
            f"build for CUDA ({GUIDE} says which), or set `gpus: 0`."
        )
    usable_gpus(build, gpus, count)
    if 0 < len(gpus) < count:
        setting = os.environ.get("CUDA_VISIBLE_DEVICES")
        why = f" (CUDA_VISIBLE_DEVICES is '{plain(setting)}')" if setting is not None else ""
        raise UserError(
            f"this machine shows {len(gpus)} GPU{'s' * (len(gpus) > 1)}{why}. Correct `gpus`, or use another."
        )


# --- taking --------------------------------------------------------------------------------------------------------


def take_gpus(
    count: int,
    folder: Path,
    model: str,
    build: Build | None = None,
    make_room: Callable[[], bool] = lambda: False,
) -> list[BaseFileLock]:
    """Wait for free GPUs, lock them for as long as the returned locks are kept, and show only them to CUDA.

    GPUs with the most free memory are taken first, and looked at again once they are locked: other users' processes
    know no locks. A GPU without room is only taken where no other job holds one that will be free. Where too few are
    free, `make_room` is called, which returns whether it has freed some.
    """
    if count == 0:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    noted, looks = -float(NOTE_S), 0
    while True:
        gpus = _candidates(count, model, build or installed_build())
        taken = _lock(count, gpus, folder)
        looks += any(not gpu.has_room for gpu in taken)
        # The memory of a process that was just killed may not be free yet.
        is_settled = looks >= LOOKS or all(gpu.has_room for gpu in taken)
        if taken and is_settled and _is_unchanged(taken):
            break
        for lock in taken.values():
            lock.release()
        if (taken and is_settled) or make_room():  # in the first case somebody else's process has come meanwhile
            continue
        if monotonic() - noted >= NOTE_S:
            noted = monotonic()
            log.info(f"waiting for {count} free GPUs of {len(gpus)}")
        sleep(POLL_S)
    names = [gpu.name for gpu in taken]
    if len({name.isdecimal() for name in names}) > 1:  # torch reads names of the first one's form alone
        names = [gpu.uuid or gpu.name for gpu in taken]
    os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(names)
    # Drivers and schedulers number GPUs by their place in the machine; CUDA would by their speed.
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    return list(taken.values())


def _candidates(count: int, model: str, build: Build) -> list[Gpu]:
    """List the GPUs that a model may be put on; a UserError where these are too few."""
    listed, words = _listing()
    visible = _visible(listed)
    gpus = usable_gpus(build, visible, count)
    if len(gpus) < count:
        given = os.environ.get("CUDA_VISIBLE_DEVICES")
        causes = [f"CUDA_VISIBLE_DEVICES is '{plain(given)}'"] if given is not None else []
        causes += [words] if words else []
        causes += [problem for gpu in visible if (problem := capability_problem(build, gpu))][:1]
        why = f" ({'; '.join(causes)})" if causes else ""
        raise UserError(
            f"config/models/{model}.yaml: the model needs {count} GPU{'s' * (count > 1)}, found {len(gpus)} here"
            f"{why}. Remove the model from the suite's `run:`, or correct `gpus` there."
        )
    if count > 1 and any(gpu.name.startswith("MIG-") for gpu in gpus):
        raise UserError(
            f"config/models/{model}.yaml: gpus: {count}, and CUDA_VISIBLE_DEVICES names MIG instances, of which a "
            "process can use one. Set `gpus: 1` for a model that fits in one, or use whole GPUs."
        )
    return gpus


def _lock(count: int, gpus: Sequence[Gpu], folder: Path) -> dict[Gpu, BaseFileLock]:
    """Lock so many GPUs, the freest first; none where other jobs hold some that are worth waiting for."""
    taken: dict[Gpu, BaseFileLock] = {}
    full: dict[Gpu, BaseFileLock] = {}
    busy = 0
    # In steps, so that idle neighbours stay together: they differ by what a desktop takes, or a monitor.
    most = max(gpu.free or 0 for gpu in gpus)
    for gpu in sorted(gpus, key=lambda gpu: (most - (gpu.free or 0)) // STEP):
        if len(taken) == count:
            break
        # The operating system's lock or none: it ends with its process, also by a kill.
        lock = FileLock(
            folder / f"gpu-{_place()}-{gpu.uuid or gpu.name}.lock".replace("/", "_"), fallback_to_soft=False
        )
        try:
            lock.acquire(blocking=False)
            (taken if gpu.has_room else full)[gpu] = lock
        except Timeout:
            busy += 1
    while full and len(taken) < count and len(taken) + len(full) >= count and not busy:
        gpu = next(iter(full))
        taken[gpu] = full.pop(gpu)
    for lock in [*full.values(), *(taken.values() if len(taken) < count else ())]:
        lock.release()
    return taken if len(taken) == count else {}


def _is_unchanged(taken: Iterable[Gpu]) -> bool:
    """Whether GPUs that had room when they were chosen have it still."""
    listed = listed_gpus()
    return all(not gpu.has_room or (now := _named(gpu.name, listed)) is None or now.has_room for gpu in taken)


def _place() -> str:
    """Name what GPUs are numbered in: each node has a GPU 0, and so may each Slurm job of a node; all see one store."""
    return "-".join(filter(None, (re.sub(r"[^A-Za-z0-9.]", "_", gethostname()), os.environ.get("SLURM_JOB_ID"))))

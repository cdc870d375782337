"""The driver, torch's build for it, and the product of two matrices. Needs torch alone."""

import os
import subprocess
import time
from collections.abc import Iterator
from typing import Any

from bench.gpu_check.outcome import FailedError, Line, Session, passed

# Of a product in bfloat16 beside one in double precision, by the largest number: 8 bits, and sums in float32.
LARGEST_ERROR = 0.01
ROUNDS, ROWS = 10, 16


def query(field: str) -> dict[str, str]:
    """Return a field of nvidia-smi for each visible GPU, by the name that the environment gives it."""
    command = ["nvidia-smi", f"--query-gpu=index,uuid,{field}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return {}
    rows = [[cell.strip() for cell in line.split(",", 2)] for line in done.stdout.splitlines()]
    values = {name: value for index, uuid, value in rows for name in (index, uuid)}
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = [index for index, _, _ in rows] if visible is None else [one.strip() for one in visible.split(",")]
    return {name: values[name] for name in names if name in values}


def driver(session: Session) -> Iterator[Line]:
    """Compare the driver with torch's build, and the visible GPUs with those that torch can use."""
    del session
    import torch

    versions = query("driver_version")
    measured = {"driver": next(iter(versions.values()), "unknown"), "torch": torch.__version__}
    if torch.version.cuda is None:
        raise FailedError("this torch is a build for processors alone; install one for CUDA", measured)
    measured["CUDA of torch"] = torch.version.cuda
    try:
        torch.cuda.init()
    except RuntimeError as error:
        raise FailedError(f"torch cannot use a GPU here: {error}", measured) from error
    count, built = torch.cuda.device_count(), torch.cuda.get_arch_list()
    if versions and len(versions) != count:
        raise FailedError(f"the driver shows {len(versions)} visible GPUs, torch {count}", measured)
    for number in range(count):
        gpu = torch.cuda.get_device_properties(number)
        measured[f"GPU {number}"] = f"{gpu.name}, sm_{gpu.major}{gpu.minor}, {gpu.total_memory / 1e9:.1f} GB"
        if not _has_code(gpu.major, gpu.minor, built):
            reason = f"this torch has no code for sm_{gpu.major}{gpu.minor}, only for {', '.join(built)}"
            raise FailedError(reason, measured)
    yield passed("driver", **measured)


def _has_code(major: int, minor: int, built: list[str]) -> bool:
    """Code for a lower minor number of the same major one runs; PTX is compiled for any later one."""
    for name in built:
        kind, _, digits = name.partition("_")
        number = int("".join(filter(str.isdigit, digits)))
        if (number // 10 == major and number % 10 <= minor) or (kind == "compute" and number <= 10 * major + minor):
            return True
    return False


def product(session: Session) -> Iterator[Line]:
    """Multiply two matrices on each GPU, and compare some rows with double precision on the processor."""
    import torch

    size = 256 if session.is_cpu else 8192
    devices = ["cpu"] if session.is_cpu else [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    if not devices:
        raise FailedError("torch sees no GPU")
    measured: dict[str, Any] = {}
    for device in devices:
        generator = torch.Generator(device).manual_seed(0)
        left, right = (
            torch.randn(size, size, generator=generator, device=device, dtype=torch.bfloat16) for _ in range(2)
        )
        made = left @ right
        _wait(device)
        start = time.monotonic()
        for _ in range(ROUNDS):
            made = left @ right
        _wait(device)
        seconds = (time.monotonic() - start) / ROUNDS
        exact = left[:ROWS].cpu().double() @ right.cpu().double()
        error = float((made[:ROWS].cpu().double() - exact).abs().max() / exact.abs().max())
        measured |= {f"TFLOP/s of {device}": 2 * size**3 / seconds / 1e12, f"error of {device}": error}
        if not error <= LARGEST_ERROR:
            raise FailedError(f"the product is wrong on {device}: more than {LARGEST_ERROR} off", measured)
    yield passed("matrix product", **measured)


def _wait(device: str) -> None:
    """Wait for the kernels of a GPU."""
    import torch

    if device != "cpu":
        torch.cuda.synchronize(device)

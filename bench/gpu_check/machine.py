"""Check the driver, torch's build for it, and a matrix product. Needs no library beside torch and filelock."""

import subprocess
import time
from collections.abc import Iterator
from typing import Any

from bench.gpu_check.outcome import FailedError, Line, Measurement, Session, passed

# Maximum error of a product in bfloat16 (8 bits, sums in float32) relative to the largest value in double precision.
MAX_ERROR = 0.01
ROUNDS, ROWS = 10, 16  # Timed products, and rows of the product that are compared.


def query(field: str) -> dict[str, str]:
    """Return a field of nvidia-smi for each visible GPU, by its name in CUDA_VISIBLE_DEVICES."""
    from reprise.models.local.gpus import list_visible_gpus

    command = ["nvidia-smi", f"--query-gpu=uuid,{field}", "--format=csv,noheader,nounits"]
    try:
        process = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return {}
    rows = [line.split(",", 1) for line in process.stdout.splitlines()]
    value_by_uuid = {uuid.strip(): value.strip() for uuid, value in rows}
    return {gpu.name: value_by_uuid[gpu.uuid] for gpu in list_visible_gpus() if gpu.uuid in value_by_uuid}


def driver(session: Session) -> Iterator[Line]:
    """Compare what a job reads from files about driver, GPUs and build with what torch reports when it uses them."""
    del session
    from reprise.core.errors import UserError
    from reprise.models.local.gpus import check_build, list_visible_gpus, read_installed_build

    gpus, build = list_visible_gpus(), read_installed_build()
    measured: dict[str, Measurement] = {
        "driver": next((gpu.driver_version for gpu in gpus), "none"),
        "build": build.name,
    }
    measured["CUDA of the build"] = build.cuda_version or "none"
    try:
        check_build(build, max(1, len(gpus)))
    except UserError as error:
        raise FailedError(str(error), measured) from error
    import torch

    if build.cuda_version != torch.version.cuda:
        raise FailedError(f"torch reports a build for CUDA {torch.version.cuda}", measured)
    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError) as error:
        raise FailedError(f"torch cannot use a GPU here: {error}", measured) from error
    count = torch.cuda.device_count()
    for number in range(count):
        gpu = torch.cuda.get_device_properties(number)
        measured[f"GPU {number}"] = f"{gpu.name}, sm_{gpu.major}{gpu.minor}, {gpu.total_memory / 1e9:.1f} GB"
    if len(gpus) != count:
        raise FailedError(f"the driver shows {len(gpus)} visible GPUs, torch {count}", measured)
    architectures = torch.cuda.get_arch_list()
    mismatch = set(build.architectures) ^ set(architectures)
    if build.architectures and mismatch:
        raise FailedError(
            f"the architectures of the build differ from those that a job reads: {', '.join(mismatch)}", measured
        )
    yield passed("driver", **measured)


def product(session: Session) -> Iterator[Line]:
    """Multiply two matrices on each GPU, and compare some rows with double precision on the CPU."""
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
        matrix_product = left @ right  # The first product is not timed, because it initialises the libraries.
        _synchronize(device)
        start = time.monotonic()
        for _ in range(ROUNDS):
            matrix_product = left @ right
        _synchronize(device)
        seconds = (time.monotonic() - start) / ROUNDS
        exact = left[:ROWS].cpu().double() @ right.cpu().double()
        error = float((matrix_product[:ROWS].cpu().double() - exact).abs().max() / exact.abs().max())
        measured |= {f"TFLOP/s of {device}": 2 * size**3 / seconds / 1e12, f"error of {device}": error}
        if not error <= MAX_ERROR:
            raise FailedError(f"the product is wrong on {device}: more than {MAX_ERROR} off", measured)
    yield passed("matrix product", **measured)


def _synchronize(device: str) -> None:
    """Wait for the kernels of a GPU."""
    import torch

    if device != "cpu":
        torch.cuda.synchronize(device)

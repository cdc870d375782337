"""Root causes of failed starts, in logs of several processes."""

from pathlib import Path

import pytest
from reprise.models.remote.serving.log_errors import find_root_cause

REAL = Path(__file__).with_name("failed_start.log").read_text()
"""of vLLM 0.32 with weights of other names, shortened"""


def logged(process: str, *lines: str, level: str = "ERROR") -> list[str]:
    return [f"({process}) {level} 11-28 17:26:48 [executor.py:953] {line}" for line in lines]


def traceback(*last: str) -> list[str]:
    return [
        "Traceback (most recent call last):",
        '  File "/env/vllm/x.py", line 1, in f',
        "    return g()",
        "           ^^^",
        *last,
    ]


POINTER = traceback("RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}")
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
NCCL = "torch.distributed.DistBackendError: NCCL error: remote process exited"
INTERLEAVED = [
    line
    for pair in zip(
        logged("Worker_TP0 pid=50", *traceback(NCCL)), logged("Worker_TP1 pid=51", *traceback(OOM)), strict=True
    )
    for line in pair
]
PYDANTIC = traceback(
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig",
    "  Value error, User-specified max_model_len (999999) is greater than the derived max_model_len",
    "    For further information visit https://errors.pydantic.dev",
)


@pytest.mark.parametrize(("lines", "cause"), [
    (REAL.splitlines(), "ValueError: There is no module or parameter named 'vision_tower.embeddings'"),
    ([*INTERLEAVED, *POINTER], OOM),
    # A traceback that was only a warning, and a failure that another one follows from.
    ([*logged("APIServer pid=1", *traceback("ImportError: no flashinfer"), level="WARNING"), *traceback("ValueError: a"), *POINTER], "ValueError: a"),
    ([*traceback("KeyError: 'x'"), "", "During handling of the above exception, another exception occurred:", "", *traceback("OSError: no config.json")], "OSError: no config.json"),
    (PYDANTIC, "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig Value error, User-specified max_model_len"),
    ([*traceback("ValueError: No available memory for the cache blocks."), "", *traceback("KeyboardInterrupt"), "the server ended with code 1"], "ValueError: No available memory for the cache blocks."),
    (["Fatal Python error: Segmentation fault", "", "Thread 0x1 (most recent call first):", '  File "x"'], "Fatal Python error: Segmentation fault"),
    (POINTER, "RuntimeError: Engine core initialization failed."),
    (traceback("AssertionError"), "AssertionError"),
])  # fmt: skip
def test_the_root_cause_is_found(lines: list[str], cause: str) -> None:
    found = find_root_cause("\n".join([*lines, "x" * 1000, ""]))
    assert found is not None and found.startswith(cause)


def test_a_log_without_a_traceback_has_none() -> None:
    assert find_root_cause("loading the weights\nRuntimeError: not of this class\n") is None

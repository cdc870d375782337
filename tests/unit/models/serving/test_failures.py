"""Test the root cause of a failed start that is found in a log of several processes."""

from pathlib import Path

import pytest
from reprise.models.remote.serving.log_errors import find_root_cause

REAL_LOG = Path(__file__).with_name("failed_start.log").read_text()
"""log of vLLM 0.32 with weights of other names, shortened"""


def format_log_lines(process: str, *lines: str, level: str = "ERROR") -> list[str]:
    return [f"({process}) {level} 11-28 17:26:48 [executor.py:953] {line}" for line in lines]


def make_traceback(*last_lines: str) -> list[str]:
    return [
        "Traceback (most recent call last):",
        '  File "/env/vllm/x.py", line 1, in f',
        "    return g()",
        "           ^^^",
        *last_lines,
    ]


SUMMARY = make_traceback(
    "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
)
OUT_OF_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
NCCL = "torch.distributed.DistBackendError: NCCL error: remote process exited"
INTERLEAVED = [
    line
    for pair in zip(
        format_log_lines("Worker_TP0 pid=50", *make_traceback(NCCL)),
        format_log_lines("Worker_TP1 pid=51", *make_traceback(OUT_OF_MEMORY)),
        strict=True,
    )
    for line in pair
]
PYDANTIC = make_traceback(
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig",
    "  Value error, User-specified max_model_len (999999) is greater than the derived max_model_len",
    "    For further information visit https://errors.pydantic.dev",
)


@pytest.mark.parametrize(("lines", "cause"), [
    (REAL_LOG.splitlines(), "ValueError: There is no module or parameter named 'vision_tower.embeddings'"),
    ([*INTERLEAVED, *SUMMARY], OUT_OF_MEMORY),
    # A traceback that was only a warning, and the failure that caused the summary.
    ([*format_log_lines("APIServer pid=1", *make_traceback("ImportError: no flashinfer"), level="WARNING"), *make_traceback("ValueError: a"), *SUMMARY], "ValueError: a"),
    ([*make_traceback("KeyError: 'x'"), "", "During handling of the above exception, another exception occurred:", "", *make_traceback("OSError: no config.json")], "OSError: no config.json"),
    (PYDANTIC, "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig Value error, User-specified max_model_len"),
    ([*make_traceback("ValueError: No available memory for the cache blocks."), "", *make_traceback("KeyboardInterrupt"), "the server ended with code 1"], "ValueError: No available memory for the cache blocks."),
    (["Fatal Python error: Segmentation fault", "", "Thread 0x1 (most recent call first):", '  File "x"'], "Fatal Python error: Segmentation fault"),
    (SUMMARY, "RuntimeError: Engine core initialization failed."),
    (make_traceback("AssertionError"), "AssertionError"),
])  # fmt: skip
def test_the_root_cause_is_found(lines: list[str], cause: str) -> None:
    root_cause = find_root_cause("\n".join([*lines, "x" * 1000, ""]))
    assert root_cause is not None and root_cause.startswith(cause)


def test_a_log_without_a_traceback_has_no_root_cause() -> None:
    assert find_root_cause("loading the weights\nRuntimeError: not of this class\n") is None

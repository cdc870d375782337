"""A fake nvidia-smi, which answers queries from a table."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """\
#!{python}
import json, sys, time
state = json.loads(open({state!r}).read())
time.sleep(state["seconds"])
fields = next(word for word in sys.argv if word.startswith("--query-gpu=")).partition("=")[2].split(",")
unknown = [field for field in fields if field in state["unknown"]]
if unknown:
    sys.exit(print(f'Field "{{unknown[0]}}" is not a valid field to query.') or 2)
print("\\n".join([*state["before"], *(", ".join(gpu[field] for field in fields) for gpu in state["gpus"])]))
sys.exit(state["code"])
"""
FREE = 81_007


def gpu(index: int, free: int | str = FREE, **fields: str) -> dict[str, str]:
    """Return what the driver reports of an H100, or of another card by other fields (`memory_total` for `memory.total`)."""
    defaults = {
        "index": str(index), "uuid": f"GPU-{index}{index}aa-bb", "memory.free": str(free), "memory.total": "81559",
        "driver_version": "580.65.06", "compute_cap": "9.0", "name": "NVIDIA H100 80GB HBM3",
    }  # fmt: skip
    return defaults | {name.replace("memory_", "memory."): value for name, value in fields.items()}


class FakeDriver:
    """An nvidia-smi that is the first one on the path."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._state = folder / "nvidia-smi.json"
        program = folder / "nvidia-smi"
        program.write_text(PROGRAM.format(python=sys.executable, state=str(self._state)))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder), prepend=":")
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def report(
        self,
        *gpus: dict[str, str],
        before: tuple[str, ...] = (),
        code: int = 0,
        seconds: float = 0,
        unknown: tuple[str, ...] = (),
    ) -> "FakeDriver":
        """Report these GPUs from now on, after lines that describe none."""
        state: dict[str, Any] = {"gpus": gpus, "before": before, "code": code, "seconds": seconds, "unknown": unknown}
        self._state.write_text(json.dumps(state))
        return self

"""Run one check in its own process: `python -m bench.gpu_check.process <order>`. Its lines go to a file.

The order is JSON: the fields of the check and of the session, and `output`, the file for the lines.
"""

import importlib
import importlib.util
import json
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from bench.gpu_check.outcome import FAILED, NOT_TRIED, FailedError, Line, NotTriedError, Session


def is_package_missing(name: str) -> bool:
    """Return whether Python finds no module of this name."""
    try:
        return importlib.util.find_spec(name) is None
    except ModuleNotFoundError:
        return True


def _missing_cause(error: BaseException | None) -> str:
    """Return the missing package that caused an error, or an empty string."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and error.name:
            package = error.name.partition(".")[0]
            return package if is_package_missing(package) else ""
        error = error.__cause__
    return ""


def status_of_error(error: BaseException) -> tuple[str, str]:
    """Return the status and the reason of an error that ended a check."""
    if isinstance(error, NotTriedError):
        return NOT_TRIED, str(error)
    if package := _missing_cause(error):
        return NOT_TRIED, f"{package} is missing"
    text = " ".join(str(error).split())
    return FAILED, text if isinstance(error, FailedError) else f"{type(error).__name__}: {text}"


def main(order: dict[str, Any]) -> None:
    """Run the check of an order, and write each line at once; an error becomes the result of all pending lines."""
    session = Session(order["device"], *(Path(order[name]) for name in ("folder", "store", "logs")))
    module, _, function = order["target"].partition(":")
    pending_lines, start = list(order["lines"]), time.monotonic()
    with Path(order["output"]).open("a", encoding="utf-8") as output:

        def write(line: Line) -> None:
            output.write(json.dumps(line._asdict()) + "\n")
            output.flush()

        try:
            for line in getattr(importlib.import_module(module), function)(session, *order["arguments"]):
                pending_lines.remove(line.name)
                write(line._replace(seconds=round(time.monotonic() - start, 1)))
        except BaseException as error:  # Whatever a library raises, each pending line needs a result.
            status, reason = status_of_error(error)
            if status == FAILED:
                traceback.print_exc()
            measured = error.measured if isinstance(error, FailedError) else {}
            for name in pending_lines:
                write(Line(name, status, measured, reason, round(time.monotonic() - start, 1)))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

"""Addresses within the report."""

from collections.abc import Iterable
from urllib.parse import quote

from reprise.report.fixed import BROWSER


def items_behind(run: str, metric: str = "", group: str = "", show: str = "") -> str:
    """The item browser at a run's items behind a number, from the top of the report."""
    parts = {"b": run.partition("/")[0], "run": run, "metric": metric, "group": group, "show": show}
    return f"{BROWSER}#{'&'.join(_spelt(parts.items()))}"


def _spelt(parts: Iterable[tuple[str, str]]) -> Iterable[str]:
    return (f"{name}={quote(value, safe='')}" for name, value in parts if value)

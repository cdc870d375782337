"""Addresses within the report."""

from collections.abc import Iterable, Mapping
from urllib.parse import quote

from reprise.report.fixed import BROWSER
from reprise.report.summary import Summary


class Links:
    """Links to the items behind numbers, by what the item browser can choose."""

    def __init__(self, summaries: Mapping[str, Summary]) -> None:
        self._summaries = summaries

    def behind(self, run: str, metric: str = "", group: str = "", show: str = "") -> str:
        """The item browser at a run's items, from the top of the report; nothing of a run that is not in it.

        A number of no single items, such as a bias, leads to all items that it is made from.
        """
        if run not in self._summaries:
            return ""
        known = self._summaries[run]
        chosen = {"metric": metric if metric in known.metrics else "", "group": group if group in known.groups else ""}
        parts = {"b": run.partition("/")[0], "run": run, **chosen, "show": show}
        return f"{BROWSER}#{'&'.join(_spelt(parts.items()))}"


def _spelt(parts: Iterable[tuple[str, str]]) -> Iterable[str]:
    return (f"{name}={quote(value, safe='')}" for name, value in parts if value)

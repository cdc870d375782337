"""Addresses within the report."""

from collections.abc import Iterable, Mapping
from urllib.parse import quote

from reprise.report.fixed import BROWSER
from reprise.report.summary import Summary

DATA = "data"
"""what stands for a run where a number was counted from the data"""


class Links:
    """Links to the items behind numbers, by what the item browser can choose."""

    def __init__(self, summaries: Mapping[str, Summary]) -> None:
        self._summaries = summaries

    def behind(self, run: str, metric: str = "", group: str = "", show: str = "", *, made: bool = False) -> str:
        """The item browser at a run's items, from the top of the report; nothing of a run that is not in it.

        A number of no single items, such as a bias, leads to all items that it is made from, and a number of the data
        to the items that were counted. With `made` the browser also says what the number was made from.
        """
        benchmark, _, of_it = run.partition("/")
        if of_it == DATA:
            return self._counted(benchmark, group)
        if run not in self._summaries:
            return ""
        known = self._summaries[run]
        chosen = {"metric": metric if metric in known.metrics else "", "group": group if group in known.groups else ""}
        return _address(
            {"b": benchmark, "run": run, **chosen, "show": show, "made": f"{metric}/{group}" if made else ""}
        )

    def _counted(self, benchmark: str, group: str) -> str:
        """The items of a group of the data."""
        known = [one for name, one in self._summaries.items() if name.partition("/")[0] == benchmark]
        groups = {name for one in known for name in one.groups}
        return _address({"b": benchmark, "group": group if group in groups else ""}) if known else ""


def _address(parts: Mapping[str, str]) -> str:
    return f"{BROWSER}#{'&'.join(_spelt(parts.items()))}"


def _spelt(parts: Iterable[tuple[str, str]]) -> Iterable[str]:
    return (f"{name}={quote(value, safe='')}" for name, value in parts if value)

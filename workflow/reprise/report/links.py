"""Addresses within the report."""

from collections.abc import Mapping
from urllib.parse import quote

from reprise.report.fixed import BROWSER
from reprise.report.runs import Summary


def browser_at(state: Mapping[str, str]) -> str:
    """The item browser at a state, from the top of the report."""
    return f"{BROWSER}#" + "&".join(f"{name}={quote(value, safe='')}" for name, value in state.items() if value)


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
        of_data = of_it == "data"  # a number that was counted from the data
        known = [
            summary
            for name, summary in self._summaries.items()
            if name == run or (of_data and name.startswith(f"{benchmark}/"))
        ]
        if not known:
            return ""
        chosen = {
            "b": benchmark,
            "run": "" if of_data else run,
            "metric": metric if metric in known[0].metrics and not of_data else "",
            "group": group if any(group in one.groups for one in known) else "",
            "show": show,
            "made": f"{metric}/{group}" if made and not of_data else "",
        }
        return browser_at(chosen)

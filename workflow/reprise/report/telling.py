"""The items of a benchmark that tell most, and the one that the item browser opens on."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reprise.media.views import FIRST, REVERSED, SHUFFLED
from reprise.report.keys import ReportedBenchmark, ReportedRun
from reprise.report.runs import NONE, RATING

BESIDE = (SHUFFLED, REVERSED, FIRST)  # what a run is held against, the first of these that it was shown
Columns = Mapping[str, Any]
State = dict[str, str]
"""What the address of the item browser says."""


class Telling(NamedTuple):
    """Items of one kind: how many there are, and where the browser shows them."""

    words: str
    number: int
    state: State


def with_time(entry: ReportedBenchmark, columns: Mapping[str, dict[str, Any]]) -> None:
    """Mark in each run's columns the items that it has right only with time: as planned, and in no view of time."""
    for run in entry.runs:
        views = [columns[name] for name in run.views.values()]
        own = columns[run.scored.name]
        known = own["fixed"] if RATING not in own else {RATING: own[RATING]}
        for metric, signs in known.items() if views else ():
            best = str(own["highest"]) if metric == RATING else "1"
            others = [one["fixed"][metric] if metric != RATING else one[RATING] for one in views]
            marks = [
                "1" if sign == best and best not in seen else "0" for sign, *seen in zip(signs, *others, strict=True)
            ]
            own.setdefault("time", {})[metric] = "".join(marks)


class Seen(NamedTuple):
    """A run with a number for each item, larger for the better answer; none where the item does not count."""

    run: ReportedRun
    columns: Columns
    metric: str

    def value(self, item: int) -> int | None:
        """What an item counts."""
        column = self.columns[RATING] if self.metric == RATING else self.columns["fixed"][self.metric]
        return None if column[item] == NONE else int(column[item])

    def total(self) -> int:
        """What all items count together."""
        return sum(self.value(item) or 0 for item in range(len(self.columns["state"])))


def best_two(entry: ReportedBenchmark, columns: Mapping[str, Columns]) -> list[Seen]:
    """The best run of each of the two best models."""
    ordered = sorted(_seen(entry, columns), key=Seen.total, reverse=True)
    by_model = {one.run.scored.run.model: one for one in reversed(ordered)}
    return [one for one in ordered if by_model[one.run.scored.run.model] is one][:2]


def telling(entry: ReportedBenchmark, best: Sequence[Seen]) -> list[tuple[Telling, Sequence[int]]]:
    """The kinds of items that there are, the most telling kind first, each with its items."""
    if not best:
        return []
    first, *others = best
    state = {"b": entry.name, "run": first.run.scored.name, "metric": first.metric}
    numbers = range(len(first.columns["state"]))
    found: list[tuple[str, State, Sequence[int]]] = []
    if marks := first.columns.get("time", {}).get(first.metric):
        other = next((first.run.views[view] for view in BESIDE if view in first.run.views), "")
        beside = state | {"other": other, "show": "time"}
        found.append(
            (f"{first.run.label} right only with time", beside, [item for item in numbers if marks[item] == "1"])
        )
    for second in others:
        labels = first.run.label, second.run.label
        beside = state | {"other": second.run.scored.name}
        better, worse = (
            [item for item in numbers if is_so(first.value(item), second.value(item))] for is_so in (_above, _below)
        )
        found.append((f"{labels[0]} right where {labels[1]} is wrong", beside | {"show": "better"}, better))
        found.append((f"{labels[1]} right where {labels[0]} is wrong", beside | {"show": "worse"}, worse))
    unread = [item for item in numbers if first.columns["state"][item] == "u"]
    found.append((f"answers of {first.run.label} that could not be read", state | {"show": "unread"}, unread))
    return [(Telling(words, len(items), state), items) for words, state, items in found if items]


def opened(found: Sequence[tuple[Telling, Sequence[int]]], ids: Sequence[str], plays: Callable[[int], bool]) -> State:
    """What the browser opens on: the first telling item whose clip plays, else the first telling one."""
    for is_fit in (plays, lambda item: True):
        for one, items in found:
            for item in items:
                if is_fit(item):
                    return one.state | {"item": ids[item]}
    return {}


def _seen(entry: ReportedBenchmark, columns: Mapping[str, Columns]) -> Iterator[Seen]:
    """The real models that were asked what the benchmark leads with; else those asked as the first one."""
    by_run = {run.run: run for run in reversed(entry.runs) if not run.reference}
    real = [run for run in entry.runs if by_run.get(run.run) is run]  # of several judges the first
    main = entry.headline
    kinds = [(main.protocol, main.sampling)] if main else []
    kinds += [(run.scored.run.protocol, run.scored.run.sampling) for run in real]
    alike = ([run for run in real if (run.scored.run.protocol, run.scored.run.sampling) == kind] for kind in kinds)
    for run in next(filter(None, alike), []):
        of_run = columns[run.scored.name]
        names = [RATING] if RATING in of_run else sorted(of_run["fixed"])
        metric = main.metric if main and main.metric in names else next(iter(names), "")
        if metric:
            yield Seen(run, of_run, metric)


def _above(first: int | None, second: int | None) -> bool:
    return first is not None and second is not None and first > second


def _below(first: int | None, second: int | None) -> bool:
    return _above(second, first)

"""A benchmark's items as the report shows them: their texts, groups and questions, in the order of the annotations."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl

from reprise.benchmarks.analysing import with_analysed_groups
from reprise.benchmarks.prompts import FRAME_COUNT
from reprise.benchmarks.registry import load_analyses, load_scores
from reprise.report.scripts import shown, without_empty

SHORT = 120
SEARCHED = 4000
"""characters of an item that a search looks at"""
ASKED = ("role", "ask", "system", "prompt", "options", "expected")

Requests = Mapping[str, Mapping[str, list[dict[str, Any]]]]
"""protocol -> item -> its questions"""


class Items:
    """The items of one benchmark."""

    def __init__(self, benchmark: str, items: pl.DataFrame, facts: pl.DataFrame | None) -> None:
        self.table = items
        self.ids: list[str] = items["item_id"].to_list()
        self.tasks: list[str] = items["task"].unique(maintain_order=True).to_list()
        self.grouped = _with_groups(benchmark, items, facts)
        """without texts, with the groups of analyses"""
        self._groups = _all_groups(benchmark, self.grouped, self.tasks)

    @property
    def names(self) -> list[str]:
        """The tests and groups that items can be chosen by."""
        return [*self.tasks, *self._groups]

    def of_catalog(self) -> dict[str, Any]:
        """What the catalog says of them."""
        return {"items": len(self.ids), "tasks": self.tasks, "groups": list(self._groups)}

    def index(self, clips: Mapping[str, int]) -> dict[str, Any]:
        """What is known of all items at once."""
        places = {task: place for place, task in enumerate(self.tasks)}
        units = {unit: place for place, unit in enumerate(self.table["unit"].unique(maintain_order=True))}
        return {
            "id": [shown(name) for name in self.ids],
            "task": [places[task] for task in self.table["task"]],
            "unit": [units[unit] for unit in self.table["unit"]],
            "groups": self._group_places(),
            "clip": [clips[name] for name in self.table["clip_id"]],
            "short": [_short(texts, answer) for texts, answer in self.table.select("texts", "answer").iter_rows()],
        }

    def _group_places(self) -> list[list[int]]:
        places: list[list[int]] = [[] for _ in self.ids]
        for place, is_member in enumerate(self._groups.values()):
            for number in is_member.arg_true().to_list():
                places[number].append(place)
        return places

    def searched(self) -> dict[str, Any]:
        """The text of each item that a search looks at."""
        rows = self.table.select("texts", "answer").iter_rows()
        return {"text": [_joined(texts, answer)[:SEARCHED].lower() for texts, answer in rows]}

    def objects(self, first: int, count: int, requests: Requests) -> Iterator[dict[str, Any]]:
        """Items in full, without answers."""
        for row in self.table.slice(first, count).iter_rows(named=True):
            asked = {protocol: found[row["item_id"]] for protocol, found in requests.items() if row["item_id"] in found}
            yield without_empty(
                {
                    "texts": _named(row["texts"]),
                    "answer": shown(row["answer"]),
                    "flaws": [shown(flaw) for flaw in row["flaws"]],
                    "tags": _named(row["tags"]),
                    "requests": asked,
                }
            )


def questions(requests: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """The questions of a protocol by item."""
    found: dict[str, list[dict[str, Any]]] = {}
    for item, role, ask, system, prompt, options, expected in requests.select("item_id", *ASKED).iter_rows():
        asked = {
            "role": role,
            "ask": ask,
            "system": shown(system.replace(FRAME_COUNT, "{frame_count}")),
            "prompt": shown(prompt.replace(FRAME_COUNT, "{frame_count}")),
            "options": [shown(option) for option in options],
            "expected": shown(expected),
        }
        found.setdefault(item, []).append(without_empty(asked))
    return found


def _with_groups(benchmark: str, items: pl.DataFrame, facts: pl.DataFrame | None) -> pl.DataFrame:
    analyses = load_analyses(benchmark)
    return items.drop("texts") if analyses is None else with_analysed_groups(items, facts, analyses)


def _all_groups(benchmark: str, items: pl.DataFrame, tasks: Iterable[str]) -> dict[str, pl.Series]:
    """Group -> which items are in it: those that numbers are computed for, and those that items name."""
    named = items["groups"].explode().drop_nulls().unique(maintain_order=True).to_list()
    found = {name: items.select(pl.col("groups").list.contains(name)).to_series() for name in named}
    defined = load_scores(benchmark).GROUPS
    found |= {
        name: items.select("item_id", is_member=one)["is_member"].fill_null(False) for name, one in defined.items()
    }
    return {name: is_member for name, is_member in found.items() if name not in tasks and is_member.any()}


def _named(texts: list[dict[str, str]]) -> list[dict[str, str]]:
    return [{"name": one["name"], "text": shown(one["text"])} for one in texts]


def _joined(texts: list[dict[str, str]], answer: str) -> str:
    return shown("\n".join([*(one["text"] for one in texts), answer]))


def _short(texts: list[dict[str, str]], answer: str) -> str:
    """One line that tells an item from others: its first text."""
    first = texts[0]["text"] if texts else answer
    line = " ".join(shown(first[: 4 * SHORT]).split())
    return line if len(line) <= SHORT else f"{line[: SHORT - 3]}..."

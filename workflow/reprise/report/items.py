"""A benchmark's items as the report shows them: their texts, groups and questions, in the order of the annotations."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from reprise.benchmarks.prompts import FRAME_COUNT
from reprise.benchmarks.registry import load_analyses, load_scores
from reprise.benchmarks.scoring import with_analysed_groups
from reprise.report.scripts import shown, without_empty

SHORT = 120
SEARCHED = 4000  # characters of an item that a search looks at

Requests = Mapping[str, Mapping[str, list[dict[str, Any]]]]
"""protocol -> item -> its questions"""


class Items:
    """The items of one benchmark."""

    def __init__(self, benchmark: str, items: pl.DataFrame, facts: pl.DataFrame | None) -> None:
        self._table = items
        self.ids: list[str] = items["item_id"].to_list()
        self.tasks: list[str] = items["task"].unique(maintain_order=True).to_list()
        analyses = load_analyses(benchmark)
        self.grouped = items.drop("texts") if analyses is None else with_analysed_groups(items, facts, analyses)
        """without texts, with the groups of analyses"""
        self.groups = self._members(load_scores(benchmark).GROUPS)

    def _members(self, defined: Mapping[str, pl.Expr]) -> dict[str, pl.Series]:
        """Group -> which items are in it: those that items name, and those that numbers are computed for."""
        named = self.grouped["groups"].explode().drop_nulls().unique(maintain_order=True).to_list()
        members = {name: pl.col("groups").list.contains(name) for name in named} | dict(defined)
        found = {
            name: self.grouped.select("item_id", is_member=one)["is_member"].fill_null(False)
            for name, one in members.items()
            if name not in self.tasks
        }
        return {name: is_member for name, is_member in found.items() if is_member.any()}

    def index(self, clips: Mapping[str, int]) -> dict[str, Any]:
        """What is known of all items at once."""
        places = {task: place for place, task in enumerate(self.tasks)}
        units = {unit: place for place, unit in enumerate(self._table["unit"].unique(maintain_order=True))}
        groups: list[list[int]] = [[] for _ in self.ids]
        for place, is_member in enumerate(self.groups.values()):
            for number in is_member.arg_true().to_list():
                groups[number].append(place)
        return {
            "id": [shown(name) for name in self.ids],
            "task": [places[task] for task in self._table["task"]],
            "unit": [units[unit] for unit in self._table["unit"]],
            "groups": groups,
            "clip": [clips[name] for name in self._table["clip_id"]],
            "short": [_short(texts, answer) for texts, answer in self._table.select("texts", "answer").iter_rows()],
        }

    def searched(self) -> dict[str, Any]:
        """The text of each item that a search looks at."""
        rows = self._table.select("texts", "answer").iter_rows()
        texts = ("\n".join([*(one["text"] for one in named), answer]) for named, answer in rows)
        return {"text": [shown(text)[:SEARCHED].lower() for text in texts]}

    def objects(self, first: int, count: int, requests: Requests) -> Iterator[dict[str, Any]]:
        """Items in full, without answers."""
        for row in self._table.slice(first, count).iter_rows(named=True):
            named = {
                kind: [{"name": one["name"], "text": shown(one["text"])} for one in row[kind]]
                for kind in ("texts", "tags")
            }
            yield without_empty(
                {
                    "texts": named["texts"],
                    "answer": shown(row["answer"]),
                    "flaws": [shown(flaw) for flaw in row["flaws"]],
                    "tags": named["tags"],
                    "requests": {name: of[row["item_id"]] for name, of in requests.items() if row["item_id"] in of},
                }
            )


def questions(requests: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """The questions of a protocol by item."""
    found: dict[str, list[dict[str, Any]]] = {}
    rows = requests.select("item_id", "role", "ask", "system", "prompt", "options", "expected").iter_rows()
    for item, role, ask, system, prompt, options, expected in rows:
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


def _short(texts: list[dict[str, str]], answer: str) -> str:
    """One line that tells an item from others: its first text."""
    first = texts[0]["text"] if texts else answer
    line = " ".join(shown(first[: 4 * SHORT]).split())
    return line if len(line) <= SHORT else f"{line[: SHORT - 3]}..."

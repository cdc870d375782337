"""A benchmark's items, their clips and the answers to them, as the item browser shows them."""

from collections.abc import Callable, Iterator, Mapping
from itertools import starmap
from typing import Any

import polars as pl

from reprise.benchmarks.prompts import FRAME_COUNT, FRAMES
from reprise.benchmarks.registry import load_analyses, load_scores
from reprise.benchmarks.scoring import with_analysed_groups
from reprise.report.folder import ENCODE, finite, shown, without_empty
from reprise.report.runs import RunTables

SHORT = 120
SEARCHED = 4000  # characters of an item that a search looks at
PLACE = ["item_id", "role"]
ANSWER = ("role", "text", "scores", "error", "message", "frames_shown", "tokens_in", "tokens_out")
# Of what read an answer, these say nothing that the page does not.
READ_BY = pl.col("read_by").replace(["score", "authors"], "").alias("by")
VERDICT = ("value", "score", "right", "unparsed", "failed", "by", "reply")

Requests = Mapping[str, Mapping[str, list[dict[str, Any]]]]  # protocol -> item -> its questions
Media = Callable[[Mapping[str, Any]], str]  # A clip's row of the ledger -> the address that plays it


class Items:
    def __init__(self, benchmark: str, items: pl.DataFrame, facts: pl.DataFrame | None) -> None:
        self._table = items
        self.ids: list[str] = items["item_id"].to_list()
        self.tasks: list[str] = items["task"].unique(maintain_order=True).to_list()
        analyses = load_analyses(benchmark)
        self.grouped = items.drop("texts") if analyses is None else with_analysed_groups(items, facts, analyses)
        """without texts, with the groups of analyses"""
        # Those that items name, and those that numbers are computed for.
        named = self.grouped["groups"].explode().drop_nulls().unique(maintain_order=True).to_list()
        members = {name: pl.col("groups").list.contains(name) for name in named} | dict(load_scores(benchmark).GROUPS)
        self.groups: dict[str, pl.Series] = {}  # group -> which items are in it
        for name in [name for name in members if name not in self.tasks]:
            is_member = self.grouped.select("item_id", one=members[name])["one"].fill_null(False)
            if is_member.any():
                self.groups[name] = is_member

    def index(self, clips: Mapping[str, int]) -> dict[str, Any]:
        places = {task: place for place, task in enumerate(self.tasks)}
        units = {unit: place for place, unit in enumerate(self._table["unit"].unique(maintain_order=True))}
        members: list[list[int]] = [[] for _ in self.ids]
        for place, is_member in enumerate(self.groups.values()):
            for number in is_member.arg_true().to_list():
                members[number].append(place)
        sets = {of: place for place, of in enumerate(dict.fromkeys(map(tuple, members)))}
        return {
            "id": [shown(name) for name in self.ids],
            "task": [places[task] for task in self._table["task"]],
            "unit": [units[unit] for unit in self._table["unit"]],
            "sets": list(sets),
            "groups": [sets[tuple(of)] for of in members],  # of an item: which of the sets of groups
            "clip": [clips[name] for name in self._table["clip_id"]],
        }

    def short(self) -> Iterator[str]:
        """The line of each item in the list."""
        return starmap(_short, self._table.select("texts", "answer").iter_rows())

    def searched(self) -> dict[str, Any]:
        """The text of each item that a search looks at."""
        rows = self._table.select("texts", "answer").iter_rows()
        texts = ("\n".join([*(one["text"] for one in named), answer]) for named, answer in rows)
        return {"text": [shown(text)[:SEARCHED].lower() for text in texts]}

    def objects(self, requests: Requests) -> Iterator[dict[str, Any]]:
        """Items in full, without answers."""
        for row in self._table.iter_rows(named=True):
            yield without_empty(
                {
                    "texts": [{"name": one["name"], "text": shown(one["text"])} for one in row["texts"]],
                    "answer": shown(row["answer"]),
                    "flaws": [shown(flaw) for flaw in row["flaws"]],
                    "tags": [{"name": one["name"], "text": shown(one["text"])} for one in row["tags"]],
                    "requests": {name: of[row["item_id"]] for name, of in requests.items() if row["item_id"] in of},
                }
            )


def questions(requests: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    rows = requests.select("item_id", "role", "ask", "system", "prompt", "options", "expected").iter_rows()
    for item, role, ask, system, prompt, options, expected in rows:
        asked = {
            "role": role,
            "ask": ask,
            "system": shown(system.replace(FRAME_COUNT, "{frame_count}")),
            "prompt": shown(prompt.replace(FRAME_COUNT, "{frame_count}").replace(FRAMES, " {frames} ")),
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


class Clips:
    """The clips that a benchmark's items are about, in the order of their first item."""

    def __init__(self, items: pl.DataFrame, ledger: pl.DataFrame, facts: pl.DataFrame) -> None:
        self._ids: list[str] = items["clip_id"].unique(maintain_order=True).to_list()
        self.places = {name: place for place, name in enumerate(self._ids)}
        self._ledger = {row["clip_id"]: row for row in ledger.iter_rows(named=True)}
        self._facts = {row["clip_id"]: row for row in facts.iter_rows(named=True)}

    def objects(self, media: Media) -> list[dict[str, Any]]:
        found = []
        for name in self._ids:
            row, facts = self._ledger.get(name, {"status": "not fetched", "message": ""}), self._facts.get(name, {})
            seconds, fps = (None if facts.get(one) is None else round(facts[one], 3) for one in ("duration_s", "fps"))
            found.append(
                {
                    "id": shown(name),
                    "media": media(row) if row["status"] == "ok" else "",
                    "status": row["status"],
                    "message": shown(row["message"]),
                    "seconds": seconds,
                    "frames": facts.get("frames"),
                    "fps": fps,
                }
            )
        return found

    def frames(self, plan: pl.DataFrame) -> Iterator[dict[str, Any]]:
        """The frames of a sampling, clip by clip, in the order in which they are shown.

        `at` is when each is in the clip that it is of, and `of` the place of that clip where a view shows another one.
        """
        rows = {row["clip_id"]: row for row in plan.iter_rows(named=True)}
        for name in self._ids:
            row = rows.get(name, {"indices": [], "times_s": [], "note": ""})
            yield {
                "indices": row["indices"],
                "at": self._at(row, [round(time, 3) for time in row["times_s"]]),
                "of": self.places.get(row.get("shown_clip") or ""),
                "note": shown(row["note"]),
            }

    def _at(self, row: Mapping[str, Any], moments: list[float]) -> list[float]:
        """When each shown frame is in its clip: later frames are at later moments of the plan."""
        if row.get("shown_clip"):
            fps = self._facts.get(row["shown_clip"], {}).get("fps") or 1.0
            return [round(index / fps, 3) for index in row["indices"]]
        first: dict[int, float] = {}
        for index, moment in zip(sorted(row["indices"]), moments, strict=True):
            first.setdefault(index, moment)
        return [first[index] for index in row["indices"]]


def encoded_answers(numbers: Mapping[str, int], run: RunTables, judge: str) -> dict[int, str]:
    """Item number -> its answers as JSON."""
    names = (judge, f"{judge}.authors") if judge else ("robust", "authors")
    rows = run.responses.select("item_id", *ANSWER)
    for name, verdicts in zip(names, (run.robust, run.authors), strict=True):
        if run.replies is None:
            verdicts = verdicts.with_columns(reply=pl.lit(""))
        else:  # the judge's reply that was read
            verdicts = verdicts.join(run.replies.select("request_id", reply="text"), on="request_id", how="left")
        reading = verdicts.with_columns(READ_BY).select(*PLACE, *VERDICT)
        rows = rows.join(reading, on=PLACE, how="left", maintain_order="left", suffix=name)
    found: dict[int, list[dict[str, Any]]] = {}
    for item, role, text, scores, error, message, frames, tokens_in, tokens_out, *read_by in rows.iter_rows():
        robust, authors = (_reading(*read_by[at : at + len(VERDICT)]) for at in (0, len(VERDICT)))
        # What the authors make of it stands only where it is something else.
        readings = {names[0]: robust, names[1]: None if authors == robust else authors}
        answer = {
            "role": role,
            "text": shown(text),
            "scores": [_rounded(score) for score in scores or ()],
            "error": error,
            "message": shown(message),
            "frames": frames,
            "tokens_in": tokens_in,
            "tokens_out": tokens_out,
            "read": {name: one for name, one in readings.items() if one is not None},
        }
        found.setdefault(numbers[item], []).append(without_empty(answer))
    return {number: ENCODE(answers) for number, answers in found.items()}


def _reading(value: str | None, score: float | None, *others: Any) -> dict[str, Any] | None:
    """What says something of a reading; None where there is none."""
    if value is None:
        return None
    *known, reply = others
    return without_empty(dict(zip(VERDICT, (shown(value), _rounded(score), *known, shown(reply)), strict=True)))


def _rounded(number: float | None) -> float | None:
    return None if (known := finite(number)) is None else round(known, 6)

"""The items of a benchmark, their clips and the answers to them, as the item browser shows them."""

from collections.abc import Callable, Iterator, Mapping
from itertools import starmap
from typing import Any

import polars as pl

from reprise.benchmarks.prompts import FRAME_COUNT, FRAMES
from reprise.benchmarks.registry import load_analyses, load_scores
from reprise.benchmarks.scoring import with_analysed_groups
from reprise.report.folder import ENCODE, display_text, finite, without_empty
from reprise.report.runs import RunTables

SHORT = 120
SEARCHED = 4000  # characters of an item that a search covers
PLACE = ["item_id", "role"]
ANSWER = ("role", "text", "scores", "error", "message", "frames_shown", "tokens_in", "tokens_out")
# The page shows scores and the authors' reader in any case, so these two names of readers are left empty.
READ_BY = pl.col("read_by").replace(["score", "authors"], "").alias("by")
VERDICT = ("value", "score", "right", "unparsed", "failed", "by", "reply")

Requests = Mapping[str, Mapping[str, list[dict[str, Any]]]]  # protocol -> item -> its questions
Media = Callable[[Mapping[str, Any]], str]  # a clip's row of the manifest -> the address of its video


class Items:
    """The items of a benchmark, with the groups that contain them."""

    def __init__(self, benchmark: str, items: pl.DataFrame, facts: pl.DataFrame | None) -> None:
        self._table = items
        self.ids: list[str] = items["item_id"].to_list()
        self.tasks: list[str] = items["task"].unique(maintain_order=True).to_list()
        analyses = load_analyses(benchmark)
        self.grouped = items.drop("texts") if analyses is None else with_analysed_groups(items, facts, analyses)
        """the items without texts, with the groups of analyses"""
        # The groups that items name, and those with computed numbers.
        names = self.grouped["groups"].explode().drop_nulls().unique(maintain_order=True).to_list()
        members = {name: pl.col("groups").list.contains(name) for name in names} | dict(load_scores(benchmark).GROUPS)
        self.groups: dict[str, pl.Series] = {}  # group -> whether it contains each item
        for name in [name for name in members if name not in self.tasks]:
            is_member = self.grouped.select("item_id", one=members[name])["one"].fill_null(False)
            if is_member.any():
                self.groups[name] = is_member

    def index(self, clips: Mapping[str, int]) -> dict[str, Any]:
        places = {task: index for index, task in enumerate(self.tasks)}
        units = {unit: index for index, unit in enumerate(self._table["unit"].unique(maintain_order=True))}
        members: list[list[int]] = [[] for _ in self.ids]
        for index, is_member in enumerate(self.groups.values()):
            for number in is_member.arg_true().to_list():
                members[number].append(index)
        group_sets = {groups: index for index, groups in enumerate(dict.fromkeys(map(tuple, members)))}
        return {
            "id": [display_text(name) for name in self.ids],
            "task": [places[task] for task in self._table["task"]],
            "unit": [units[unit] for unit in self._table["unit"]],
            "sets": list(group_sets),
            "groups": [group_sets[tuple(groups)] for groups in members],  # the index of each item's set of groups
            "clip": [clips[name] for name in self._table["clip_id"]],
        }

    def short(self) -> Iterator[str]:
        """Return the line of each item in the list."""
        return starmap(_short, self._table.select("texts", "answer").iter_rows())

    def searched(self) -> dict[str, Any]:
        """Return the text of each item that a search covers."""
        rows = self._table.select("texts", "answer").iter_rows()
        texts = ("\n".join([*(entry["text"] for entry in entries), answer]) for entries, answer in rows)
        return {"text": [display_text(text)[:SEARCHED].lower() for text in texts]}

    def objects(self, requests: Requests) -> Iterator[dict[str, Any]]:
        """Yield each item in full, without answers."""
        for row in self._table.iter_rows(named=True):
            yield without_empty(
                {
                    "texts": [{"name": text["name"], "text": display_text(text["text"])} for text in row["texts"]],
                    "answer": display_text(row["answer"]),
                    "flaws": [display_text(flaw) for flaw in row["flaws"]],
                    "tags": [{"name": tag["name"], "text": display_text(tag["text"])} for tag in row["tags"]],
                    "requests": {
                        protocol: by_item[row["item_id"]]
                        for protocol, by_item in requests.items()
                        if row["item_id"] in by_item
                    },
                }
            )


def questions(requests: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    by_item: dict[str, list[dict[str, Any]]] = {}
    rows = requests.select("item_id", "role", "ask", "system", "prompt", "options", "expected").iter_rows()
    for item, role, ask, system, prompt, options, expected in rows:
        question = {
            "role": role,
            "ask": ask,
            "system": display_text(system.replace(FRAME_COUNT, "{frame_count}")),
            "prompt": display_text(prompt.replace(FRAME_COUNT, "{frame_count}").replace(FRAMES, " {frames} ")),
            "options": [display_text(option) for option in options],
            "expected": display_text(expected),
        }
        by_item.setdefault(item, []).append(without_empty(question))
    return by_item


def _short(texts: list[dict[str, str]], answer: str) -> str:
    """Return one line that distinguishes an item from others: its first text."""
    first = texts[0]["text"] if texts else answer
    line = " ".join(display_text(first[: 4 * SHORT]).split())
    return line if len(line) <= SHORT else f"{line[: SHORT - 3]}..."


class Clips:
    """The clips of a benchmark's items, in the order of their first item."""

    def __init__(self, items: pl.DataFrame, ledger: pl.DataFrame, facts: pl.DataFrame) -> None:
        self._ids: list[str] = items["clip_id"].unique(maintain_order=True).to_list()
        self.places = {name: index for index, name in enumerate(self._ids)}
        self._manifest = {row["clip_id"]: row for row in ledger.iter_rows(named=True)}
        self._metadata = {row["clip_id"]: row for row in facts.iter_rows(named=True)}

    def objects(self, media: Media) -> list[dict[str, Any]]:
        clips = []
        for name in self._ids:
            row, metadata = (
                self._manifest.get(name, {"status": "not fetched", "message": ""}),
                self._metadata.get(name, {}),
            )
            seconds, fps = (
                None if metadata.get(field) is None else round(metadata[field], 3) for field in ("duration_s", "fps")
            )
            clips.append(
                {
                    "id": display_text(name),
                    "media": media(row) if row["status"] == "ok" else "",
                    "status": row["status"],
                    "message": display_text(row["message"]),
                    "seconds": seconds,
                    "frames": metadata.get("frames"),
                    "fps": fps,
                }
            )
        return clips

    def frames(self, plan: pl.DataFrame) -> Iterator[dict[str, Any]]:
        """Yield the frames of a sampling for each clip, in the order in which a model gets them.

        `at` is the time of each frame in its clip. `of` is the index of that clip if an ablation shows another clip.
        """
        rows = {row["clip_id"]: row for row in plan.iter_rows(named=True)}
        for name in self._ids:
            row = rows.get(name, {"indices": [], "times_s": [], "note": ""})
            yield {
                "indices": row["indices"],
                "at": self._frame_times(row, [round(time, 3) for time in row["times_s"]]),
                "of": self.places.get(row.get("shown_clip") or ""),
                "note": display_text(row["note"]),
            }

    def _frame_times(self, row: Mapping[str, Any], moments: list[float]) -> list[float]:
        """Return the time of each frame in its clip; later frames have later times in the plan."""
        if row.get("shown_clip"):
            fps = self._metadata.get(row["shown_clip"], {}).get("fps") or 1.0
            return [round(index / fps, 3) for index in row["indices"]]
        times: dict[int, float] = {}
        for index, moment in zip(sorted(row["indices"]), moments, strict=True):
            times.setdefault(index, moment)
        return [times[index] for index in row["indices"]]


def encoded_answers(numbers: Mapping[str, int], run: RunTables, judge: str) -> dict[int, str]:
    """Return the answers to each item as JSON, by the item's number."""
    names = (judge, f"{judge}.authors") if judge else ("robust", "authors")
    rows = run.responses.select("item_id", *ANSWER)
    for name, verdicts in zip(names, (run.robust, run.authors), strict=True):
        if run.replies is None:
            verdicts = verdicts.with_columns(reply=pl.lit(""))
        else:
            verdicts = verdicts.join(run.replies.select("request_id", reply="text"), on="request_id", how="left")
        columns = verdicts.with_columns(READ_BY).select(*PLACE, *VERDICT)
        rows = rows.join(columns, on=PLACE, how="left", maintain_order="left", suffix=name)
    answers: dict[int, list[dict[str, Any]]] = {}
    for item, role, text, scores, error, message, frames, tokens_in, tokens_out, *read_by in rows.iter_rows():
        robust, authors = (_reading(*read_by[start : start + len(VERDICT)]) for start in (0, len(VERDICT)))
        # The authors' reading is listed only if it differs.
        readings = {names[0]: robust, names[1]: None if authors == robust else authors}
        answer = {
            "role": role,
            "text": display_text(text),
            "scores": [_rounded(score) for score in scores or ()],
            "error": error,
            "message": display_text(message),
            "frames": frames,
            "tokens_in": tokens_in,
            "tokens_out": tokens_out,
            "read": {name: reading for name, reading in readings.items() if reading is not None},
        }
        answers.setdefault(numbers[item], []).append(without_empty(answer))
    return {number: ENCODE(item_answers) for number, item_answers in answers.items()}


def _reading(value: str | None, score: float | None, *rest: Any) -> dict[str, Any] | None:
    """Return the entries of a reading that have content; none if there is no reading."""
    if value is None:
        return None
    *entries, reply = rest
    return without_empty(
        dict(zip(VERDICT, (display_text(value), _rounded(score), *entries, display_text(reply)), strict=True))
    )


def _rounded(number: float | None) -> float | None:
    return None if (finite_number := finite(number)) is None else round(finite_number, 6)

"""Rounds of writing: every text is asked for until a reply can be used, with the reason why the last one could not."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from reprise.benchmarks.prompts import Prompt, fill
from reprise.construction.filters import KEPT, Row

FEEDBACK = "\n\nYour last reply was:\n{reply}\n\nIt cannot be used ({problem}: {why}). Write it again."


class Reading(NamedTuple):
    """A reply as it was read: the text, or the name of its problem and what was found."""

    text: str = ""
    target: str = ""
    problem: str = ""
    why: str = ""


Read = Callable[[Row, str, Mapping[str, str]], Reading]
"""a text to be written, a reply, and the texts that are written already, by id -> what it says"""
FAILED = "failed"


class Rounds:
    """The replies of all rounds so far, read. A text may be asked for from a later round on, once it is known."""

    def __init__(self, texts: Sequence[Row], rounds: Sequence[Sequence[Mapping[str, Any]]], read: Read) -> None:
        self._replies = [{row["item_id"]: row for row in given} for given in rounds]
        self.written: dict[str, str] = {}
        self._readings: dict[str, list[tuple[str, Reading]]] = {}
        for text in sorted(texts, key=lambda text: bool(text["instead_of"])):  # what others must not repeat first
            found = self._readings[text["text_id"]] = list(self._read(text, read))
            if found and not found[-1][1].problem:
                self.written[text["text_id"]] = found[-1][1].text
        self._texts = texts

    def _read(self, text: Row, read: Read) -> Any:
        for replies in self._replies:
            row = replies.get(text["text_id"])
            if row is None:
                continue
            reading = (
                Reading(problem=FAILED, why=f"{row['error']}: {row['message']}")
                if row["error"]
                else read(text, row["text"], self.written)
            )
            yield row["text"], reading
            if not reading.problem or reading.problem == FAILED:
                return

    def requests(self, prompts: Mapping[str, Prompt], max_tokens: int) -> list[Row]:
        """What is asked in the next round; a question that failed is not asked in other words."""
        number = len(self._replies) + 1
        rows = []
        for text in self._texts:
            name, found = text["text_id"], self._readings[text["text_id"]]
            if found and found[-1][1].problem in ("", FAILED):
                continue
            values = {one["name"]: one["text"] for one in text["values"]}
            values["feedback"] = _feedback(*found[-1]) if found else ""
            rows.append({
                "request_id": f"{name}#{number}", "item_id": name, "clip_id": name, "role": str(number),
                "ask": "write", "system": fill(prompts[text["kind"]].system, values),
                "prompt": fill(prompts[text["kind"]].user, values), "options": [], "option_texts": [], "expected": "",
                "max_tokens": max_tokens,
            })  # fmt: skip
        return rows

    def table(self) -> list[Row]:
        """Every text with all of its replies; one without a usable reply is dropped, by the last one's problem."""
        return [self._row(text) for text in self._texts]

    def _row(self, text: Row) -> Row:
        found = self._readings[text["text_id"]]
        last = found[-1][1] if found else Reading(problem=FAILED, why="it was not asked for")
        return {
            "text_id": text["text_id"],
            "kind": text["kind"],
            "rounds": len(found),
            "text": last.text,
            "target": last.target,
            "replies": [reply for reply, _ in found],
            "problems": [f"{one.problem}: {one.why}" for _, one in found if one.problem],
            **(KEPT if not last.problem else {"filter": last.problem, "why": last.why}),
        }


def _feedback(reply: str, reading: Reading) -> str:
    values = {"reply": reply, "problem": reading.problem, "why": reading.why}
    return fill(FEEDBACK, values)

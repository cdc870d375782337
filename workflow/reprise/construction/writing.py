"""Rounds of writing: every text is asked for until a reply can be used, with the reason why the last one could not."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reprise.benchmarks.prompts import Prompt, fill
from reprise.construction.filters import KEPT, Row
from reprise.construction.replies import UnusableError

FEEDBACK = "\n\nYour last reply was:\n{reply}\n\nIt cannot be used ({problem}: {why}). Write it again."
FAILED = "failed"


class Reading(NamedTuple):
    """A reply as it was read: the text, or the name of its problem and what was found."""

    reply: str = ""
    text: str = ""
    target: str = ""
    problem: str = ""
    why: str = ""


Read = Callable[[Row, str, Mapping[str, str]], tuple[str, str]]
"""a text to be written, a reply, and the texts that are written already, by id -> what it says, and its target"""


class Rounds:
    """The replies of all rounds so far, read. A text may be asked for from a later round on, once it is known."""

    def __init__(self, texts: Sequence[Row], rounds: Sequence[Sequence[Mapping[str, Any]]], read: Read) -> None:
        self._replies = [{row["item_id"]: row for row in given} for given in rounds]
        self._texts, self._read = texts, read
        self.written: dict[str, str] = {}
        self._readings: dict[str, list[Reading]] = {}
        for text in sorted(texts, key=lambda text: bool(text["instead_of"])):  # what others must not repeat first
            found = self._readings[text["text_id"]] = list(self._of(text))
            if found and not found[-1].problem:
                self.written[text["text_id"]] = found[-1].text

    def _of(self, text: Row) -> Iterator[Reading]:
        """The replies about a text, until one can be used or failed."""
        for row in (replies[text["text_id"]] for replies in self._replies if text["text_id"] in replies):
            if row["error"]:
                yield Reading(row["text"], problem=FAILED, why=f"{row['error']}: {row['message']}")
                return
            try:
                yield Reading(row["text"], *self._read(text, row["text"], self.written))
                return
            except UnusableError as error:
                yield Reading(row["text"], problem=error.problem, why=error.why)

    def requests(self, prompts: Mapping[str, Prompt], max_tokens: int) -> list[Row]:
        """What is asked in the next round; a question that failed is not asked in other words."""
        number = len(self._replies) + 1
        rows = []
        for text in self._texts:
            name = text["text_id"]
            last = next(reversed(self._readings[name]), None)
            if last and last.problem in ("", FAILED):
                continue
            values = {one["name"]: one["text"] for one in text["values"]}
            values["feedback"] = fill(FEEDBACK, last._asdict()) if last else ""
            system, prompt = (fill(part, values) for part in (prompts[text["kind"]].system, prompts[text["kind"]].user))
            rows.append(request(name, number, system, prompt, max_tokens) | {"request_id": f"{name}#{number}"})
        return rows

    def table(self) -> list[Row]:
        """Every text with all of its replies; one without a usable reply is dropped, by the last one's problem."""
        rows = []
        for text in self._texts:
            found = self._readings[text["text_id"]]
            last = found[-1] if found else Reading(problem=FAILED, why="it was not asked for")
            rows.append({
                "text_id": text["text_id"], "kind": text["kind"], "rounds": len(found), "text": last.text,
                "target": last.target, "replies": [one.reply for one in found],
                "problems": [f"{one.problem}: {one.why}" for one in found if one.problem],
                **({"filter": last.problem, "why": last.why} if last.problem else KEPT),
            })  # fmt: skip
        return rows


def request(name: str, number: int, system: str, prompt: str, max_tokens: int) -> Row:
    """What a writer is asked in a round."""
    return {
        "request_id": name, "item_id": name, "clip_id": name, "role": str(number), "ask": "write", "system": system,
        "prompt": prompt, "options": [], "option_texts": [], "expected": "", "max_tokens": max_tokens,
    }  # fmt: skip

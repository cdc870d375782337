"""`item`: one item of a run: what the model saw, what it was asked, what it answered, and how that was read."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.prompts import with_frame_count
from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import Answered
from reprise.commands.failures import MEANINGS
from reprise.commands.plans import plan_of
from reprise.core.errors import UserError, choices
from reprise.core.paths import Run
from reprise.core.plain import plain, safe
from reprise.core.schemas import (
    CLIP_LEDGER,
    FACTS,
    FRAME_PLAN,
    ITEMS,
    REQUESTS,
    RESPONSES,
    VERDICTS,
    read_table,
)
from reprise.media.errors import MediaError
from reprise.plan.runs import Plan
from reprise.reading.readers import READERS
from reprise.stages.preview import contact_sheet, write_sheet

LONGEST = 2000
SHOWN = 20
INDENT = "  "

Row = Mapping[str, Any]


def show_item(words: str, item: str | None, suite: str | None) -> None:
    """Print one item of a run, or, without a name, which items it got wrong."""
    plan = plan_of(suite)
    look = Look(plan, plan.find_run(words))
    print("\n".join(look.wrong() if item is None else look.at(item)))


class Asked(NamedTuple):
    """One question about an item, and what became of it."""

    request: Row
    response: Row | None
    verdicts: Mapping[str, Row]
    """by reader"""


class Look:
    """A run's tables, read once."""

    def __init__(self, plan: Plan, run: Run) -> None:
        results = plan.results
        self._plan, self._run = plan, run
        self._judges = plan.judges_of(run.benchmark) if plan.is_judged(run.benchmark, run.protocol) else []
        self._requests = self._read(results.requests(run.benchmark, run.protocol), REQUESTS)
        self._responses = self._read(results.responses(run), RESPONSES)

    def _read(self, path: Path, schema: pl.Schema) -> pl.DataFrame:
        if not path.is_file():
            raise UserError(f"{path}: not there yet. `python -m reprise why {self._run.name}` says what is missing.")
        return read_table(path, schema)

    # Which items

    def wrong(self) -> Iterator[str]:
        """The questions that were answered wrong, not readably, or not at all."""
        reader = self._judges[0] if self._judges else "robust"
        rows = self._verdicts_of(reader)
        expected = dict(self._requests.select("request_id", "expected").iter_rows())
        found = [(self._kind(row), row) for row in rows.iter_rows(named=True)]
        others = [(kind, row["request_id"], row) for kind, row in found if not row["right"]]
        yield f"{self._run.name}: {len(found) - len(others)} of {len(found)} answers are right."
        if self._judges:
            others.sort(key=lambda one: one[2]["score"] or 0.0)
        for kind, name, row in others[:SHOWN]:
            read = f"read {plain(row['value'])!r}" if row["value"] and kind != "rated" else plain(row["value"])
            wanted = f"expected {plain(expected[name])!r}" if expected.get(name) else ""
            yield f"{INDENT}{kind:<7} {plain(name)}  {', '.join(filter(None, [read, wanted]))}".rstrip()
        if others[SHOWN:]:
            yield f"{INDENT}and {len(others) - SHOWN} more, in {self._plan.results.verdicts(self._run, reader)}"
        yield f"One of them: python -m reprise item {self._run.name} <item>"

    def _verdicts_of(self, reader: str) -> pl.DataFrame:
        return self._read(self._plan.results.verdicts(self._run, reader), VERDICTS)

    # One item

    def at(self, name: str) -> Iterator[str]:
        """Item, clip, frames, questions with their answers, and what counts."""
        items = self._read(self._plan.results.items(self._run.benchmark), ITEMS)
        known = self._requests["item_id"]
        wanted = name if name in known else name.rpartition("#")[0] or name
        asked = self._requests.filter(item_id=wanted)
        if asked.is_empty():
            raise UserError(
                f"{self._run.name}: no item '{wanted}'.{choices(wanted, known)} "
                f"`python -m reprise item {self._run.name}` lists those that were answered wrong."
            )
        item = items.filter(item_id=wanted).row(0, named=True)
        clip = self._clip(item["clip_id"])
        plan = self._frame_plan(item["clip_id"])
        yield from self._of_item(item)
        yield from self._of_clip(item["clip_id"], clip)
        questions = [self._asked(row) for row in asked.iter_rows(named=True)]
        shown = max((one.response["frames_shown"] for one in questions if one.response), default=0)
        yield from self._of_frames(clip, plan, shown)
        for question in questions:
            yield from self._of_question(question, len(plan["indices"]) if plan else 0)
        yield from self._of_judges(wanted)
        yield from self._counted(items, wanted)

    def _of_item(self, item: Row) -> Iterator[str]:
        yield f"Item {plain(item['item_id'])} of {self._run.name}"
        yield f"{INDENT}task: {plain(item['task'])}; groups: {plain(', '.join(item['groups'])) or 'none'}"
        for text in item["texts"]:
            if text["text"]:
                yield from _field(text["name"], text["text"])
        if item["answer"]:
            yield from _field("answer", item["answer"])
        for flaw in item["flaws"]:
            yield from _field("flaw", flaw)

    def _clip(self, clip_id: str) -> Row | None:
        """The clip's row of the ledgers."""
        for benchmark, _, path in self._plan.results.found_ledgers("clips"):
            if benchmark == self._run.benchmark:
                found = read_table(path, CLIP_LEDGER).filter(clip_id=clip_id)
                if found.height:
                    return found.row(0, named=True)
        return None

    def _of_clip(self, clip_id: str, clip: Row | None) -> Iterator[str]:
        yield f"Clip {plain(clip_id)}"
        if clip is None or clip["status"] != "ok":
            status = clip["status"] if clip else "not looked for yet"
            meaning = f" ({MEANINGS[status]})" if status in MEANINGS else ""
            yield f"{INDENT}missing: {status}{meaning}: {plain(clip['message']) if clip else ''}".rstrip(": ")
            return
        path = self._plan.store.root / clip["object"]
        yield f"{INDENT}file: {path}{'' if path.is_file() else ' (it is gone; the next run makes it again)'}"
        facts = self._plan.results.facts(self._run.benchmark)
        known = read_table(facts, FACTS).filter(clip_id=clip_id) if facts.is_file() else pl.DataFrame()
        for row in known.iter_rows(named=True):
            size = f"{row['width']}x{row['height']}"
            yield f"{INDENT}{row['duration_s']:.2f} s, {row['frames']} frames, {row['fps']:.2f} a second, {size}"

    def _frame_plan(self, clip_id: str) -> Row | None:
        path = self._plan.results.frames(self._run.benchmark, self._run.sampling)
        found = read_table(path, FRAME_PLAN).filter(clip_id=clip_id) if path.is_file() else pl.DataFrame()
        return found.row(0, named=True) if found.height else None

    def _of_frames(self, clip: Row | None, plan: Row | None, shown: int) -> Iterator[str]:
        """The frames of the sampling as a picture, and how many of them the model says it saw."""
        if plan is None or clip is None or clip["status"] != "ok":
            return
        seen = f"as {shown} picture" if plan["grid"] else f"{shown}"
        yield f"Frames {self._run.sampling}: {len(plan['indices'])} in the plan, {seen} shown to the model"
        if plan["note"]:
            yield from _field("note", plan["note"])
        if not plan["indices"]:
            return
        name = f"{clip['clip_id'].replace('/', '_')}.{self._run.sampling}.png"
        target = self._plan.results.folder / "frames" / "preview" / self._run.benchmark / name
        try:
            write_sheet(contact_sheet(self._plan.store.root / clip["object"], dict(plan), name), target)
        except (MediaError, OSError) as error:
            yield f"{INDENT}no picture of them: {plain(str(error))}"
        else:
            yield f"{INDENT}picture: {target}"

    def _asked(self, request: Row) -> Asked:
        name = request["request_id"]
        readings = {} if self._judges else {reader: self._verdicts_of(reader) for reader in READERS}
        verdicts = {reader: frame.filter(request_id=name) for reader, frame in readings.items()}
        response = self._responses.filter(request_id=name)
        return Asked(
            request,
            response.row(0, named=True) if response.height else None,
            {reader: frame.row(0, named=True) for reader, frame in verdicts.items() if frame.height},
        )

    def _of_question(self, question: Asked, frames: int) -> Iterator[str]:
        request, response = question.request, question.response
        yield f"Question {plain(request['role'])} (the model is to {request['ask']})"
        for name in ("system", "prompt"):
            if request[name]:
                yield from _field(name, with_frame_count(request[name], frames))
        if request["options"]:
            yield from _field("options", ", ".join(request["options"]))
        yield from _field("expected", request["expected"] or "(a judge decides)")
        if response is None:
            yield f"{INDENT}not asked: its clip is missing; it counts as missing"
            return
        if response["error"]:
            yield from _field(
                f"failed: {response['error']}", response["message"] or MEANINGS.get(response["error"], "")
            )
        if response["text"] or not response["scores"]:
            yield from _field("answer", response["text"] or "(no text)")
        if response["scores"]:
            options = request["options"] or [""] * len(response["scores"])
            pairs = zip(options, response["scores"], strict=False)
            yield from _field("scores", ", ".join(f"{option} {score:.4f}" for option, score in pairs))
        for reader, verdict in question.verdicts.items():
            yield from _field(f"read by {reader}", self._in_words(verdict))

    def _of_judges(self, item: str) -> Iterator[str]:
        """What each judge replied about the item's answers as each reader reads them, and how that is read."""
        for judge in self._judges:
            path = self._plan.results.judge_responses(self._run, judge)
            replies = read_table(path, RESPONSES) if path.is_file() else pl.DataFrame(schema=RESPONSES)
            for reader in READERS:
                name = judge if reader == "robust" else f"{judge}.{reader}"
                for verdict in self._verdicts_of(name).filter(item_id=item).iter_rows(named=True):
                    yield f"Judge {judge}, about the answer as reader {reader} takes it"
                    for reply in replies.filter(request_id=verdict["request_id"]).iter_rows(named=True):
                        if reply["error"]:
                            yield from _field(
                                f"failed: {reply['error']}", reply["message"] or MEANINGS.get(reply["error"], "")
                            )
                        yield from _field("reply", reply["text"] or "(no text)")
                    yield f"{INDENT}read: {self._in_words(verdict)}"

    def _counted(self, items: pl.DataFrame, item: str) -> Iterator[str]:
        """Which metrics count the item, or the sample that it belongs to, as right."""
        run = self._run
        form = self._plan.config.benchmarks[run.benchmark].protocols[run.protocol].form
        verdicts = self._verdicts_of(self._judges[0] if self._judges else "robust")
        found = load_scores(run.benchmark).SCORES[form].outcomes(Answered(items, verdicts))
        counted = {metric: frame.filter(item_id=item) for metric, frame in found.items()}
        words = [
            f"{name} {'right' if frame['right'][0] else 'wrong'}" for name, frame in counted.items() if frame.height
        ]
        if words:
            yield f"Counts as: {', '.join(words)}"

    def _kind(self, verdict: Row) -> str:
        """What became of an answer."""
        if verdict["failed"]:
            return "failed"
        if verdict["unparsed"]:
            return "unread"
        if self._judges and verdict["score"] is not None:
            return "rated"
        return "right" if verdict["right"] else "wrong"

    def _in_words(self, verdict: Row) -> str:
        kind = self._kind(verdict)
        if kind == "rated":
            return f"rated {verdict['value']}"
        value = f"{plain(verdict['value'])!r}: " if verdict["value"] else ""
        by = f", read by: {verdict['read_by']}" if verdict["read_by"] not in ("", "score", "authors") else ""
        score = "" if verdict["score"] is None else f", score {verdict['score']:.4f}"
        return f"{value}{kind}{score}{by}"


def _field(name: str, text: str) -> Iterator[str]:
    """A named text; one of several lines stands below its name, so that it cannot be taken for another field."""
    shown = safe(text[: 2 * LONGEST])
    more = f"... ({len(text)} characters)" if len(text) > LONGEST else ""
    lines = f"{shown[:LONGEST]}{more}".splitlines() or [""]
    if len(lines) == 1:
        yield f"{INDENT}{plain(name)}: {lines[0]}"
    else:
        yield f"{INDENT}{plain(name)}:"
        yield from (f"{INDENT}| {line}" for line in lines)

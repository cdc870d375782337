"""`item`: one item of a run: what the model saw, what it was asked, what it answered, and how that was read."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reprise.benchmarks.prompts import FRAMES, with_frame_count
from reprise.commands.shared import MEANINGS, ledger_of, named_text, outcomes_of, plan_of, reader_of, there
from reprise.core.errors import UserError, choices
from reprise.core.paths import Run
from reprise.core.plain import plain, safe
from reprise.core.schemas import FACTS, FRAME_PLAN, ITEMS, REQUESTS, RESPONSES, VERDICTS, read_table
from reprise.media.errors import MediaError
from reprise.plan.runs import Plan
from reprise.reading.readers import READERS
from reprise.stages.preview import contact_sheet, write_sheet

LONGEST = 2000
SHOWN = 20

Row = Mapping[str, Any]


def show_item(words: str, item: str | None, suite: str | None) -> None:
    plan = plan_of(suite)
    look = Look(plan, plan.find_run(words))
    print("\n".join(look.wrong() if item is None else look.at(item)))


class Look:
    def __init__(self, plan: Plan, run: Run) -> None:
        self._plan, self._run, self._results = plan, run, plan.results
        self._judges = plan.judges_of(run.benchmark) if plan.is_judged(run.benchmark, run.protocol) else []
        self._requests = read_table(there(self._results.requests(run.benchmark, run.protocol), "item"), REQUESTS)
        self._responses = read_table(there(self._results.responses(run), "item"), RESPONSES)

    def _verdicts_of(self, reader: str) -> pl.DataFrame:
        return read_table(there(self._results.verdicts(self._run, reader), "item"), VERDICTS)

    def wrong(self) -> Iterator[str]:
        """The questions that were answered wrong, not readably, or not at all; of judged ones the worst first."""
        reader = reader_of(self._plan, self._run)
        rows = list(self._verdicts_of(reader).iter_rows(named=True))
        expected = dict(self._requests.select("request_id", "expected").iter_rows())
        others = [row for row in rows if not row["right"]]
        yield f"{self._run.name}: {len(rows) - len(others)} of {len(rows)} answers are right."
        if self._judges:
            others.sort(key=lambda row: row["score"] or 0.0)
        for row in others[:SHOWN]:
            name, value = row["request_id"], plain(row["value"])
            read = f"read {value!r}" if value else ""
            wanted = f"expected {plain(expected[name])!r}" if expected.get(name) else ""
            yield f"  {self._kind(row):<7} {plain(name)}  {', '.join(filter(None, [read, wanted]))}".rstrip()
        if others[SHOWN:]:
            yield f"  and {len(others) - SHOWN} more, in {self._results.verdicts(self._run, reader)}"
        yield f"One of them: python -m reprise item {self._run.name} <item>"

    def at(self, name: str) -> Iterator[str]:
        run, known = self._run, self._requests["item_id"]
        wanted = name if name in known else name.rpartition("#")[0] or name
        asked = self._requests.filter(item_id=wanted)
        if asked.is_empty():
            raise UserError(
                f"{run.name}: no item '{wanted}'.{choices(wanted, known)} "
                f"`python -m reprise item {run.name}` lists those that were answered wrong."
            )
        item = read_table(self._results.items(run.benchmark), ITEMS).filter(item_id=wanted).row(0, named=True)
        yield f"Item {plain(wanted)} of {run.name}"
        yield f"  task: {plain(item['task'])}; groups: {plain(', '.join(item['groups'])) or 'none'}"
        yield from _fields(*((one["name"], one["text"]) for one in item["texts"]), ("answer", item["answer"]))
        yield from _fields(*(("flaw", flaw) for flaw in item["flaws"]))
        frames = _row_of(self._results.frames(run.benchmark, run.sampling), FRAME_PLAN, clip_id=item["clip_id"])
        yield from self._clip(item["clip_id"], frames, self._responses.filter(item_id=wanted)["frames_shown"])
        for request in asked.iter_rows(named=True):
            yield from self._question(request, len(frames["indices"]) if frames else 0)
        for judge in self._judges:
            yield from self._judged(wanted, judge)
        counted = [
            f"{metric} {'right' if row['right'] else 'wrong'}"
            for metric, outcomes in outcomes_of(self._plan, run, "item").items()
            for row in outcomes.filter(item_id=wanted).head(1).iter_rows(named=True)
        ]
        if counted:
            yield f"Counts as: {', '.join(counted)}"

    def _clip(self, clip_id: str, frames: Row | None, shown: pl.Series) -> Iterator[str]:
        """The clip, and the frames of the sampling as a picture, with how many of them the model says it saw."""
        yield f"Clip {plain(clip_id)}"
        clips = ledger_of(self._plan, "clips", self._run.benchmark)
        clip = _first(clips.filter(clip_id=clip_id))
        if clip is None or clip["status"] != "ok":
            status, message = (clip["status"], plain(clip["message"])) if clip else ("not looked for yet", "")
            yield f"  missing: {status} ({MEANINGS.get(status, status)}): {message}".rstrip(": ")
            return
        path = self._plan.store.root / clip["object"]
        yield f"  file: {path}{'' if path.is_file() else ' (it is gone; the next run makes it again)'}"
        if known := _row_of(self._results.facts(self._run.benchmark), FACTS, clip_id=clip_id):
            size = f"{known['width']}x{known['height']}"
            yield f"  {known['duration_s']:.2f} s, {known['frames']} frames, {known['fps']:.2f} a second, {size}"
        if frames is None:
            return
        most = max(shown.to_list(), default=0)
        seen = f"as {most} picture" if frames["grid"] else f"{most}"
        yield f"Frames {self._run.sampling}: {len(frames['indices'])} in the plan, {seen} shown to the model"
        yield from _fields(("note", frames["note"]))
        if frames["indices"]:
            if frames["shown_clip"]:
                path = self._plan.store.root / clips.filter(clip_id=frames["shown_clip"])["object"][0]
                yield f"  their file: {path}"
            name = f"{clip_id.replace('/', '_')}.{self._run.sampling}.png"
            target = self._results.folder / "frames" / "preview" / self._run.benchmark / name
            try:
                write_sheet(contact_sheet(path, dict(frames), name), target)
                yield f"  picture: {target}"
            except (MediaError, OSError) as error:
                yield f"  no picture of them: {plain(str(error))}"

    def _question(self, request: Row, frames: int) -> Iterator[str]:
        yield f"Question {plain(request['role'])} (the model is to {request['ask']})"
        yield from _fields(
            ("system", with_frame_count(request["system"], frames)),
            ("prompt", with_frame_count(request["prompt"], frames).replace(FRAMES, f" [{frames} frames]")),
            ("options", ", ".join(request["options"])),
            ("expected", request["expected"] or "(a judge decides)"),
        )
        response = _first(self._responses.filter(request_id=request["request_id"]))
        if response is None:
            yield "  not asked: its clip is missing; it counts as missing"
        else:
            yield from _fields(*_answer(response, request["options"]))
        for reader in () if self._judges else READERS:
            if verdict := _first(self._verdicts_of(reader).filter(request_id=request["request_id"])):
                yield from _fields((f"read by {reader}", self._in_words(verdict)))

    def _judged(self, item: str, judge: str) -> Iterator[str]:
        """What a judge replied about the item's answers as each reader reads them, and how that is read."""
        path = self._results.judge_responses(self._run, judge)
        for reader in READERS:
            verdicts = self._verdicts_of(judge if reader == "robust" else f"{judge}.{reader}")
            for verdict in verdicts.filter(item_id=item).iter_rows(named=True):
                yield f"Judge {judge}, about the answer as reader {reader} takes it"
                if reply := _row_of(path, RESPONSES, request_id=verdict["request_id"]):
                    yield from _fields(*_answer(reply, [], "reply"))
                yield f"  read: {self._in_words(verdict)}"

    def _kind(self, verdict: Row) -> str:
        if verdict["failed"]:
            return "failed"
        if verdict["unparsed"]:
            return "unread"
        if self._judges and verdict["score"] is not None:
            return "rated"
        return "right" if verdict["right"] else "wrong"

    def _in_words(self, verdict: Row) -> str:
        value = f"{plain(verdict['value'])!r}: " if verdict["value"] else ""
        by = f", read by: {verdict['read_by']}" if verdict["read_by"] not in ("", "score", "authors") else ""
        score = "" if verdict["score"] is None else f", score {verdict['score']:.4f}"
        return f"{value}{self._kind(verdict)}{score}{by}"


def _answer(response: Row, options: Sequence[str], name: str = "answer") -> list[tuple[str, str]]:
    error = response["error"]
    scores = zip(options or [""] * len(response["scores"]), response["scores"], strict=False)
    listed = ", ".join(f"{option} {score:.4f}" for option, score in scores)
    failed = [(f"failed: {error}", response["message"] or MEANINGS.get(error, ""))] if error else []
    return [*failed, (name, response["text"] or ("" if listed else "(no text)")), ("scores", listed)]


def _first(rows: pl.DataFrame) -> Row | None:
    return rows.row(0, named=True) if rows.height else None


def _row_of(path: Path, schema: pl.Schema, **named: str) -> Row | None:
    return _first(read_table(path, schema).filter(**named)) if path.is_file() else None


def _fields(*named: tuple[str, str]) -> Iterator[str]:
    """Named texts of others, cut where they are long; those without a text are left out."""
    for name, text in named:
        more = f"... ({len(text)} characters)" if len(text) > LONGEST else ""
        if text:
            yield from named_text(plain(name), f"{safe(text[: 2 * LONGEST])[:LONGEST]}{more}", "  ")

"""Command `item`: the clip, frames, requests, answers and verdicts of one item of a run."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reprise.benchmarks.prompts import FRAMES_MARKER, fill_frame_count
from reprise.commands.shared import (
    REASON_MEANINGS,
    compute_outcomes,
    extractor_name,
    format_field,
    load_plan,
    read_manifests,
    require_file,
)
from reprise.core.errors import UserError, describe_choices
from reprise.core.paths import Run
from reprise.core.plain import plain, sanitize
from reprise.core.schemas import CLIP_METADATA, FRAME_PLAN, ITEMS, REQUESTS, RESPONSES, VERDICTS, read_table
from reprise.extraction.extractors import EXTRACTORS
from reprise.media.errors import MediaError
from reprise.plan.runs import Plan
from reprise.stages.preview import draw_contact_sheet, write_sheet

MAX_CHARS = 2000
MAX_LISTED = 20

RowDict = Mapping[str, Any]


def show_item(query: str, item_id: str | None, suite: str | None) -> None:
    plan = load_plan(suite)
    view = ItemView(plan, plan.find_run(query))
    print("\n".join(view.wrong_answers() if item_id is None else view.details(item_id)))


class ItemView:
    """Items of a run as lines of text."""

    def __init__(self, plan: Plan, run: Run) -> None:
        self._plan, self._run, self._results = plan, run, plan.results
        self._judges = plan.benchmark_judges(run.benchmark) if plan.is_judged(run.benchmark, run.protocol) else []
        self._requests = read_table(require_file(self._results.requests(run.benchmark, run.protocol), "item"), REQUESTS)
        self._responses = read_table(require_file(self._results.responses(run), "item"), RESPONSES)

    def _verdicts_of(self, extractor: str) -> pl.DataFrame:
        return read_table(require_file(self._results.verdicts(self._run, extractor), "item"), VERDICTS)

    def wrong_answers(self) -> Iterator[str]:
        """Yield the requests with a wrong, unparsed or failed answer; judged answers begin with the worst rating."""
        extractor = extractor_name(self._plan, self._run)
        rows = list(self._verdicts_of(extractor).iter_rows(named=True))
        expected = dict(self._requests.select("request_id", "expected").iter_rows())
        wrong = [row for row in rows if not row["right"]]
        yield f"{self._run.name}: {len(rows) - len(wrong)} of {len(rows)} answers are right."
        if self._judges:
            wrong.sort(key=lambda row: row["score"] or 0.0)
        for row in wrong[:MAX_LISTED]:
            name, value = row["request_id"], plain(row["value"])
            extracted = f"extracted {value!r}" if value else ""
            expectation = f"expected {plain(expected[name])!r}" if expected.get(name) else ""
            details = ", ".join(filter(None, [extracted, expectation]))
            yield f"  {self._outcome_name(row):<7} {plain(name)}  {details}".rstrip()
        if wrong[MAX_LISTED:]:
            yield f"  and {len(wrong) - MAX_LISTED} more, in {self._results.verdicts(self._run, extractor)}"
        yield f"Details of an item: python -m reprise item {self._run.name} <item>"

    def details(self, query: str) -> Iterator[str]:
        """Yield an item with its clip, requests, answers and verdicts; the query may also be an id of its requests."""
        run, item_ids = self._run, self._requests["item_id"]
        item_id = query if query in item_ids else query.rpartition("#")[0] or query
        requests = self._requests.filter(item_id=item_id)
        if requests.is_empty():
            raise UserError(
                f"{run.name}: no item '{item_id}'.{describe_choices(item_id, item_ids)} "
                f"`python -m reprise item {run.name}` lists the wrong answers."
            )
        item = read_table(self._results.items(run.benchmark), ITEMS).filter(item_id=item_id).row(0, named=True)
        yield f"Item {plain(item_id)} of {run.name}"
        yield f"  task: {plain(item['task'])}; groups: {plain(', '.join(item['groups'])) or 'none'}"
        yield from _fields(*((text["name"], text["text"]) for text in item["texts"]), ("answer", item["answer"]))
        yield from _fields(*(("flaw", flaw) for flaw in item["flaws"]))
        frames = _row_of(self._results.frames(run.benchmark, run.sampling), FRAME_PLAN, clip_id=item["clip_id"])
        yield from self._clip(item["clip_id"], frames, self._responses.filter(item_id=item_id)["frames_shown"])
        for request in requests.iter_rows(named=True):
            yield from self._request(request, len(frames["indices"]) if frames else 0)
        for judge in self._judges:
            yield from self._judged(item_id, judge)
        verdicts = [
            f"{metric} {'right' if row['right'] else 'wrong'}"
            for metric, outcomes in compute_outcomes(self._plan, run, "item").items()
            for row in outcomes.filter(item_id=item_id).head(1).iter_rows(named=True)
        ]
        if verdicts:
            yield f"Counts as: {', '.join(verdicts)}"

    def _clip(self, clip_id: str, frames: RowDict | None, frames_shown: pl.Series) -> Iterator[str]:
        """Yield the clip, the number of frames that reached the model, and a contact sheet of the sampled frames."""
        yield f"Clip {plain(clip_id)}"
        clips = read_manifests(self._plan, "clips", self._run.benchmark)
        clip = _first(clips.filter(clip_id=clip_id))
        if clip is None or clip["status"] != "ok":
            status, message = (clip["status"], plain(clip["message"])) if clip else ("not fetched yet", "")
            yield f"  missing: {status} ({REASON_MEANINGS.get(status, status)}): {message}".rstrip(": ")
            return
        path = self._plan.store.root / clip["object"]
        yield f"  file: {path}{'' if path.is_file() else ' (it is missing; the next run makes it again)'}"
        if metadata := _row_of(self._results.clip_metadata(self._run.benchmark), CLIP_METADATA, clip_id=clip_id):
            size = f"{metadata['width']}x{metadata['height']}"
            yield (f"  {metadata['duration_s']:.2f} s, {metadata['frames']} frames, {metadata['fps']:.2f} fps, {size}")
        if frames is None:
            return
        max_shown = max(frames_shown.to_list(), default=0)
        frame_summary = f"as {max_shown} picture" if frames["grid"] else f"{max_shown}"
        yield f"Frames {self._run.sampling}: {len(frames['indices'])} in the plan, {frame_summary} sent to the model"
        yield from _fields(("note", frames["note"]))
        if frames["indices"]:
            if frames["shown_clip"]:
                path = self._plan.store.root / clips.filter(clip_id=frames["shown_clip"])["object"][0]
                yield f"  file of these frames: {path}"
            name = f"{clip_id.replace('/', '_')}.{self._run.sampling}.png"
            target = self._results.folder / "frames" / "preview" / self._run.benchmark / name
            try:
                write_sheet(draw_contact_sheet(path, dict(frames), name), target)
                yield f"  picture: {target}"
            except (MediaError, OSError) as error:
                yield f"  no picture: {plain(str(error))}"

    def _request(self, request: RowDict, frames: int) -> Iterator[str]:
        yield f"Request {plain(request['role'])} (ask: {request['ask']})"
        yield from _fields(
            ("system", fill_frame_count(request["system"], frames)),
            ("prompt", fill_frame_count(request["prompt"], frames).replace(FRAMES_MARKER, f" [{frames} frames]")),
            ("options", ", ".join(request["options"])),
            ("expected", request["expected"] or "(a judge decides)"),
        )
        response = _first(self._responses.filter(request_id=request["request_id"]))
        if response is None:
            yield "  not sent, because its clip is missing; it counts as missing"
        else:
            yield from _fields(*_answer(response, request["options"]))
        for extractor in () if self._judges else EXTRACTORS:
            if verdict := _first(self._verdicts_of(extractor).filter(request_id=request["request_id"])):
                yield from _fields((f"extracted by {extractor}", self._describe(verdict)))

    def _judged(self, item: str, judge: str) -> Iterator[str]:
        """Yield a judge's replies about the item's answers, for each extractor of the answers."""
        path = self._results.judge_responses(self._run, judge)
        for extractor in EXTRACTORS:
            verdicts = self._verdicts_of(judge if extractor == "robust" else f"{judge}.{extractor}")
            for verdict in verdicts.filter(item_id=item).iter_rows(named=True):
                yield f"Judge {judge}, about the answer of extractor {extractor}"
                if reply := _row_of(path, RESPONSES, request_id=verdict["request_id"]):
                    yield from _fields(*_answer(reply, [], "reply"))
                yield f"  extracted: {self._describe(verdict)}"

    def _outcome_name(self, verdict: RowDict) -> str:
        if verdict["failed"]:
            return "failed"
        if verdict["unparsed"]:
            return "unparsed"
        if self._judges and verdict["score"] is not None:
            return "rated"
        return "right" if verdict["right"] else "wrong"

    def _describe(self, verdict: RowDict) -> str:
        value = f"{plain(verdict['value'])!r}: " if verdict["value"] else ""
        rule = (
            f", extracted by: {verdict['extracted_by']}"
            if verdict["extracted_by"] not in ("", "score", "authors")
            else ""
        )
        score = "" if verdict["score"] is None else f", score {verdict['score']:.4f}"
        return f"{value}{self._outcome_name(verdict)}{score}{rule}"


def _answer(response: RowDict, options: Sequence[str], name: str = "answer") -> list[tuple[str, str]]:
    error = response["error"]
    scores = zip(options or [""] * len(response["scores"]), response["scores"], strict=False)
    score_list = ", ".join(f"{option} {score:.4f}" for option, score in scores)
    failure = [(f"failed: {error}", response["message"] or REASON_MEANINGS.get(error, ""))] if error else []
    return [*failure, (name, response["text"] or ("" if score_list else "(no text)")), ("scores", score_list)]


def _first(rows: pl.DataFrame) -> RowDict | None:
    return rows.row(0, named=True) if rows.height else None


def _row_of(path: Path, schema: pl.Schema, **key: str) -> RowDict | None:
    return _first(read_table(path, schema).filter(**key)) if path.is_file() else None


def _fields(*fields: tuple[str, str]) -> Iterator[str]:
    """Yield the lines of untrusted named texts; long ones are truncated and empty ones are left out."""
    for name, text in fields:
        suffix = f"... ({len(text)} characters)" if len(text) > MAX_CHARS else ""
        if text:
            yield from format_field(plain(name), f"{sanitize(text[: 2 * MAX_CHARS])[:MAX_CHARS]}{suffix}", "  ")

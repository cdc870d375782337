"""Command `item`: the clip, frames, requests, answers and verdicts of one item of a run."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reprise.benchmarks.prompts import FRAMES_MARKER, fill_frame_count
from reprise.commands.output import write_lines
from reprise.commands.shared import (
    REASON_MEANINGS,
    compute_outcomes,
    format_field,
    get_extractor_name,
    load_plan,
    read_manifests,
    require_file,
)
from reprise.core.errors import UserError, describe_choices
from reprise.core.paths import Run
from reprise.core.plain import sanitize, sanitize_line
from reprise.core.schemas import CLIP_METADATA, FRAME_PLAN, ITEMS, REQUESTS, RESPONSES, VERDICTS, read_table
from reprise.extraction.extractors import EXTRACTORS
from reprise.media.errors import MediaError
from reprise.plan.runs import Plan
from reprise.stages.preview import draw_contact_sheet, write_sheet

MAX_CHARS = 2000  # Characters of a text that are shown.
MAX_LISTED = 20  # Wrong answers that are listed.

RowDict = Mapping[str, Any]


def show_item(query: str, item_id: str | None, suite: str | None) -> None:
    """Print an item of a run, or the list of wrong answers if no item is named."""
    plan = load_plan(suite)
    view = ItemView(plan, plan.find_run(query))
    write_lines(view.format_wrong_answers() if item_id is None else view.format_details(item_id))


class ItemView:
    """View of a run's items as lines of text."""

    def __init__(self, plan: Plan, run: Run) -> None:
        self._plan, self._run, self._results = plan, run, plan.results
        self._judges = plan.benchmark_judges(run.benchmark) if plan.is_judged(run.benchmark, run.protocol) else []
        self._requests = read_table(require_file(self._results.requests(run.benchmark, run.protocol), "item"), REQUESTS)
        self._responses = read_table(require_file(self._results.responses(run), "item"), RESPONSES)

    def _read_verdicts(self, extractor: str) -> pl.DataFrame:
        return read_table(require_file(self._results.verdicts(self._run, extractor), "item"), VERDICTS)

    def format_wrong_answers(self) -> Iterator[str]:
        """Yield the requests with a wrong, unparsed or failed answer; judged answers by rating, the lowest first."""
        extractor = get_extractor_name(self._plan, self._run)
        rows = list(self._read_verdicts(extractor).iter_rows(named=True))
        expected_by_request = dict(self._requests.select("request_id", "expected").iter_rows())
        wrong_rows = [row for row in rows if not row["right"]]
        yield f"{self._run.name}: {len(rows) - len(wrong_rows)} of {len(rows)} answers are right."
        if self._judges:
            wrong_rows.sort(key=lambda row: row["score"] or 0.0)
        for row in wrong_rows[:MAX_LISTED]:
            request_id, value = row["request_id"], sanitize_line(row["value"])
            extracted = f"extracted {value!r}" if value else ""
            expectation = (
                f"expected {sanitize_line(expected_by_request[request_id])!r}"
                if expected_by_request.get(request_id)
                else ""
            )
            details = ", ".join(filter(None, [extracted, expectation]))
            yield f"  {self._outcome_name(row):<7} {sanitize_line(request_id)}  {details}".rstrip()
        if wrong_rows[MAX_LISTED:]:
            yield f"  and {len(wrong_rows) - MAX_LISTED} more, in {self._results.verdicts(self._run, extractor)}"
        yield f"Details of an item: reprise item {self._run.name} <item>"

    def format_details(self, query: str) -> Iterator[str]:
        """Yield an item with its clip, requests, answers and verdicts; the query is the id of an item or a request."""
        run, item_ids = self._run, self._requests["item_id"]
        item_id = query if query in item_ids else query.rpartition("#")[0] or query
        requests = self._requests.filter(item_id=item_id)
        if requests.is_empty():
            raise UserError(
                f"{run.name}: no item '{item_id}'.{describe_choices(item_id, item_ids)} "
                f"`reprise item {run.name}` lists the wrong answers."
            )
        item = read_table(self._results.items(run.benchmark), ITEMS).filter(item_id=item_id).row(0, named=True)
        yield f"Item {sanitize_line(item_id)} of {run.name}"
        yield f"  task: {sanitize_line(item['task'])}; groups: {sanitize_line(', '.join(item['groups'])) or 'none'}"
        named_texts = [(named_text["name"], named_text["text"]) for named_text in item["texts"]]
        yield from _format_fields(*named_texts, ("answer", item["answer"]))
        yield from _format_fields(*(("flaw", flaw) for flaw in item["flaws"]))
        frames = _find_row(self._results.frames(run.benchmark, run.sampling), FRAME_PLAN, clip_id=item["clip_id"])
        yield from self._format_clip(item["clip_id"], frames, self._responses.filter(item_id=item_id)["frames_shown"])
        for request in requests.iter_rows(named=True):
            yield from self._format_request(request, len(frames["indices"]) if frames else 0)
        for judge in self._judges:
            yield from self._format_judge_replies(item_id, judge)
        verdicts = [
            f"{metric} {'right' if row['right'] else 'wrong'}"
            for metric, outcomes in compute_outcomes(self._plan, run, "item").items()
            for row in outcomes.filter(item_id=item_id).head(1).iter_rows(named=True)
        ]
        if verdicts:
            yield f"Counts as: {', '.join(verdicts)}"

    def _format_clip(self, clip_id: str, frames: RowDict | None, frames_shown: pl.Series) -> Iterator[str]:
        """Yield the clip, the number of frames that the model received, and a contact sheet of the sampled frames."""
        yield f"Clip {sanitize_line(clip_id)}"
        clips = read_manifests(self._plan, "clips", self._run.benchmark)
        clip = _first(clips.filter(clip_id=clip_id))
        if clip is None or clip["status"] != "ok":
            status, message = (clip["status"], sanitize_line(clip["message"])) if clip else ("not fetched yet", "")
            yield f"  missing: {status} ({REASON_MEANINGS.get(status, status)}): {message}".rstrip(": ")
            return
        path = self._plan.store.root / clip["object"]
        yield f"  file: {path}{'' if path.is_file() else ' (it is missing; the next run makes it again)'}"
        if metadata := _find_row(self._results.clip_metadata(self._run.benchmark), CLIP_METADATA, clip_id=clip_id):
            size = f"{metadata['width']}x{metadata['height']}"
            yield (f"  {metadata['duration_s']:.2f} s, {metadata['frames']} frames, {metadata['fps']:.2f} fps, {size}")
        if frames is None:
            return
        max_shown = max(frames_shown.to_list(), default=0)  # Requests that failed show no frames.
        frame_summary = f"as {max_shown} picture" if frames["grid"] else f"{max_shown}"
        yield f"Frames {self._run.sampling}: {len(frames['indices'])} in the plan, {frame_summary} sent to the model"
        yield from _format_fields(("note", frames["note"]))
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
                yield f"  no picture: {sanitize_line(str(error))}"

    def _format_request(self, request: RowDict, frame_count: int) -> Iterator[str]:
        """Yield a request with its prompt, its response and the verdicts on it."""
        yield f"Request {sanitize_line(request['role'])} ({request['request_type']})"
        yield from _format_fields(
            ("system", fill_frame_count(request["system"], frame_count)),
            (
                "prompt",
                fill_frame_count(request["prompt"], frame_count).replace(FRAMES_MARKER, f" [{frame_count} frames]"),
            ),
            ("options", ", ".join(request["options"])),
            ("expected", request["expected"] or "(a judge decides)"),
        )
        response = _first(self._responses.filter(request_id=request["request_id"]))
        if response is None:
            yield "  not sent, because its clip is missing; it counts as missing"
        else:
            yield from _format_fields(*_answer_fields(response, request["options"]))
        for extractor in () if self._judges else EXTRACTORS:
            if verdict := _first(self._read_verdicts(extractor).filter(request_id=request["request_id"])):
                yield from _format_fields((f"extracted by {extractor}", self._describe(verdict)))

    def _format_judge_replies(self, item: str, judge: str) -> Iterator[str]:
        """Yield a judge's replies about the item's answers, for each extractor."""
        path = self._results.judge_responses(self._run, judge)
        for extractor in EXTRACTORS:
            # The file of a judge's verdicts has an extractor in its name only if the extractor is not `robust`.
            verdicts = self._read_verdicts(judge if extractor == "robust" else f"{judge}.{extractor}")
            for verdict in verdicts.filter(item_id=item).iter_rows(named=True):
                yield f"Judge {judge}, about the answer of extractor {extractor}"
                if reply := _find_row(path, RESPONSES, request_id=verdict["request_id"]):
                    yield from _format_fields(*_answer_fields(reply, [], "reply"))
                yield f"  extracted: {self._describe(verdict)}"

    def _outcome_name(self, verdict: RowDict) -> str:
        """Return `failed`, `unparsed`, `right`, `wrong`, or `rated` for an answer with a judge's rating."""
        if verdict["failed"]:
            return "failed"
        if verdict["unparsed"]:
            return "unparsed"
        if self._judges and verdict["score"] is not None:
            return "rated"
        return "right" if verdict["right"] else "wrong"

    def _describe(self, verdict: RowDict) -> str:
        """Return a verdict as text: extracted value, outcome, score and extraction rule."""
        value = f"{sanitize_line(verdict['value'])!r}: " if verdict["value"] else ""
        rule = (
            f", extracted by: {verdict['extracted_by']}"
            if verdict["extracted_by"] not in ("", "score", "authors")
            else ""
        )
        score = "" if verdict["score"] is None else f", score {verdict['score']:.4f}"
        return f"{value}{self._outcome_name(verdict)}{score}{rule}"


def _answer_fields(response: RowDict, options: Sequence[str], name: str = "answer") -> list[tuple[str, str]]:
    """Return name and text of a response's parts; `name` is what its text is called, such as `reply`."""
    error = response["error"]
    scores = zip(options or [""] * len(response["scores"]), response["scores"], strict=False)
    score_list = ", ".join(f"{option} {score:.4f}" for option, score in scores)
    failure = [(f"failed: {error}", response["message"] or REASON_MEANINGS.get(error, ""))] if error else []
    return [*failure, (name, response["text"] or ("" if score_list else "(no text)")), ("scores", score_list)]


def _first(rows: pl.DataFrame) -> RowDict | None:
    """Return the first row; None if there are no rows."""
    return rows.row(0, named=True) if rows.height else None


def _find_row(path: Path, schema: pl.Schema, **key: str) -> RowDict | None:
    """Return the first row of a table whose columns have these values; None without a match or a file."""
    return _first(read_table(path, schema).filter(**key)) if path.is_file() else None


def _format_fields(*fields: tuple[str, str]) -> Iterator[str]:
    """Yield the lines of nonempty, untrusted texts with their names; long texts are truncated."""
    for name, text in fields:
        suffix = f"... ({len(text)} characters)" if len(text) > MAX_CHARS else ""
        if text:  # The first cut bounds the work of `sanitize`, which may remove characters.
            yield from format_field(sanitize_line(name), f"{sanitize(text[: 2 * MAX_CHARS])[:MAX_CHARS]}{suffix}", "  ")

"""Convert the items of a benchmark, their clips and their answers to the objects of the item browser."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import Any

import polars as pl

from reprise.benchmarks.prompts import FRAME_COUNT_MARKER, FRAMES_MARKER
from reprise.benchmarks.registry import load_analyses, load_scores
from reprise.benchmarks.scoring import add_analysis_groups
from reprise.core.schemas import NAMED_TEXTS
from reprise.report.folder import display_text, drop_empty_values, encode_json, finite_or_none
from reprise.report.redaction import redact_paths
from reprise.report.runs import RunTables
from reprise.report.variants import Variant, find_variants

MAX_LABEL_CHARS = 120  # characters of an item's label in the list
MAX_LABEL_START = 16  # characters that a label shows before the first difference
MAX_SEARCH_CHARS = 4000  # characters of an item that the search covers
REQUEST_COLUMNS = ["item_id", "role"]  # identify a request
ANSWER_COLUMNS = ("role", "text", "scores", "error", "message", "frames_shown", "tokens_in", "tokens_out")
# The page does not show the rules `score` and `authors`, because it shows the scores and the extractor.
EXTRACTION_RULE = pl.col("extracted_by").replace(["score", "authors"], "").alias("extracted_by")
# Columns without the texts of the benchmark, which some licences forbid to pass on.
WITHHELD = [
    pl.lit([], NAMED_TEXTS).alias("texts"),
    pl.lit("").alias("answer"),
    pl.lit([], NAMED_TEXTS).alias("tags"),
    pl.lit([], pl.List(pl.String)).alias("flaws"),
]
VERDICT_COLUMNS = ("value", "score", "right", "unparsed", "failed", "extracted_by", "reply")

RequestsByProtocol = Mapping[str, Mapping[str, list[dict[str, Any]]]]  # protocol -> item -> its requests
ClipAddress = Callable[[Mapping[str, Any]], str]  # row of a clip in the manifest -> address of its video


class Items:
    """Items of a benchmark, with their groups."""

    def __init__(
        self, benchmark: str, items: pl.DataFrame, clip_metadata: pl.DataFrame | None, *, is_withheld: bool = False
    ) -> None:
        self._table = items.with_columns(WITHHELD) if is_withheld else items
        self.ids: list[str] = items["item_id"].to_list()
        self.clip_ids: list[str] = items["clip_id"].to_list()
        self.tasks: list[str] = items["task"].unique(maintain_order=True).to_list()
        analyses = load_analyses(benchmark)
        self.grouped = items.drop("texts") if analyses is None else add_analysis_groups(items, clip_metadata, analyses)
        """table of the items without texts, with the groups that analyses add"""
        names = self.grouped["groups"].explode().drop_nulls().unique(maintain_order=True).to_list()
        expression_by_group = {name: pl.col("groups").list.contains(name) for name in names}
        expression_by_group |= dict(load_scores(benchmark).GROUPS)
        self.groups: dict[str, pl.Series] = {}  # group -> whether it contains each item
        for name, expression in expression_by_group.items():
            if name in self.tasks:
                continue
            is_member = self.grouped.select("item_id", is_member=expression)["is_member"].fill_null(False)
            if is_member.any():
                self.groups[name] = is_member

    def build_index(self, clip_positions: Mapping[str, int]) -> dict[str, Any]:
        """Return the columns by which the browser filters items. Tasks, pairs, groups and clips are indices."""
        task_indices = {task: index for index, task in enumerate(self.tasks)}
        pair_indices = {pair: index for index, pair in enumerate(self._table["pair"].unique(maintain_order=True))}
        groups_by_item: list[list[int]] = [[] for _ in self.ids]
        for group_index, is_member in enumerate(self.groups.values()):
            for item_index in is_member.arg_true().to_list():
                groups_by_item[item_index].append(group_index)
        # Many items have the same set of groups, so each set is stored once.
        group_sets = {groups: index for index, groups in enumerate(dict.fromkeys(map(tuple, groups_by_item)))}
        return {
            "id": [display_text(name) for name in self.ids],
            "task": [task_indices[task] for task in self._table["task"]],
            "pair": [pair_indices[pair] for pair in self._table["pair"]],
            "group_sets": list(group_sets),
            "group_set": [group_sets[tuple(groups)] for groups in groups_by_item],
            "clip": [clip_positions[name] for name in self._table["clip_id"]],
        }

    def labels(self) -> Iterator[list[str]]:
        """Return the label of each item in the list, as segments; every second segment is marked as a difference."""
        return starmap(_make_label, self._table.select("texts", "answer", "tags").iter_rows())

    def find_variants(self, item_index: int) -> list[Variant]:
        """Return the variants of an item's text, the main one first."""
        texts, answer, tags = self._table.select("texts", "answer", "tags").row(item_index)
        return find_variants(texts, answer, tags)

    def search_texts(self) -> dict[str, Any]:
        """Return the text of each item that the search covers, in lower case."""
        rows = self._table.select("texts", "answer").iter_rows()
        texts = ("\n".join([*(entry["text"] for entry in entries), answer]) for entries, answer in rows)
        return {"text": [display_text(text)[:MAX_SEARCH_CHARS].lower() for text in texts]}

    def build_objects(self, requests: RequestsByProtocol) -> Iterator[dict[str, Any]]:
        """Yield each item as an object without its answers."""
        for row in self._table.iter_rows(named=True):
            yield drop_empty_values(
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


def group_requests(requests: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """Return the requests of each item. Prompts have placeholders for the frames and their number."""
    by_item: dict[str, list[dict[str, Any]]] = {}
    rows = requests.select("item_id", "role", "request_type", "system", "prompt", "options", "expected").iter_rows()
    for item, role, request_type, system, prompt, options, expected in rows:
        request = {
            "role": role,
            "request_type": request_type,
            "system": display_text(system.replace(FRAME_COUNT_MARKER, "{frame_count}")),
            "prompt": display_text(
                prompt.replace(FRAME_COUNT_MARKER, "{frame_count}").replace(FRAMES_MARKER, " {frames} ")
            ),
            "options": [display_text(option) for option in options],
            "expected": display_text(expected),
        }
        by_item.setdefault(item, []).append(drop_empty_values(request))
    return by_item


def _make_label(texts: list[dict[str, str]], answer: str, tags: list[dict[str, str]]) -> list[str]:
    """Return a one-line label of an item: its main text, from shortly before the first difference to its variants.

    An item without variants has the start of its first text, or of its answer if it has no text.
    """
    short_texts = [{**text, "text": text["text"][: 4 * MAX_LABEL_CHARS]} for text in texts]
    variants = find_variants(short_texts, answer, tags)
    if not (variants and variants[0].is_marked):
        return [_to_line(texts[0]["text"] if texts else answer)]
    parts = [display_text(segment.text) for segment in variants[0].segments]
    if variants[0].segments[0].differs:
        parts = ["", *parts]
    start = parts[0]
    parts[0] = start if len(start) <= MAX_LABEL_START else f"... {start[-MAX_LABEL_START:].partition(' ')[2]}"
    label: list[str] = []
    for part in parts:
        remaining = MAX_LABEL_CHARS - sum(map(len, label))
        if remaining > 0:
            label.append(" ".join(part.splitlines())[:remaining])
    return label


def _to_line(text: str) -> str:
    line = " ".join(display_text(text[: 4 * MAX_LABEL_CHARS]).split())
    return line if len(line) <= MAX_LABEL_CHARS else f"{line[: MAX_LABEL_CHARS - 3]}..."


class Clips:
    """Clips of a benchmark's items, in the order of the items."""

    def __init__(self, items: pl.DataFrame, manifest: pl.DataFrame, clip_metadata: pl.DataFrame) -> None:
        self._ids: list[str] = items["clip_id"].unique(maintain_order=True).to_list()
        self.positions = {name: index for index, name in enumerate(self._ids)}
        self._manifest = {row["clip_id"]: row for row in manifest.iter_rows(named=True)}
        self._metadata = {row["clip_id"]: row for row in clip_metadata.iter_rows(named=True)}

    def build_objects(self, get_clip_address: ClipAddress) -> list[dict[str, Any]]:
        """Return each clip as an object with its status and metadata."""
        clips = []
        for name in self._ids:
            row = self._manifest.get(name, {"status": "not fetched", "message": ""})
            metadata = self._metadata.get(name, {})
            seconds, fps = (
                None if metadata.get(field) is None else round(metadata[field], 3) for field in ("duration_s", "fps")
            )
            clips.append(
                {
                    "id": display_text(name),
                    "media": get_clip_address(row) if row["status"] == "ok" else "",
                    "status": row["status"],
                    "message": redact_paths(display_text(row["message"])),
                    "seconds": seconds,
                    "frames": metadata.get("frames"),
                    "fps": fps,
                }
            )
        return clips

    def find_object(self, position: int) -> str:
        """Return the path of a complete clip in the store; empty if the clip is missing."""
        row = self._manifest.get(self._ids[position], {"status": "not fetched"})
        return str(row["object"]) if row["status"] == "ok" else ""

    def build_frames(self, plan: pl.DataFrame) -> Iterator[dict[str, Any]]:
        """Yield the frames of a sampling for each clip, in the order in which a model gets them.

        `times` are the times of the frames in their clip. If an ablation takes the frames of another clip,
        `source_clip` is the index of that clip.
        """
        rows = {row["clip_id"]: row for row in plan.iter_rows(named=True)}
        for name in self._ids:
            row = rows.get(name, {"indices": [], "times_s": [], "note": ""})
            yield {
                "indices": row["indices"],
                "times": self._frame_times(row, [round(time, 3) for time in row["times_s"]]),
                "source_clip": self.positions.get(row.get("shown_clip") or ""),
                "note": display_text(row["note"]),
            }

    def _frame_times(self, row: Mapping[str, Any], plan_times: list[float]) -> list[float]:
        """Return the time of each frame in its clip, in the order of the indices.

        The times in a frame plan are sorted. The indices may be in another order, because of an ablation.
        """
        if row.get("shown_clip"):
            fps = self._metadata.get(row["shown_clip"], {}).get("fps") or 1.0
            return [round(index / fps, 3) for index in row["indices"]]
        times: dict[int, float] = {}
        for index, time in zip(sorted(row["indices"]), plan_times, strict=True):
            times.setdefault(index, time)
        return [times[index] for index in row["indices"]]


def encode_answers(index_by_item: Mapping[str, int], run: RunTables, judge: str) -> dict[int, str]:
    """Return the answers to each item as JSON, by the index of the item."""
    names = (judge, f"{judge}.authors") if judge else ("robust", "authors")
    rows = run.responses.select("item_id", *ANSWER_COLUMNS)
    for name, verdicts in zip(names, (run.robust, run.authors), strict=True):
        if run.replies is None:
            verdicts = verdicts.with_columns(reply=pl.lit(""))
        else:
            verdicts = verdicts.join(run.replies.select("request_id", reply="text"), on="request_id", how="left")
        columns = verdicts.with_columns(EXTRACTION_RULE).select(*REQUEST_COLUMNS, *VERDICT_COLUMNS)
        rows = rows.join(columns, on=REQUEST_COLUMNS, how="left", maintain_order="left", suffix=name)
    answers: dict[int, list[dict[str, Any]]] = {}
    # The cells of a row are the item, the answer, the verdict by the robust extractor, and the authors' verdict.
    for item, role, text, scores, error, message, frames, tokens_in, tokens_out, *verdict_values in rows.iter_rows():
        robust, authors = (
            _make_extraction(verdict_values[start : start + len(VERDICT_COLUMNS)])
            for start in (0, len(VERDICT_COLUMNS))
        )
        # The authors' extraction is listed only if it differs.
        extractions = {names[0]: robust, names[1]: None if authors == robust else authors}
        answer = {
            "role": role,
            "text": display_text(text),
            "scores": [_round(score) for score in scores or ()],
            "error": error,
            "message": redact_paths(display_text(message)),
            "frames": frames,
            "tokens_in": tokens_in,
            "tokens_out": tokens_out,
            "extractions": {name: extraction for name, extraction in extractions.items() if extraction is not None},
        }
        answers.setdefault(index_by_item[item], []).append(drop_empty_values(answer))
    return {index: encode_json(item_answers) for index, item_answers in answers.items()}


def _make_extraction(cells: Sequence[Any]) -> dict[str, Any] | None:
    """Return the non-empty entries of a verdict from its cells for `VERDICT_COLUMNS`, or None without a verdict."""
    verdict = dict(zip(VERDICT_COLUMNS, cells, strict=True))
    if verdict["value"] is None:
        return None
    verdict["value"] = display_text(verdict["value"])
    verdict["score"] = _round(verdict["score"])
    verdict["reply"] = display_text(verdict["reply"])
    return drop_empty_values(verdict)


def _round(number: float | None) -> float | None:
    return None if (finite_number := finite_or_none(number)) is None else round(finite_number, 6)

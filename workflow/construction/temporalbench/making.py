"""TemporalBench's steps up to the samples: clips, their filters (sections 3.1 and 3.2), and written negatives.

A negative is a false caption that a writer, a language model, derives from a clip's true caption.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from human_evaluation.draws import seeded_digest
from reprise.benchmarks.annotations import AnnotatedClip, group_by_key
from reprise.benchmarks.prompts import Prompt
from reprise.benchmarks.temporalbench.taxonomy import CATEGORIES
from reprise.core.errors import UserError
from reprise.core.names import format_seconds
from reprise.core.plain import parse_number
from reprise.core.tabular import format_cell, read_user_rows, require_columns

from construction.filters import (
    Row,
    RowFilter,
    Rows,
    Tables,
    apply_filters,
    drop_outside_sample,
    drop_repeated,
    kept_rows,
)
from construction.settings import TemporalBenchSettings, writers_of
from construction.sheets import SOURCE_NAME, VIDEO_EXTENSION, has_control_characters
from construction.writing import Rounds, UnusableReplyError, excerpt, parse_list, unwrap_reply

SAMPLE_SCOPE = "clips of this data set"
LONGEST_CAPTION = 2000  # characters; captions of the paper have about 250
# These columns are Reprise's own, because the authors' annotation format is not published.
NEEDED_COLUMNS = ("dataset", "split", "video", "start", "end", "description", "caption")
REFINED_COLUMN = "refined"  # the corrected caption; the column may be missing
# The columns whose texts are collected over all rows of a clip.
TEXT_COLUMNS = ("split", "description", "caption", REFINED_COLUMN)
WORDS, EVENTS, CATEGORY = "words", "events", "category"
"""The names of the prompts. The first one also requests negatives of negatives."""


class ClipAnnotations(NamedTuple):
    """A clip with all its annotations."""

    dataset: str
    video: str
    start_s: float | None
    end_s: float | None
    texts: Mapping[str, list[str]]  # column -> its distinct texts in all rows of the clip

    @property
    def clip(self) -> AnnotatedClip:
        """Return the clip with the id and the span that it has in the evaluation."""
        cluster, start, end = f"{self.dataset}/{self.video}", self.start_s or 0.0, self.end_s or 0.0
        clip_id = f"{cluster}.short-{format_seconds(start)}-{format_seconds(end)}"
        return AnnotatedClip(clip_id, cluster, "trim", self.video, start, end)


def clips(files: Mapping[str, Path], settings: TemporalBenchSettings) -> list[AnnotatedClip]:
    """Return the clips to fetch and measure, without those that are dropped before measurement."""
    annotations = read_clips(files)
    rows = build_clip_rows(annotations, settings)
    kept_clips = [annotation.clip for annotation, row in zip(annotations, rows, strict=True) if not row["filter"]]
    return list({clip.clip_id: clip for clip in kept_clips}.values())


def read_clips(files: Mapping[str, Path]) -> list[ClipAnnotations]:
    """Read the clips of all files, and merge the rows of each clip: captions may be in separate files."""
    annotations_by_clip: dict[tuple[Any, ...], ClipAnnotations] = {}
    for path in files.values():
        table = read_user_rows(path)
        require_columns(table, NEEDED_COLUMNS, path)
        for number, row in enumerate(table.iter_rows(named=True), start=1):
            cell_locations = {name: f"{path}: row {number}: {name}" for name in (*NEEDED_COLUMNS, REFINED_COLUMN)}
            cells = {name: format_cell(row.get(name), location) for name, location in cell_locations.items()}
            start, end = (_seconds(cells[name], cell_locations[name]) for name in ("start", "end"))
            clip_key = (cells["dataset"], VIDEO_EXTENSION.sub("", cells["video"]), start, end)
            new_annotations = ClipAnnotations(*clip_key, {column: [] for column in TEXT_COLUMNS})
            annotations = annotations_by_clip.setdefault(clip_key, new_annotations)
            for column, texts in annotations.texts.items():
                if cells[column] and cells[column] not in texts:
                    texts.append(cells[column])
    if not annotations_by_clip:
        raise UserError(f"annotations of TemporalBench: no clips in {', '.join(sorted(files)) or 'no file'}.")
    return list(annotations_by_clip.values())


def _seconds(text: str, cell_location: str) -> float | None:
    """Return the time in a cell, or None for an empty cell."""
    number = parse_number(text)
    if text and (number is None or number < 0):
        raise UserError(f"{cell_location}: should be a number of seconds, found '{text}'.")
    return number


def build_clip_rows(annotations: Sequence[ClipAnnotations], settings: TemporalBenchSettings) -> list[Row]:
    """Return a row per clip, with the filter that drops it before clips are measured, if any."""
    rows, longest_s = [], settings.longest_s
    for annotation in annotations:
        refined, is_described = annotation.texts[REFINED_COLUMN], annotation.dataset in settings.described
        rows.append({
            "clip": annotation.clip.clip_id, "dataset": annotation.dataset,
            "split": next(iter(annotation.texts["split"]), ""), "video": annotation.video,
            "start_s": annotation.start_s, "end_s": annotation.end_s,
            "description": next(iter(annotation.texts["description"]), ""),
            "captions": annotation.texts["description"] if is_described else refined or annotation.texts["caption"],
            "is_refined": bool(refined) and not is_described, "seconds": None, "shots": None, "motion": None,
        })  # fmt: skip
    filters: dict[str, RowFilter] = {
        "other_dataset": lambda row: "" if row["dataset"] in settings.datasets else f"'{row['dataset']}'",
        "other_split": lambda row: "" if row["split"] in settings.splits else f"'{row['split']}'",
        "bad_name": lambda row: (
            "" if SOURCE_NAME.fullmatch(row["video"]) else f"'{row['video']}' cannot be a file name"
        ),
        "no_span": lambda row: (
            ""
            if None not in (row["start_s"], row["end_s"]) and 0 <= row["start_s"] < row["end_s"]
            else f"from {row['start_s']} to {row['end_s']}"
        ),
        "too_long": lambda row: (
            f"{row['end_s'] - row['start_s']:g} s, more than {longest_s:g}"
            if row["end_s"] - row["start_s"] > longest_s
            else ""
        ),
    }
    rows = apply_filters(rows, filters)
    measured_sample_filter = drop_outside_sample(
        rows, ("dataset",), "clip", settings.measured, settings.seed, SAMPLE_SCOPE
    )
    return apply_filters(rows, {"not_measured": measured_sample_filter})


def candidates(files: Mapping[str, Path], settings: TemporalBenchSettings, clip_metadata: pl.DataFrame) -> Rows:
    """Return all annotated clips, dropped ones with their reason, and the texts to request for the kept clips."""
    metadata_by_clip = {row["clip_id"]: row for row in clip_metadata.iter_rows(named=True)}
    rows = build_clip_rows(read_clips(files), settings)
    remaining_clips = [row["clip"] for row in rows if not row["filter"]]
    if remaining_clips and not any(clip in metadata_by_clip for clip in remaining_clips):
        raise UserError(
            f"construction of temporalbench: none of its {len(remaining_clips)} clips has an available video, for "
            f"example '{remaining_clips[0]}'. `reprise missing` lists the reasons; correct `route:` or the "
            "file names."
        )
    measurements_by_clip = {
        clip: {"seconds": metadata["duration_s"], "shots": metadata["shots"], "motion": metadata["motion"]}
        for clip, metadata in metadata_by_clip.items()
    }
    rows = [row | measurements_by_clip.get(row["clip"], {}) for row in rows]
    max_transitions = settings.transitions
    clip_filters: dict[str, RowFilter] = {
        "not_available": lambda row: "" if row["clip"] in metadata_by_clip else "see `reprise missing`",
        "static": lambda row: (
            f"optical flow of {row['motion']:.3f} %" if metadata_by_clip[row["clip"]]["is_static"] else ""
        ),
        "scene_transitions": lambda row: (
            f"{row['shots'] - 1} transitions, more than {max_transitions}" if row["shots"] - 1 > max_transitions else ""
        ),
    }
    rows = apply_filters(rows, clip_filters)
    caption_filters: dict[str, RowFilter] = {
        "not_drawn": drop_outside_sample(rows, ("dataset",), "clip", settings.per_dataset, settings.seed, SAMPLE_SCOPE),
        "no_caption": lambda row: "" if row["captions"] else "it has no caption yet",
        "two_captions": lambda row: "" if len(row["captions"]) == 1 else f"{len(row['captions'])} different captions",
        "unprintable": lambda row: "control characters" if has_control_characters(row["captions"][0]) else "",
        "long_caption": lambda row: (
            f"{length} characters, more than {LONGEST_CAPTION}"
            if (length := len(row["captions"][0])) > LONGEST_CAPTION
            else ""
        ),
    }
    rows = apply_filters(rows, caption_filters)
    requested_counts = {WORDS: settings.word_negatives, EVENTS: settings.event_negatives}
    texts = [
        text_row(f"{kind}/{row['clip']}", kind, row["clip"], caption=row["captions"][0], count=str(count))
        for row in rows
        if not row["filter"]
        for kind, count in requested_counts.items()
    ]
    return {"pool": [row | {"caption": " / ".join(row["captions"])} for row in rows], "texts": texts, "candidates": []}


def text_row(text_id: str, kind: str, clip: str, **values: str) -> Row:
    """Return a row of the table `texts`: a text to be written, with the values of its prompt's placeholders."""
    return {
        "text_id": text_id, "kind": kind, "video": clip, "agent": "", "known": [], "instead_of": "",
        "values": [{"name": name, "text": text} for name, text in values.items()],
    }  # fmt: skip


# Table 4 also asks for negatives of a negative, whose "central" caption is the negative itself.
CENTRAL = "central"  # the level of negatives of a negative
CENTRAL_COUNT = 2  # the number of negatives of a negative (section 3.3)
EVENT_ORDER = "Event Order"
WORD_CATEGORIES = tuple(name for name in CATEGORIES if name != EVENT_ORDER)
# The prefix of a caption or a negative in a prompt.
LINE_PREFIX = re.compile(r"^\s*(?:Caption:|\d+\.)\s*", re.IGNORECASE)
NEGATIVE_COLUMNS = ("sample_id", "clip", "level", "writer", "caption", "of", "negative", "category", "filter", "why")


def plain(text: str) -> str:
    """Return the words of a text in lower case, without punctuation."""
    return " ".join(re.findall(r"\w+", text.lower()))


def examples(prompts: Mapping[str, Prompt]) -> frozenset[str]:
    """Return the example texts of both prompts. A writer that copies an example has not written a negative."""
    return frozenset(
        plain(LINE_PREFIX.sub("", line)) for name in (WORDS, EVENTS) for line in prompts[name].user.splitlines()
    )


NegativeList = tuple[str, str, int, list[str]]  # level, writer, requested number of negatives, and lines of the reply


def negative_rows(
    clip: str, caption: str, lists: Sequence[NegativeList], prompt_examples: Collection[str] = ()
) -> list[Row]:
    """Return a row per line of the lists; filters mark the unusable lines and repeated lines."""
    rows: list[Row] = []
    id_counts: Counter[str] = Counter()
    for level, writer, requested_count, lines in lists:
        for line_number, text in enumerate(lines, start=1):
            sample_id = f"{clip}/{level}/{seeded_digest(0, text)[:10]}"
            id_counts[sample_id] += 1
            rows.append({
                "sample_id": sample_id if id_counts[sample_id] == 1 else f"{sample_id}/{id_counts[sample_id]}",
                "clip": clip, "level": level,
                "writer": writer, "caption": caption, "negative": text, "place": line_number, "most": requested_count,
            })  # fmt: skip
    # If the caption is that of the prompt's example, the example's negatives are valid negatives of it.
    copied_examples = () if plain(caption) in prompt_examples else prompt_examples
    filters: dict[str, RowFilter] = {
        "more_than_asked": lambda row: f"more than {row['most']}" if row["place"] > row["most"] else "",
        "no_words": lambda row: "" if plain(row["negative"]) else "it has no words",
        "unchanged": lambda row: "the caption itself" if plain(row["negative"]) == plain(caption) else "",
        "in_prompt": lambda row: "an example of the prompt" if plain(row["negative"]) in copied_examples else "",
        "duplicate": drop_repeated(lambda row: plain(row["negative"]), "the same as an earlier negative"),
    }
    return apply_filters(rows, filters)


def kept_word_negatives(rows: Iterable[Row]) -> list[Row]:
    """Return the kept word-level negatives of a clip in the order of their digests."""
    negatives = [row for row in rows if row["level"] == WORDS and not row["filter"]]
    return sorted(negatives, key=lambda row: row["sample_id"])


def parse_category(reply: str, prompt: str) -> str:
    """Return the only category that a reply names."""
    text = unwrap_reply(reply, prompt)
    matches = [name for name in WORD_CATEGORIES if f" {plain(name)} " in f" {plain(text)} "]
    if not matches:
        raise UnusableReplyError("no_category", f"none of {', '.join(WORD_CATEGORIES)} in {excerpt(text)}")
    if len(matches) > 1:
        raise UnusableReplyError("several_categories", ", ".join(matches))
    return matches[0]


class Conversation:
    """All rounds so far: each writer's negatives, then follow-up texts by `writer:` about the usable negatives."""

    def __init__(
        self,
        tables: Tables,
        reply_tables: Sequence[pl.DataFrame],
        prompts: Mapping[str, Prompt],
        settings: TemporalBenchSettings,
    ) -> None:
        prompt_examples, writers = examples(prompts), writers_of(settings)
        # writer -> the writer's replies, a table per round
        replies = {writer: [table.filter(writer=writer) for table in reply_tables] for writer in writers}

        def parse(text: Row, reply: str, prompt: str, written: Mapping[str, str]) -> tuple[str, str]:
            kind = text["kind"]
            if kind == CATEGORY:
                return parse_category(reply, prompt), ""
            values = {entry["name"]: entry["text"] for entry in text["values"]}
            level = CENTRAL if text["text_id"].startswith(f"{CENTRAL}/") else kind
            lists = [(level, "", int(values["count"]), parse_list(reply, prompt))]
            rows = negative_rows(text["video"], values["caption"], lists, prompt_examples)
            # For a caption of one event, the prompt requests the unchanged caption, so a reply without negatives is
            # usable.
            is_one_event = kind == EVENTS and [row["filter"] for row in rows] == ["unchanged"]
            if all(row["filter"] for row in rows) and not is_one_event:
                raise UnusableReplyError(rows[0]["filter"], rows[0]["why"])
            return reply, ""  # The text is the whole list, which is parsed again below.

        negative_rounds = {
            writer: Rounds(tables["texts"].to_dicts(), replies[writer], prompts, parse) for writer in writers
        }
        requested_counts = {WORDS: settings.word_negatives, EVENTS: settings.event_negatives}
        self.negatives: list[Row] = []
        category_texts: list[Row] = []
        central_texts: list[Row] = []
        for row in tables["texts"].filter(kind=WORDS).iter_rows(named=True):  # one text of this kind per clip
            clip, caption = row["video"], next(entry["text"] for entry in row["values"] if entry["name"] == "caption")
            lists = [
                (kind, writer, count, parse_list(rounds.text_by_id[f"{kind}/{clip}"], ""))
                for kind, count in requested_counts.items()
                for writer, rounds in negative_rounds.items()
                if f"{kind}/{clip}" in rounds.text_by_id
            ]
            negatives = negative_rows(clip, caption, lists, prompt_examples)
            self.negatives += negatives
            category_texts += [
                text_row(
                    f"{CATEGORY}/{negative['sample_id']}",
                    CATEGORY,
                    clip,
                    caption=caption,
                    negative=negative["negative"],
                )
                for negative in negatives
                if negative["level"] == WORDS and not negative["filter"]
            ]
            contradicted_texts = [negative["negative"] for negative in kept_word_negatives(negatives)]
            central_texts += [
                text_row(central_text_id(clip, text), WORDS, clip, caption=text, count=str(CENTRAL_COUNT))
                for text in contradicted_texts[: settings.central_tries]
            ]
        # Only `writer:` writes follow-up texts: categories, and negatives of negatives.
        follow_up_rounds = Rounds([*category_texts, *central_texts], replies[settings.writer], prompts, parse)
        self.rounds = {writer: [rounds] for writer, rounds in negative_rounds.items()}
        self.rounds[settings.writer].append(follow_up_rounds)
        self.follow_up_texts = follow_up_rounds.text_by_id
        self.written = [
            row | {"writer": writer}
            for writer, writer_rounds in self.rounds.items()
            for rounds in writer_rounds
            for row in rounds.table_rows()
        ]


def central_text_id(clip: str, negative: str) -> str:
    """Return the id of the text with the negatives of a negative."""
    return f"{CENTRAL}/{clip}/{seeded_digest(0, negative)[:10]}"


def requests(
    tables: Tables,
    replies: Sequence[pl.DataFrame],
    prompts: Mapping[str, Prompt],
    settings: TemporalBenchSettings,
    writer: str,
) -> list[Row]:
    """Return the requests of a writer's next round; `replies` has a table per earlier round."""
    conversation = Conversation(tables, replies, prompts, settings)
    return [row for rounds in conversation.rounds[writer] for row in rounds.next_requests(settings.max_tokens)]


def samples(
    tables: Tables, replies: Sequence[pl.DataFrame], prompts: Mapping[str, Prompt], settings: TemporalBenchSettings
) -> Rows:
    """Return the writers' texts, the negatives with their categories, and negatives of some negatives.

    Dropped rows keep their reason.
    """
    conversation, prompt_examples = Conversation(tables, replies, prompts, settings), examples(prompts)
    pool_row_by_clip = {row["clip"]: row for row in kept_rows(tables["pool"]).iter_rows(named=True)}
    rows = []
    for row in conversation.negatives:
        written_category = conversation.follow_up_texts.get(f"{CATEGORY}/{row['sample_id']}", "")
        category = EVENT_ORDER if row["level"] == EVENTS else written_category
        rows.append(row | {"category": category, "of": row["caption"]})
    # A negative of a negative must not repeat the caption or another negative of the clip.
    # (clip, words of a text) -> why the text is no negative of a negative
    forbidden_reasons = {(row["clip"], plain(row["negative"])): "another negative of the caption" for row in rows}
    central_rows: list[Row] = []
    for clip, clip_rows in group_by_key(rows, lambda row: row["clip"]).items():
        caption = pool_row_by_clip[clip]["caption"]
        forbidden_reasons[clip, plain(caption)] = "the original caption"
        for negative in (row["negative"] for row in kept_word_negatives(clip_rows)):
            text_id = central_text_id(clip, negative)
            written_list = conversation.follow_up_texts.get(text_id)
            lines = [] if written_list is None else parse_list(written_list, "")
            negative_list = (CENTRAL, settings.writer, CENTRAL_COUNT, lines)
            central_rows += [
                row | {"sample_id": f"{text_id}/{row['place']}", "caption": caption, "of": negative, "category": ""}
                for row in negative_rows(clip, negative, [negative_list], prompt_examples)
            ]
    rows += apply_filters(
        central_rows, {"caption_again": lambda row: forbidden_reasons.get((row["clip"], plain(row["negative"])), "")}
    )
    problems = {row["text_id"]: f"{row['filter']}: {row['why']}" for row in conversation.written if row["filter"]}

    def not_labelled(row: Mapping[str, str]) -> str:
        is_labelled = row["category"] or row["level"] == CENTRAL
        return "" if is_labelled else problems.get(f"{CATEGORY}/{row['sample_id']}", "not requested")

    filtered = apply_filters(rows, {"not_labelled": not_labelled})
    sample_rows = [
        {name: row[name] for name in NEGATIVE_COLUMNS}
        | {name: pool_row_by_clip[row["clip"]][name] for name in ("dataset", "video", "start_s", "end_s")}
        for row in filtered
    ]
    return {"written": conversation.written, "samples": sample_rows}

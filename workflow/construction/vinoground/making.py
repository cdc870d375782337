"""Vinoground's steps up to the samples: the pool of captions, written caption pairs, and videos for each caption."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from human_evaluation.draws import seeded_digest
from reprise.benchmarks.prompts import Prompt
from reprise.benchmarks.vinoground.taxonomy import HALVES
from reprise.core.errors import UserError
from reprise.core.names import format_seconds
from reprise.core.tabular import read_user_rows

from construction.filters import KEPT, Row, RowFilter, Rows, apply_filters, drop_repeated, kept_rows
from construction.settings import VinogroundSettings
from construction.sheets import SOURCE_NAME, SheetRow, has_control_characters, parse_number_cell
from construction.vinoground.retrieval import TextEncoder, build_word_encoder, find_nearest, words
from construction.writing import REFUSALS, excerpt, writing_request

MAX_CAPTION_CHARS = 1000  # longer captions are dropped


def candidates(files: Mapping[str, Path], settings: VinogroundSettings) -> Rows:
    """Return the pool of captions. Nothing else is a candidate before the writer replies."""
    rows = [row for path in files.values() for row in _read_captions(path, settings)]
    if not rows:
        raise UserError(
            f"annotations of VATEX: no captions in {', '.join(sorted(files)) or 'no file'}. "
            "Correct `files:` or `columns:`."
        )
    span_by_video: dict[str, tuple[object, ...]] = {}

    def same_name(row: Mapping[str, Any]) -> str:
        span = (row["source"], row["start_s"], row["end_s"])
        return (
            ""
            if span_by_video.setdefault(row["video"], span) == span
            else f"'{row['video']}' names a different video in an earlier row"
        )

    filters: dict[str, RowFilter] = {
        "no_span": lambda row: "" if row["source"] else f"'{row['video']}' does not match `span:`",
        "same_name": same_name,
        "empty_caption": lambda row: "" if row["caption"] else "the caption is empty",
        "too_long": lambda row: "" if len(row["caption"]) <= MAX_CAPTION_CHARS else f"{len(row['caption'])} characters",
        "duplicate": drop_repeated(
            lambda row: (row["video"], row["caption"].lower()), "the same caption of the same video"
        ),
    }
    return {"pool": apply_filters(rows, filters), "texts": [], "candidates": []}


def _read_captions(path: Path, settings: VinogroundSettings) -> Iterator[Row]:
    """Yield a row per caption of a file, with its video and the span of the video."""
    table, columns = read_user_rows(path), settings.columns
    if missing := [name for name in (columns.video, columns.captions) if name not in table.columns]:
        raise UserError(
            f"{path}: column '{missing[0]}' is missing. Found: {', '.join(table.columns)}. Correct `columns:` of "
            "`construction:` in the suite."
        )
    for row_number, row in enumerate(table.iter_rows(named=True), start=1):
        location, cell = f"{path}: row {row_number}", row[columns.captions]
        captions = cell if isinstance(cell, list) else [cell]
        has_other_types = any(caption is not None and not isinstance(caption, str) for caption in captions)
        texts = [] if has_other_types else [" ".join((caption or "").split()) for caption in captions]
        if has_other_types or any(map(has_control_characters, texts)):
            raise UserError(
                f"{location}: column '{columns.captions}': expected a text, or a list of texts, without control "
                "characters. Correct the row or `columns:`."
            )
        for caption in texts[: settings.captions_per_video]:
            yield {**_parse_video(location, row, settings), "caption": caption}


def _parse_video(location: str, row: Mapping[str, Any], settings: VinogroundSettings) -> Row:
    """Return the video, source and span that a row names.

    With the setting `span:`, parse the source and the span from the video's id; the source is empty if the id does not
    match. If `span:` is null, the row names a file, and perhaps a span of the file.
    """
    columns, start, end = settings.columns, None, None
    if settings.span is None:
        sheet_row = SheetRow(location, {name: "" if cell is None else str(cell).strip() for name, cell in row.items()})
        video = source = sheet_row.video(columns.video)
        if any(sheet_row.cells.get(column) for column in (columns.start, columns.end)):
            start, end = sheet_row.span(columns.start, columns.end)
            video = f"{source}_{format_seconds(start)}_{format_seconds(end)}"
    else:
        video, source = str(row[columns.video]), ""
        match = re.fullmatch(settings.span, video)
        start_value, end_value = (parse_number_cell(match[name] if match else None) for name in ("start", "end"))
        is_span = start_value is not None and end_value is not None and 0 <= start_value < end_value
        if match is not None and is_span and SOURCE_NAME.fullmatch(match["video"] or ""):
            source, start, end = match["video"], start_value, end_value
    return {"video": video, "source": source, "start_s": start, "end_s": end}


FIRST_PROMPT, FOLLOW_UP_PROMPT = "pairs", "more"  # names in the file of prompts
QUOTES = '"“”„‟«»「」'
QUOTED = rf"[{QUOTES}]([^{QUOTES}]+)[{QUOTES}]"
# A pair of quoted captions, as in `"..." vs "..."`.
PAIR = re.compile(rf"{QUOTED}\s*(?:vs\.?|versus|and|/|\|)\s*{QUOTED}", re.IGNORECASE)
# Half of a pair (`pos` or `neg`) -> column with its caption.
SIDE_BY_HALF = dict(zip(HALVES, ("positive", "negative"), strict=True))
POOL_COLUMNS = ("video", "source", "start_s", "end_s", "caption")


def requests(
    tables: Mapping[str, pl.DataFrame],
    reply_tables: Sequence[pl.DataFrame],
    prompts: Mapping[str, Prompt],
    settings: VinogroundSettings,
) -> list[Row]:
    """Return the next request of the conversation, or no request if there are enough pairs or a request failed."""
    rows = parse_pairs(reply_tables, prompts, settings)
    is_failed = any(row["filter"] == "failed" for row in rows)
    if is_failed or sum(not row["filter"] for row in rows) >= settings.pairs:
        return []
    messages = [prompts[FIRST_PROMPT].user]
    for table in reply_tables:
        for reply in table["text"]:
            messages += [reply, prompts[FOLLOW_UP_PROMPT].user]
    number, prompt = len(reply_tables) + 1, "\n\n".join(messages)
    return [writing_request(f"pairs/round{number}", number, prompts[FIRST_PROMPT].system, prompt, settings.max_tokens)]


def parse_pairs(
    reply_tables: Sequence[pl.DataFrame], prompts: Mapping[str, Prompt], settings: VinogroundSettings
) -> list[Row]:
    """Return a row per pair of each reply; dropped pairs keep their reason. A reply without pairs is a dropped row."""
    remaining_slots = iter(range(settings.pairs))  # Each kept pair takes a slot; further pairs are dropped.

    def pair_words(row: Mapping[str, Any]) -> frozenset[tuple[str, ...]]:  # independent of the order of the captions
        return frozenset(tuple(words(row[side])) for side in SIDE_BY_HALF.values())

    def other_words(row: Mapping[str, Any]) -> str:
        left, right = (Counter(words(row[side])) for side in SIDE_BY_HALF.values())
        return "" if left == right else f"not the same words: {', '.join(sorted((left - right) + (right - left)))}"

    examples = {
        pair_words(dict(zip(SIDE_BY_HALF.values(), match, strict=True)))
        for match in PAIR.findall(prompts[FIRST_PROMPT].user)
    }
    filters: dict[str, RowFilter] = {
        "unprintable": lambda row: (
            "control characters" if has_control_characters(row["positive"] + row["negative"]) else ""
        ),
        "in_prompt": lambda row: "an example of the prompt" if pair_words(row) in examples else "",
        "same_text": lambda row: "both captions are the same" if len(pair_words(row)) == 1 else "",
        "other_words": other_words,
        "duplicate": drop_repeated(pair_words, "the same pair as an earlier one"),
        "enough": lambda row: f"more than {settings.pairs} pairs" if next(remaining_slots, None) is None else "",
    }
    rows = [row for round_number, replies in enumerate(reply_tables, 1) for row in _round_pairs(round_number, replies)]
    return apply_filters(rows, filters)


def _round_pairs(round_number: int, replies: pl.DataFrame) -> Iterator[Row]:
    """Yield the pairs in the replies of a round, and a dropped row for each reply without pairs."""
    empty_pair = {"pair": "", "round": round_number, "positive": "", "negative": ""}
    for reply in replies.iter_rows(named=True):
        text = reply["text"]
        matches = PAIR.findall(text)
        if reply["error"]:
            matches = []
            yield {**empty_pair, "filter": "failed", "why": f"{reply['error']}: {reply['message']}"}
        elif REFUSALS.match(text.strip()):
            yield {**empty_pair, "filter": "refusal", "why": excerpt(text)}
        elif not matches:
            yield {**empty_pair, "filter": "no_pair", "why": f'nothing like "..." vs "..." in: {excerpt(text)}'}
        for pair in matches:
            positive, negative = (" ".join(caption.split()) for caption in pair)
            pair_id = seeded_digest(0, *sorted((positive, negative)))[:12]
            yield {"pair": pair_id, "round": round_number, "positive": positive, "negative": negative}


def samples(
    tables: Mapping[str, pl.DataFrame],
    replies: Sequence[pl.DataFrame],
    prompts: Mapping[str, Prompt],
    settings: VinogroundSettings,
    encode_texts: TextEncoder | None = None,
) -> Rows:
    """Return the most similar captions of the pool for each written caption, without repeated videos."""
    written = parse_pairs(replies, prompts, settings)
    queries = [
        (row["pair"], half, row[side]) for row in written if not row["filter"] for half, side in SIDE_BY_HALF.items()
    ]
    pool = kept_rows(tables["pool"]).to_dicts()
    captions = [row["caption"] for row in pool]
    encode = encode_texts or build_word_encoder(captions)
    results = find_nearest(encode([text for *_, text in queries]), encode(captions), settings.nearest)
    rows = []
    for (pair, half, text), matches in zip(queries, results, strict=True):
        seen_videos: set[str] = set()
        for position, (index, similarity) in enumerate(matches, 1):
            candidate = pool[index]
            sample_id, is_repeated = f"{pair}/{half}/{candidate['video']}", candidate["video"] in seen_videos
            seen_videos.add(candidate["video"])
            rows.append({
                "sample_id": f"{sample_id}/{position}" if is_repeated else sample_id,
                "pair": pair, "half": half, "text": text,
                "rank": position, "similarity": round(similarity, 6),
                **{column: candidate[column] for column in POOL_COLUMNS},
                **({"filter": "same_video", "why": "found by a more similar caption"} if is_repeated else KEPT),
            })  # fmt: skip
    return {"written": written, "samples": rows}

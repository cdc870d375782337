"""Vinoground: pairs of counterfactual videos and captions, by text, video and group score."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks import plain_answers
from reprise.benchmarks.clip_ids import vinoground as segment_of
from reprise.benchmarks.flaws import Flaws
from reprise.benchmarks.prompts import Prompt, fill
from reprise.core.errors import UserError
from reprise.core.files import text_digest
from reprise.core.schemas import CLIPS, ITEMS, in_group_named
from reprise.core.tabular import only_table, read_rows, require_columns
from reprise.stats import chance_pair_similarities
from reprise.stats.measures import Measure, Resampling, measure, ones

ALL = "all"
MAJOR = ("object", "action", "viewpoint")
MINOR = ("interaction", "cyclical", "spatial", "contextual")
GROUPS = (ALL, *MAJOR, *MINOR)
SCORES = ("text", "video", "group")
# `questions`: two about captions, two about segments of a concatenation; `similarity`: four numbers, no concatenation.
FORMS = {"questions": frozenset(SCORES), "similarity": frozenset(SCORES)}
STATISTICS = frozenset({"pairs"})
# What the paper prints: four random similarities. Random answers to two-way questions reach 6.25 as group score.
CHANCE = {name: 100 * value for name, value in chance_pair_similarities()._asdict().items()}

HALVES = ("pos", "neg")
ROLES = {task: [f"{task}_{half}" for half in HALVES] for task in ("text", "video")}
FIELDS = ("index", "major", "minor", "pos_cap", "neg_cap")
SPANS = ("pos_vid", "pos_start", "pos_end", "neg_vid", "neg_start", "neg_end")
QUESTION_FIELDS = ("idx", "video_name", "question", "GT")
LETTERS = ("A", "B")
SEGMENTS = ("First segment (before black frame)", "Second segment (after black frame)")
# Section 4.2 of the paper, for a release without its question files.
TEXT_QUESTION = "Which caption best describes this video? A. {a}, B. {b}"
VIDEO_QUESTION = (
    "Which video segment matches this caption? Note: The video contains two segments separated by a 2-second black "
    f"frame. Caption: {{caption}}. A. {SEGMENTS[0]}, B. {SEGMENTS[1]}"
)


class Question(NamedTuple):
    """One of a pair's four questions; empty texts where the release lacks it."""

    text: str = ""
    answer: str = ""
    video: str = ""


Questions = dict[tuple[str, str], Question]
"""(index, half) -> question"""


def annotations(files: Sequence[Path], clips: str, options: Mapping[str, Any]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Four items a pair: each video with both captions, each caption with the concatenation of both videos.

    Released questions are used as they are. Without them the paper's wording is filled in, captions and segments in a
    seeded order in which both answers are right equally often.
    """
    if options.get("subset"):
        raise UserError("Vinoground has no subset: remove `subset` from the suite's entry.")
    flaws = Flaws()
    rows = _rows(files, FIELDS + (SPANS if clips == "ids" else ()), options, flaws)
    written_text, written_video = _written(rows, str(options.get("seed", "0")))
    text = _released(files, "textscore", rows, flaws) or written_text
    video = _released(files, "videoscore", rows, flaws) or written_video
    found: list[dict[str, object]] = []
    items: list[dict[str, object]] = []
    for row in rows:
        index = row["index"]
        order = _segments(index, video, flaws)
        joined = f"{index}.{'-'.join(order)}"
        halves = [
            _half_clip(row, half, clips, text[index, half].video) for half in HALVES if _has_video(row, half, clips)
        ]
        ready = "" if clips == "ids" else video[index, "pos"].video or video[index, "neg"].video
        found += halves
        if len(halves) == len(HALVES):
            found.append(_clip(joined, index, "concat", source_id=ready, parts=[f"{index}.{half}" for half in order]))
        for half in HALVES:
            items.append(_item(row, half, "text", text[index, half], f"{index}.{half}", flaws))
            items.append(_item(row, half, "video", video[index, half], joined, flaws))
    return pl.DataFrame(found, schema=CLIPS), pl.DataFrame(items, schema=ITEMS)


def _rows(
    files: Sequence[Path], fields: Sequence[str], options: Mapping[str, Any], flaws: Flaws
) -> list[dict[str, str]]:
    """The table's rows under our names; the specification says what a release calls its columns."""
    names = {str(options.get(field, field)): field for field in fields}
    path = only_table(files, list(names))
    frame = require_columns(read_rows(path), list(names), path).rename(names).cast(pl.String).fill_null("")
    rows = [{field: value.strip() for field, value in row.items()} for row in frame.iter_rows(named=True)]
    seen: set[str] = set()
    for number, row in enumerate(rows, start=1):
        where = f"{path}: row {number}"
        if not row["index"]:
            raise UserError(f"{where}: 'index' is empty. Mend or remove the row.")
        if row["index"] in seen:
            raise UserError(f"{where}: index '{row['index']}' is there twice. Remove one of the rows.")
        seen.add(row["index"])
        for field in fields:
            if field not in ("major", "minor") and not row[field]:
                flaw = f"'{field}' is empty: half of the pair is missing, and what needs it is not asked"
                flaws.add(_pair(row["index"]), where, flaw)
        for kind, found, known in (("major", [row["major"]], MAJOR), ("minor", _minors(row), MINOR)):
            for name in found:
                if name not in known:
                    flaw = f"{kind} category '{name}' is not one of {', '.join(known)}; the pair counts in none of them"
                    flaws.add(_pair(row["index"]), where, flaw)
    return rows


def _pair(index: str) -> str:
    """What a flaw calls a pair."""
    return f"pair {index}"


def _has_video(row: Mapping[str, str], half: str, clips: str) -> bool:
    """Whether a half's video can be had: one that is cut from its source needs its span."""
    return clips != "ids" or all(row[f"{half}_{part}"] for part in ("vid", "start", "end"))


def _minors(row: Mapping[str, str]) -> list[str]:
    return [name.strip() for name in row["minor"].split(";") if name.strip()]


def _released(files: Sequence[Path], kind: str, rows: Sequence[Mapping[str, str]], flaws: Flaws) -> Questions:
    """The released questions of one kind; empty where the release has none. A lacking half is named, and kept."""
    path = next((path for path in files if path.name == f"vinoground_{kind}.json"), None)
    if path is None:
        return {}
    known = {row["index"] for row in rows}
    found: Questions = {}
    for number, entry in enumerate(_entries(path), start=1):
        where = f"{path}: entry {number}"
        match = re.fullmatch(r"(.+)_(pos|neg)", str(entry["idx"]))
        if match is None or match[1] not in known:
            raise UserError(f"{where}: idx '{entry['idx']}' is no <index>_pos or <index>_neg of the table's pairs.")
        if (match[1], match[2]) in found:
            raise UserError(f"{where}: idx '{entry['idx']}' is there twice. Remove one of the entries.")
        answer = str(entry["GT"])
        if answer not in LETTERS:
            flaw = f"{kind}: ground truth '{answer}' is neither A nor B, so no answer to it is right"
            flaws.add(_pair(match[1]), f"{where} ({entry['idx']})", flaw)
        video = str(Path(str(entry["video_name"])).with_suffix(""))
        found[match[1], match[2]] = Question(str(entry["question"]), answer if answer in LETTERS else "", video)
    asked = {place for place, question in found.items() if question.text.strip()}
    for place in sorted({(index, half) for index in known for half in HALVES} - asked):
        flaws.add(_pair(place[0]), str(path), f"{kind}: no question '{'_'.join(place)}'; its pair counts as missing")
        found[place] = Question()
    return found


def _entries(path: Path) -> list[dict[str, Any]]:
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not readable as json: {error}. Fetch the release again.") from error
    fields = ", ".join(QUESTION_FIELDS)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise UserError(f"{path}: expected a list of questions, each with {fields}.")
    for number, entry in enumerate(entries, start=1):
        if not set(QUESTION_FIELDS) <= set(entry):
            raise UserError(f"{path}: entry {number}: found {', '.join(entry)}. Needed: {fields}.")
    return entries


def _written(rows: Sequence[Mapping[str, str]], seed: str) -> tuple[Questions, Questions]:
    """The paper's questions about captions and about segments; in half of the pairs the positive one comes first."""
    text: Questions = {}
    video: Questions = {}
    caption_first, segment_first = (_drawn_half(rows, f"{kind} {seed}") for kind in ("text", "video"))
    for row in rows:
        index = row["index"]
        captions = (row["pos_cap"], row["neg_cap"])
        a, b = captions if index in caption_first else captions[::-1]
        for half in HALVES:
            caption = row[f"{half}_cap"]
            is_pos = half == "pos"
            letters = _letter(is_pos == (index in caption_first)), _letter(is_pos == (index in segment_first))
            text[index, half] = Question(TEXT_QUESTION.format(a=a, b=b), letters[0]) if a and b else Question()
            asked = VIDEO_QUESTION.format(caption=caption)
            video[index, half] = Question(asked, letters[1]) if caption else Question()
    return text, video


def _letter(is_first: bool) -> str:
    return LETTERS[0] if is_first else LETTERS[1]


def _drawn_half(rows: Sequence[Mapping[str, str]], seed: str) -> set[str]:
    """Half of the pairs, by seed and index alone."""
    return set(
        sorted((row["index"] for row in rows), key=lambda index: text_digest(f"{seed}\n{index}"))[: len(rows) // 2]
    )


def _segments(index: str, questions: Questions, flaws: Flaws) -> tuple[str, str]:
    """The halves in the order of the concatenation, by the ground truth of the questions about it."""
    asked = [(half, questions[index, half].answer) for half in HALVES if questions[index, half].answer]
    orders = [HALVES if (half == "pos") == (answer == "A") else HALVES[::-1] for half, answer in asked] or [HALVES]
    if len(set(orders)) > 1:
        flaw = (
            f"videoscore: both captions have the ground truth '{asked[0][1]}', but only one of them fits that segment"
        )
        flaws.add(_pair(index), f"pair {index}", flaw)
    return orders[0]


def _half_clip(row: Mapping[str, str], half: str, clips: str, video: str) -> dict[str, object]:
    """One video of a pair: cut from its source, or the released file."""
    index = row["index"]
    if clips == "ids":
        span = segment_of(*(row[f"{half}_{part}"] for part in ("vid", "start", "end")))
        return _clip(f"{index}.{half}", index, "trim", source_id=span.video, start_s=span.start_s, end_s=span.end_s)
    return _clip(f"{index}.{half}", index, "whole", source_id=video or f"vinoground_videos/{index}_{half}")


def _clip(clip_id: str, index: str, kind: str, **known: object) -> dict[str, object]:
    blank: dict[str, object] = {"source_id": "", "start_s": None, "end_s": None, "parts": []}
    return {"clip_id": clip_id, "unit": index, "kind": kind} | blank | known


def _item(
    row: Mapping[str, str], half: str, task: str, question: Question, clip_id: str, flaws: Flaws
) -> dict[str, object]:
    a, b = SEGMENTS if task == "video" else (row["pos_cap"], row["neg_cap"])
    if task == "text" and (half == "pos") != (question.answer == "A"):
        a, b = b, a
    texts = {"question": question.text, "a": a, "b": b, "pos": row["pos_cap"], "neg": row["neg_cap"]}
    known = [name for name in (row["major"], *_minors(row)) if name in (*MAJOR, *MINOR)]
    groups = {"half": half} | dict.fromkeys(known, "yes")
    return {
        "item_id": f"{row['index']}_{half}/{task}",
        "clip_id": clip_id,
        "unit": row["index"],
        "task": task,
        "texts": [{"name": name, "text": text} for name, text in texts.items()],
        "answer": question.answer,
        "groups": [
            *({"name": name, "text": text} for name, text in groups.items()),
            *flaws.groups(_pair(row["index"])),
        ],
    }


def requests(items: pl.DataFrame, form: str, prompt: Prompt) -> list[dict[str, object]]:
    """The four questions of a pair (roles `text_pos`, ...), or its four similarities (roles `<video>_<caption>`)."""
    asked: list[dict[str, object]] = []
    for item in items.iter_rows(named=True):
        texts, groups = ({entry["name"]: entry["text"] for entry in item[part]} for part in ("texts", "groups"))
        half = groups["half"]
        if form == "questions" and texts["question"]:
            shown = [texts["a"], texts["b"]] if item["answer"] and texts["a"] and texts["b"] else []
            options = {"options": list(LETTERS), "option_texts": shown, "expected": item["answer"]}
            asked.append(_request(item, f"{item['task']}_{half}", prompt, {"question": texts["question"]}, options))
        elif form == "similarity" and item["task"] == "text":
            for caption in filter(texts.get, HALVES):
                options = {"options": ["match"], "option_texts": [], "expected": "match" if caption == half else ""}
                asked.append(_request(item, f"{half}_{caption}", prompt, {"caption": texts[caption]}, options))
    return asked


def _request(
    item: Mapping[str, Any], role: str, prompt: Prompt, values: Mapping[str, str], options: Mapping[str, object]
) -> dict[str, object]:
    return {
        "request_id": f"{item['item_id']}#{role}",
        "item_id": item["item_id"],
        "clip_id": item["clip_id"],
        "role": role,
        "system": fill(prompt.system, values),
        "prompt": fill(prompt.user, values),
        **options,
    }


def answers(form: str, items: pl.DataFrame, responses: pl.DataFrame, reader: str) -> list[dict[str, str]]:
    """What was answered to each question, step by step; a judge says which option it comes to."""
    return plain_answers(responses)


def measures(
    form: str, items: pl.DataFrame, verdicts: pl.DataFrame, resampling: Resampling, *, drop_unread: bool
) -> list[Measure]:
    """Text, video and group score over all pairs and over the pairs of each category.

    `drop_unread` is the authors' convention: every pair of the table counts, a question without an answer is wrong, and
    one that the text score stops at takes the pair's video score with it.
    """
    pairs = _pairs(form, items, verdicts, by_authors=drop_unread)
    found = []
    for group in GROUPS:
        members = in_group(pairs, group)
        for score in SCORES:
            rows = members.filter(f"{score}_asked").with_columns(
                failed=pl.col(f"{score}_failed"), unparsed=pl.col(f"{score}_unparsed")
            )
            one = measure(score, group, rows, [(rows[f"{score}_right"], ones(rows))], resampling)
            found.append(replace(one, missing=members.height - rows.height))
    return found


def _pairs(form: str, items: pl.DataFrame, verdicts: pl.DataFrame, *, by_authors: bool) -> pl.DataFrame:
    """One row a pair; for each score whether it was asked, right, failed, unparsed."""
    if form == "similarity":
        return _similarity_pairs(items, verdicts)
    pairs = _side_by_side(items, verdicts, [role for roles in ROLES.values() for role in roles])
    pairs = _as_authors(pairs) if by_authors else pairs
    roles = {**ROLES, "group": [role for roles in ROLES.values() for role in roles]}
    right = {score: pl.all_horizontal(f"{role}_right" for role in roles[score]).fill_null(False) for score in SCORES}
    return pairs.with_columns(_columns(right, roles))


def _columns(right: Mapping[str, pl.Expr], roles: Mapping[str, Sequence[str]]) -> Iterator[pl.Expr]:
    """For each score: right, whether all its answers were asked, whether any failed or could not be read."""
    for score in SCORES:
        yield right[score].alias(f"{score}_right")
        yield pl.all_horizontal(pl.col(f"{role}_failed").is_not_null() for role in roles[score]).alias(f"{score}_asked")
        for state in ("failed", "unparsed"):
            any_of = pl.any_horizontal(f"{role}_{state}" for role in roles[score])
            yield any_of.fill_null(False).alias(f"{score}_{state}")


def _side_by_side(items: pl.DataFrame, verdicts: pl.DataFrame, roles: Sequence[str]) -> pl.DataFrame:
    """One row a pair with the verdicts of its four roles; null where a question was never asked."""
    pairs = items.select("unit", "groups").unique("unit", keep="first", maintain_order=True)
    answers = verdicts.join(items.select("item_id", "unit"), on="item_id", how="inner")
    for role in roles:
        columns = [pl.col(part).alias(f"{role}_{part}") for part in ("right", "score", "failed", "unparsed")]
        one = answers.filter(pl.col("role") == role).select("unit", *columns)
        pairs = pairs.join(one, on="unit", how="left", maintain_order="left")
    return pairs


def _as_authors(pairs: pl.DataFrame) -> pl.DataFrame:
    """The released scorer: looking up an answer that is lacking or empty ends its pair there.

    It looks at the second text answer only if the first is right, and at the video answers after the text answers.
    """

    def lacks(role: str) -> pl.Expr:
        return pl.col(f"{role}_right").is_null() | pl.col(f"{role}_failed") | pl.col(f"{role}_unparsed")

    ends = lacks("text_pos") | (pl.col("text_pos_right") & lacks("text_neg"))
    right = [pl.col(f"{role}_right").fill_null(False) for role in ROLES["text"]]
    right += [pl.col(f"{role}_right").fill_null(False) & ~ends for role in ROLES["video"]]
    failed = [pl.col(f"{role}_failed").fill_null(True) for roles in ROLES.values() for role in roles]
    return pairs.with_columns(*right, *failed)


def _similarity_pairs(items: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """The scores by four similarities, as Winoground defines them; a tie is not larger, so it fails."""
    roles = [f"{video}_{caption}" for video in HALVES for caption in HALVES]

    def above(one: str, other: str) -> pl.Expr:
        return (pl.col(f"{one}_score") > pl.col(f"{other}_score")).fill_null(False)

    text = above("pos_pos", "pos_neg") & above("neg_neg", "neg_pos")
    video = above("pos_pos", "neg_pos") & above("neg_neg", "pos_neg")
    right = {"text": text, "video": video, "group": text & video}
    return _side_by_side(items, verdicts, roles).with_columns(_columns(right, dict.fromkeys(SCORES, roles)))


def outcomes(form: str, items: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Metric -> one row a pair, for comparing two models pair by pair."""
    pairs = _pairs(form, items, verdicts, by_authors=False)
    return {
        score: pairs.filter(f"{score}_asked").select(
            pl.col("unit").alias("item_id"), "unit", pl.lit(ALL).alias("task"), pl.col(f"{score}_right").alias("right")
        )
        for score in SCORES
    }


def in_group(items: pl.DataFrame, group: str) -> pl.DataFrame:
    """The items that a group's numbers are about."""
    return items if group == ALL else items.filter(in_group_named(group))


def statistics(items: pl.DataFrame, clips: pl.DataFrame) -> list[tuple[str, str, float]]:
    """Pairs in each category and in all (Table 2)."""
    return [("pairs", group, float(in_group(items, group)["unit"].n_unique())) for group in GROUPS]

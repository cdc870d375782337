"""MMBench-Video: free answers to questions about long videos, rated 0 to 3 by a judge, over a taxonomy of abilities."""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reprise.benchmarks import only_table, plain_answers, read_rows, require_columns
from reprise.benchmarks.flaws import Flaws
from reprise.errors import UserError, suggestion
from reprise.measures import Measure, Resampling, measure, ones
from reprise.prompts import Prompt, fill
from reprise.schemas import CLIPS, ITEMS, in_group_named
from reprise.subtitles import as_prompt, read_vtt

LEAVES = {
    "cp": ("Video Topic", "Video Emotion", "Video Scene", "Video Style"),
    "fp_s": (
        "OCR",
        "Object Recognition",
        "Attribute Recognition",
        "Event Recognition",
        "Human Motion",
        "Counting",
    ),
    "fp_c": ("Spatial Relationship", "Human-object Interaction", "Human Interaction"),
    "hl": ("Hallucination",),
    "lr": ("Structuralized Image-Text Understanding", "Mathematical Calculation"),
    "ar": ("Physical Property", "Function Reasoning", "Identity Reasoning"),
    "rr": ("Natural Relation", "Physical Relation", "Social Relation"),
    "csr": ("Common Sense Reasoning",),
    "tr": ("Counterfactual Reasoning", "Causal Reasoning", "Future Prediction"),
}
HALVES = {"perception": ("cp", "fp_s", "fp_c", "hl"), "reasoning": ("lr", "ar", "rr", "csr", "tr")}
L2_OF = {leaf: l2 for l2, leaves in LEAVES.items() for leaf in leaves}
OVERALL = "overall"
ALL = "all"
OWN_NAME = "mmbench_video"
# Table 2 and Table 4 print other data sets beside this one; their groups hold published numbers only.
OTHER_VIDEO_SETS = ("msvd", "tgif", "msrvtt", "activitynet", "egoschema", "video_mme", "next_gqa")
MMBENCH = tuple(f"mmbench_{name}" for name in ("fp_s", "fp_c", "cp", "lr", "ar", "rr", "overall"))
MMSTAR = tuple(f"mmstar_{name}" for name in ("cp", "fp", "ir", "lr", "math", "st", "overall"))
GROUPS = (
    *HALVES["perception"],
    "perception",
    *HALVES["reasoning"],
    "reasoning",
    OVERALL,
    ALL,
    OWN_NAME,
    *OTHER_VIDEO_SETS,
    *MMBENCH,
    *MMSTAR,
)
# `mae` comes of people's ratings; `accuracy` is Table 4's, which is published only.
METRICS = frozenset({"mean", "valid", "original_score", "normalized_score", "mae", "accuracy"})
FORMS = {"packed": METRICS, "unpacked": METRICS}
OF_TEXTS = ("capabilities", "question_words_mean", "question_words_std", "answer_words_mean", "answer_words_std")
OF_VIDEOS = ("duration_s_mean", "duration_s_std", "shots_mean", "shots_std")
STATISTICS = frozenset({"videos", "questions", *OF_TEXTS, *OF_VIDEOS})
CHANCE: dict[str, float] = {}
BEST = 3
COLUMNS = ("index", "video", "video_type", "question", "answer", "dimensions", "video_path")
UNREADABLE = "unreadable"
PAIR = re.compile(r"""(["'])(\w+)\1\s*:\s*(["'])(.*?)(?<!\\)\3\s*(?=[,}\n]|\Z)""", re.DOTALL)


def annotations(files: Sequence[Path], clips: str, options: Mapping[str, object]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read `MMBench-Video.tsv`, and the `<video>.vtt` that lie with it; videos come as the released files."""
    if clips == "ids":
        raise UserError("MMBench-Video release: it says no spans, so clips cannot be cut. Use `clips: release`.")
    path = only_table([file for file in files if file.suffix != ".vtt"], COLUMNS)
    rows = require_columns(read_rows(path), COLUMNS, path).cast(pl.String).fill_null("")
    subtitles = {file.stem: as_prompt(read_vtt(file)) for file in files if file.suffix == ".vtt"}
    seen: dict[str, int] = {}
    flaws = Flaws()
    items = []
    for number, row in enumerate(rows.iter_rows(named=True), start=1):
        where = f"{path}: row {number}"
        for column in ("index", "video"):
            if not row[column].strip():
                raise UserError(f"{where}: '{column}' is empty. Mend the row or remove it.")
        if row["index"] in seen:
            raise UserError(f"{where}: index '{row['index']}' is that of row {seen[row['index']]} already.")
        seen[row["index"]] = number
        items.append(_item(row, where, flaws, subtitles.get(row["video"], "")))
    return _clips(rows["video"].unique(maintain_order=True).to_list()), pl.DataFrame(items, schema=ITEMS)


def _leaves(text: str) -> list[str]:
    """The abilities that a question names, from the literal of a Python list; nothing is evaluated."""
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        found = None
    return [str(leaf) for leaf in found] if isinstance(found, list) else []


def _item(row: Mapping[str, str], where: str, flaws: Flaws, subtitles: str) -> dict[str, object]:
    """One item a question. What is wrong with it is said and counted; it stays, so that no number hides it."""
    named = _leaves(row["dimensions"])
    leaves = [leaf for leaf in named if leaf in L2_OF]
    entry = f"question {row['index']}"
    for column in ("question", "answer"):
        if not row[column].strip():
            flaws.add(entry, where, f"'{column}' is empty, so it is not asked and counts as missing")
    for leaf in named:
        if leaf not in L2_OF:
            flaws.add(entry, where, f"dimension '{leaf}' is unknown and counts nowhere.{suggestion(leaf, L2_OF)}")
    if not named:
        shown = row["dimensions"][:80]
        flaws.add(entry, where, f"dimensions: found {shown!r}, expected a list such as ['OCR']; it counts in no group")
    coarse = {L2_OF[leaf] for leaf in leaves}
    groups = [name for name in LEAVES if name in coarse]
    groups += [half for half, members in HALVES.items() if coarse & set(members)]
    return {
        "item_id": row["index"],
        "clip_id": f"{row['video']}.whole",
        "unit": row["video"],
        "task": row["video_type"],
        "texts": [{"name": "question", "text": row["question"]}, {"name": "subtitles", "text": subtitles}],
        "answer": row["answer"],
        "groups": [
            *({"name": name, "text": "yes"} for name in groups),
            *({"name": "leaf", "text": leaf} for leaf in leaves),
            {"name": "subtitled", "text": "yes" if subtitles else "no"},
            *flaws.groups(entry),
        ],
    }


def _clips(videos: Sequence[str]) -> pl.DataFrame:
    rows: list[dict[str, object]] = [
        {
            "clip_id": f"{v}.whole",
            "unit": v,
            "kind": "whole",
            "source_id": v,
            "start_s": None,
            "end_s": None,
            "parts": [],
        }
        for v in videos
    ]
    return pl.DataFrame(rows, schema=CLIPS)


# --- what is asked --------------------------------------------------------------------------------------------------


def requests(items: pl.DataFrame, form: str, prompt: Prompt) -> list[dict[str, object]]:
    """`packed` asks all questions of a video at once, by index; `unpacked` asks each alone."""
    items = _complete(items)
    groups = items.partition_by("clip_id", maintain_order=True)
    if form == "packed":
        return [_packed_request(group.to_dicts(), prompt) for group in groups]
    return [_request(item, item["item_id"], form, _values(item), item["answer"], prompt) for item in items.to_dicts()]


def _complete(items: pl.DataFrame) -> pl.DataFrame:
    """The items that can be asked and judged: those with a question and an answer."""
    questions = pl.Series([_values(item)["question"] for item in items.to_dicts()], dtype=pl.String)
    return items.filter((questions.str.strip_chars() != "") & (items["answer"].str.strip_chars() != ""))


def _packed_request(items: list[dict[str, object]], prompt: Prompt) -> dict[str, object]:
    questions = {str(item["item_id"]): _values(item)["question"] for item in items}
    answers = {str(item["item_id"]): item["answer"] for item in items}
    values = _values(items[0]) | {"questions": json.dumps(questions, ensure_ascii=False)}
    expected = json.dumps(answers, ensure_ascii=False)
    return _request(items[0], str(items[0]["clip_id"]), "packed", values, expected, prompt)


def _values(item: Mapping[str, object]) -> dict[str, str]:
    texts: list[dict[str, str]] = item["texts"]  # type: ignore[assignment]
    values = {text["name"]: text["text"] for text in texts}
    spoken = values["subtitles"]
    return values | {"subtitles": f"\nSubtitle: {spoken}" if spoken else ""}


def _request(
    item: Mapping[str, object], asked_of: str, role: str, values: Mapping[str, str], expected: object, prompt: Prompt
) -> dict[str, object]:
    return {
        "request_id": f"{asked_of}#{role}",
        "item_id": item["item_id"],
        "clip_id": item["clip_id"],
        "role": role,
        "system": fill(prompt.system, values),
        "prompt": fill(prompt.user, values),
        "options": [],
        "option_texts": [],
        "expected": expected,
    }


# --- what was answered ----------------------------------------------------------------------------------------------


def answers(form: str, items: pl.DataFrame, responses: pl.DataFrame, reader: str) -> list[dict[str, str]]:
    """One answer an item that was asked; a packed answer is split to its questions."""
    if form == "unpacked":
        return plain_answers(responses)
    by_clip = {row["clip_id"]: row for row in responses.iter_rows(named=True)}
    found = []
    for group in _complete(items).partition_by("clip_id", maintain_order=True):
        response = by_clip.get(group["clip_id"][0])
        if response is None:
            continue
        indices = group["item_id"].to_list()
        texts = {} if response["error"] else PACKED_READERS[reader](response["text"], indices)
        found += [
            {
                "item_id": index,
                "role": form,
                "text": texts.get(index, ""),
                "error": response["error"] or ("" if index in texts else UNREADABLE),
            }
            for index in indices
        ]
    return found


def split_as_authors(text: str, indices: Sequence[str]) -> dict[str, str]:
    """The reference harness: the one JSON object of the reply, else its `key: value` lines if it has one brace."""
    objects = _json_objects(text.strip())
    found = objects[0] if len(objects) == 1 else _lines_after_brace(text.strip())
    return {index: _as_text(found[index]) for index in indices if found.get(index) is not None}


def _json_objects(text: str) -> list[dict[Any, object]]:
    """Every JSON object in a text, outermost ones only."""
    found: list[dict[Any, object]] = []
    place, decoder = text.find("{"), json.JSONDecoder()
    while place != -1:
        try:
            value, length = decoder.raw_decode(text[place:])
        except ValueError:
            length = 1
        else:
            found.append(value)
        place = text.find("{", place + length)
    return found


def _lines_after_brace(text: str) -> dict[Any, object]:
    """`'7': 'an answer',` line by line; what follows a second `: ` is lost, as in the harness."""
    if text.count("{") != 1:
        return {}
    found: dict[Any, object] = {}
    for line in text[text.find("{") + 1 :].strip().split("\n"):
        parts = line.strip().split(": ")
        if len(parts) > 1:
            key, value = (part.strip().strip(",\"'") for part in parts[:2])
            if key and value:
                found[key] = value
    return found


def split_robustly(text: str, indices: Sequence[str]) -> dict[str, str]:
    """JSON, or a Python literal as the prompt's own example is one, else whole pairs; by index or by I1, I2, ....

    A reply without a brace answers the only question of a video, as the prompt allows, and nothing otherwise.
    """
    if "{" not in text:
        return {indices[0]: text} if len(indices) == 1 and text.strip() else {}
    merged = {key: value for found in _json_objects(text) for key, value in found.items()}
    for found in (merged, *_literals(text), _whole_pairs(text)):
        named = {str(key).strip(): value for key, value in found.items()}
        numbered = {index: f"I{place}" for place, index in enumerate(indices, start=1)}
        for names in ({index: index for index in indices}, numbered):
            texts = {i: _as_text(named[name]) for i, name in names.items() if named.get(name) is not None}
            if texts:
                return texts
    return {}


def _literals(text: str) -> list[dict[Any, object]]:
    match = re.search(r"\{.*\}", text, re.DOTALL)
    try:
        value = ast.literal_eval(match[0]) if match else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []
    return [value] if isinstance(value, dict) else []


def _whole_pairs(text: str) -> dict[Any, object]:
    """Every finished `"key": "value"` of a reply that was cut off or mistyped."""
    return {key: value for _, key, _, value in PAIR.findall(text)}


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


PACKED_READERS = {"authors": split_as_authors, "robust": split_robustly}


# --- what it is worth -----------------------------------------------------------------------------------------------


def measures(
    form: str, items: pl.DataFrame, verdicts: pl.DataFrame, resampling: Resampling, *, drop_unread: bool
) -> list[Measure]:
    """Mean ratings: `mean` (ALL) counts what failed as 0, `valid` leaves it out.

    `drop_unread` is the authors' convention. It differs where an unpacked answer failed: the harness puts its failure
    message to the judge like an answer, so that it stays in `valid`, with 0.
    """
    rows = _rated(items, verdicts)
    given = rows["score"].is_not_null() | (rows["failed"] if drop_unread and form == "unpacked" else False)
    rows = rows.with_columns(given=given.cast(pl.Float64), score=rows["score"].fill_null(0.0))
    found = []
    for group in (*LEAVES, *HALVES, OVERALL):
        inside = in_group(rows, group)
        rated, given = inside["score"] * inside["given"], inside["given"]
        found.append(measure("mean", group, inside, [(inside["score"], ones(inside))], resampling, scale=1))
        found.append(measure("valid", group, inside, [(rated, given)], resampling, scale=1))
    whole = [(rows["score"], ones(rows))]
    found.append(measure("original_score", OWN_NAME, rows, whole, resampling, scale=1))
    found.append(measure("normalized_score", OWN_NAME, rows, whole, resampling, scale=100 / BEST))
    return found


def _rated(items: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    rated = verdicts.select("item_id", "score", "failed", "unparsed")
    return items.select("item_id", "unit", "task", "groups").join(rated, on="item_id", maintain_order="left")


def outcomes(form: str, items: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The rating of every question as a share of the best one."""
    rows = _rated(items, verdicts).with_columns(right=pl.col("score").fill_null(0.0) / BEST, task=pl.lit(OVERALL))
    return {"mean": rows.select("item_id", "unit", "task", "right")}


def in_group(items: pl.DataFrame, group: str) -> pl.DataFrame:
    """The questions of an ability; one with several counts once in each, and once in all."""
    return items.filter(in_group_named(group)) if group in LEAVES or group in HALVES else items


# --- the data themselves --------------------------------------------------------------------------------------------


def statistics(items: pl.DataFrame, clips: pl.DataFrame) -> list[tuple[str, str, float]]:
    """Table 1: abilities, and the words of questions and answers, as mean and standard deviation."""
    leaves = {g["text"] for groups in items["groups"].to_list() for g in groups if g["name"] == "leaf"}
    questions = [next(t["text"] for t in texts if t["name"] == "question") for texts in items["texts"].to_list()]
    return [
        ("videos", ALL, float(clips.height)),
        ("questions", ALL, float(items.height)),
        ("capabilities", ALL, float(len(leaves))),
        *_spread("question_words", [len(text.split()) for text in questions]),
        *_spread("answer_words", [len(text.split()) for text in items["answer"].to_list()]),
    ]


def video_statistics(items: pl.DataFrame, facts: pl.DataFrame) -> list[tuple[str, str, float]]:
    """Table 1: durations and shot numbers of the videos that are there."""
    mine = facts.filter(pl.col("clip_id").is_in(items["clip_id"].unique().to_list()))
    return [*_spread("duration_s", mine["duration_s"].to_list()), *_spread("shots", mine["shots"].to_list())]


def _spread(name: str, values: Sequence[float]) -> list[tuple[str, str, float]]:
    """Mean and standard deviation over all values; the paper does not say which deviation, this is the population's."""
    if not values:
        return []
    centre = sum(values) / len(values)
    deviation = (sum((value - centre) ** 2 for value in values) / len(values)) ** 0.5
    return [(f"{name}_mean", ALL, centre), (f"{name}_std", ALL, deviation)]

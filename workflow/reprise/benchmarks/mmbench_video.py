"""MMBench-Video: free answers to questions about long videos, rated 0 to 3 by a judge, over a taxonomy of abilities."""

import ast
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from reprise.benchmarks import plain_answers
from reprise.benchmarks.flaws import Flaws
from reprise.benchmarks.image_choice import FORMS as IMAGE_FORMS
from reprise.benchmarks.image_choice import GROUPS as IMAGE_GROUPS
from reprise.benchmarks.image_choice import MMBENCH, MMSTAR, answered, read_images
from reprise.benchmarks.image_choice import measures as image_measures
from reprise.benchmarks.image_choice import requests as image_requests
from reprise.benchmarks.image_choice import statistics as image_statistics
from reprise.benchmarks.packed import PACKED_READERS
from reprise.benchmarks.prompts import Prompt, fill
from reprise.benchmarks.video_sets import SETS, read_set
from reprise.core.errors import UserError, suggestion
from reprise.core.schemas import CLIPS, ITEMS, in_group_named
from reprise.core.tabular import only_table, read_rows, require_columns
from reprise.media.subtitles import as_prompt, read_vtt
from reprise.stats.measures import Measure, Resampling, measure, ones

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
# Tables 1 and 2 print other sets of videos beside this one; where no manifest gives them, as published.
OTHER_VIDEO_SETS = ("msvd", "tgif", "msrvtt", "activitynet", "egoschema", "video_mme", "next_gqa")
GROUPS = (
    *HALVES["perception"],
    "perception",
    *HALVES["reasoning"],
    "reasoning",
    OVERALL,
    ALL,
    OWN_NAME,
    *OTHER_VIDEO_SETS,
    *IMAGE_GROUPS,
)
# `mae` comes of people's ratings.
METRICS = frozenset({"mean", "valid", "original_score", "normalized_score", "mae"})
FORMS = {"packed": METRICS, "unpacked": METRICS, **IMAGE_FORMS}
OF_TEXTS = ("capabilities", "question_words_mean", "question_words_std", "answer_words_mean", "answer_words_std")
OF_VIDEOS = ("duration_s_mean", "duration_s_std", "shots_mean", "shots_std")
STATISTICS = frozenset({"videos", "questions", *OF_TEXTS, *OF_VIDEOS})
CHANCE: dict[str, float | None] = {"accuracy": None}
BEST = 3
# Image benchmark -> how the name of its released table begins.
IMAGE_TABLES = {MMBENCH: "MMBench_", MMSTAR: "MMStar"}
# Names that mean something else than a set of other videos.
GROUPS_TAKEN = tuple(sorted({*GROUPS, SETS, "subtitled"} - set(OTHER_VIDEO_SETS)))
COLUMNS = ("index", "video", "video_type", "question", "answer", "dimensions", "video_path")
UNREADABLE = "unreadable"


def annotations(files: Sequence[Path], clips: str, options: Mapping[str, object]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read `MMBench-Video.tsv` and the `<video>.vtt` that lie with it; videos come as the released files.

    Beside it may lie MMBench's and MMStar's tables of images, and manifests `sets/<set>.csv` of other videos.
    """
    if clips == "ids":
        raise UserError("MMBench-Video release: it says no spans, so clips cannot be cut. Use `clips: release`.")
    found = [_videos(files)]
    found += [read_images(path, name) for name, path in _image_tables(files).items()]
    found += [read_set(path, GROUPS_TAKEN) for path in files if path.suffix == ".csv"]
    clip_rows, item_rows = ([row for pair in found for row in pair[place]] for place in (0, 1))
    return pl.DataFrame(clip_rows, schema=CLIPS), pl.DataFrame(item_rows, schema=ITEMS)


def _image_tables(files: Sequence[Path]) -> dict[str, Path]:
    """The table of each image benchmark that the release has."""
    found: dict[str, Path] = {}
    for name, start in IMAGE_TABLES.items():
        fitting = [path for path in files if path.suffix == ".tsv" and path.name.startswith(start)]
        if len(fitting) > 1:
            names = ", ".join(path.name for path in fitting)
            raise UserError(f"release: expected one table {start}*.tsv, found {names}. Keep the one to be asked.")
        if fitting:
            found[name] = fitting[0]
    return found


def _videos(files: Sequence[Path]) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    path = only_table([file for file in files if file.name.startswith("MMBench-Video")], COLUMNS)
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
    return _clips(rows["video"].unique(maintain_order=True).to_list()), items


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
            *({"name": name, "text": "yes"} for name in (OWN_NAME, *groups)),
            *({"name": "leaf", "text": leaf} for leaf in leaves),
            {"name": "subtitled", "text": "yes" if subtitles else "no"},
            *flaws.groups(entry),
        ],
    }


def _clips(videos: Sequence[str]) -> list[dict[str, object]]:
    return [
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


# --- what is asked --------------------------------------------------------------------------------------------------


def requests(items: pl.DataFrame, form: str, prompt: Prompt) -> list[dict[str, object]]:
    """`packed` asks all questions of a video at once, by index; `unpacked` asks each alone; and images."""
    if form in IMAGE_FORMS:
        return image_requests(items, form, prompt)
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
    asked = _complete(items.filter(pl.col("clip_id").is_in(list(by_clip))))
    for group in asked.partition_by("clip_id", maintain_order=True):
        response = by_clip[group["clip_id"][0]]
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


# --- what it is worth -----------------------------------------------------------------------------------------------


def measures(
    form: str, items: pl.DataFrame, verdicts: pl.DataFrame, resampling: Resampling, *, drop_unread: bool
) -> list[Measure]:
    """Mean ratings: `mean` (ALL) counts what failed as 0, `valid` leaves it out.

    `drop_unread` is the authors' convention. It differs where an unpacked answer failed: the harness puts its failure
    message to the judge like an answer, so that it stays in `valid`, with 0.
    """
    if form in IMAGE_FORMS:
        return image_measures(form, items, verdicts, resampling, as_authors=drop_unread)
    rows = _rated(items, verdicts)
    given = rows["score"].is_not_null() | (rows["failed"] if drop_unread and form == "unpacked" else False)
    rows = rows.with_columns(given=given.cast(pl.Float64), score=rows["score"].fill_null(0.0))
    found = []
    sets = other_sets(items)
    for group in () if sets else (*LEAVES, *HALVES, OVERALL):
        inside = in_group(rows, group)
        rated, given = inside["score"] * inside["given"], inside["given"]
        found.append(measure("mean", group, inside, [(inside["score"], ones(inside))], resampling, scale=1))
        found.append(measure("valid", group, inside, [(rated, given)], resampling, scale=1))
    for group in sets or [OWN_NAME]:
        inside = in_group(rows, group)
        whole = [(inside["score"], ones(inside))]
        found.append(measure("original_score", group, inside, whole, resampling, scale=1))
        found.append(measure("normalized_score", group, inside, whole, resampling, scale=100 / BEST))
    return found


def other_sets(items: pl.DataFrame) -> list[str]:
    """The sets of other videos that these questions are about."""
    return items.filter(in_group_named(SETS))["task"].unique(maintain_order=True).to_list()


def _rated(items: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    rated = verdicts.select("item_id", "score", "failed", "unparsed")
    return items.select("item_id", "unit", "task", "groups").join(rated, on="item_id", maintain_order="left")


def outcomes(form: str, items: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The rating of every question as a share of the best one; of a question about an image whether it is right."""
    if form in IMAGE_FORMS:
        rows = answered(form, items, verdicts, as_authors=False)
        return {"accuracy": rows.select("item_id", "unit", "task", "right")}
    rows = _rated(items, verdicts).with_columns(right=pl.col("score").fill_null(0.0) / BEST, task=pl.lit(OVERALL))
    return {"mean": rows.select("item_id", "unit", "task", "right")}


def in_group(items: pl.DataFrame, group: str) -> pl.DataFrame:
    """The questions of an ability or a data set; one with several abilities counts once in each, and once in all."""
    return items if group in (OVERALL, ALL) else items.filter(in_group_named(group))


# --- the data themselves --------------------------------------------------------------------------------------------


def statistics(items: pl.DataFrame, clips: pl.DataFrame) -> list[tuple[str, str, float]]:
    """Table 1: abilities, and the words of questions and answers; and what Table 4's guesser reaches."""
    own = items.filter(in_group_named(OWN_NAME))
    found = _of_texts(own, ALL)
    for name in other_sets(items):
        found += _of_texts(items.filter(in_group_named(name)), name)
    return [*found, *image_statistics(items)]


def _of_texts(items: pl.DataFrame, group: str) -> list[tuple[str, str, float]]:
    """A set's size, abilities and words; a set that names no abilities has no number of them."""
    leaves = {g["text"] for groups in items["groups"].to_list() for g in groups if g["name"] == "leaf"}
    questions = [next(t["text"] for t in texts if t["name"] == "question") for texts in items["texts"].to_list()]
    return [
        ("videos", group, float(items["clip_id"].n_unique())),
        ("questions", group, float(items.height)),
        *([("capabilities", group, float(len(leaves)))] if leaves else []),
        *_spread("question_words", group, [len(text.split()) for text in questions]),
        *_spread("answer_words", group, [len(text.split()) for text in items["answer"].to_list()]),
    ]


def video_statistics(items: pl.DataFrame, facts: pl.DataFrame) -> list[tuple[str, str, float]]:
    """Table 1: durations and shot numbers of the videos that are there."""
    found = []
    for name, group in [(OWN_NAME, ALL), *((name, name) for name in other_sets(items))]:
        clips = items.filter(in_group_named(name))["clip_id"].unique().to_list()
        mine = facts.filter(pl.col("clip_id").is_in(clips))
        found += _spread("duration_s", group, mine["duration_s"].to_list())
        found += _spread("shots", group, mine["shots"].to_list())
    return found


def _spread(name: str, group: str, values: Sequence[float]) -> list[tuple[str, str, float]]:
    """Mean and standard deviation over all values; the paper does not say which deviation, this is the population's."""
    if not values:
        return []
    centre = sum(values) / len(values)
    deviation = (sum((value - centre) ** 2 for value in values) / len(values)) ** 0.5
    return [(f"{name}_mean", group, centre), (f"{name}_std", group, deviation)]

"""TemporalBench: two captions of a video that differ in a temporal detail; long videos; captioning; option sets."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from reprise.benchmarks.centralized import LETTERS, OPTION_SETS, captions_of, lettered, option_texts
from reprise.benchmarks.flaws import Flaws, flaws_of
from reprise.benchmarks.prompts import Prompt, fill
from reprise.core.errors import UserError
from reprise.core.log import log
from reprise.core.schemas import CLIPS, ITEMS
from reprise.core.tabular import read_rows, require_columns
from reprise.stats.caption_scores import ORDERS, bleu, bleu_columns, cider, rouge_l
from reprise.stats.chance import chance_all_above, chance_all_right
from reprise.stats.measures import Measure, Resampling, measure, ones

DATASETS = ("activitynet", "charades", "finegym", "movie_description", "oops", "coin", "egoexo4d")
# The paper's Table 7 has four of the five data sets that the released long videos come from.
LONG_DATASETS = ("activitynet", "charades", "finegym", "coin")
CATEGORIES = {
    "Action Order": "action_order",
    "Action Frequency": "action_frequency",
    "Action Type": "action_type",
    "Motion Magnitude": "motion_magnitude",
    "Motion Direction/Orientation": "motion_direction",
    "Action Effector": "action_effector",
    "Event Order": "event_order",
    "Others": "others",
}
OVERALL, LONG_FOUR = "overall", "long_four"
CHOICES = ("c", "n1_c")
GROUPS = (OVERALL, LONG_FOUR, *DATASETS, *CATEGORIES.values(), *CHOICES)

# Task -> what its file's name holds.
FILES = {"short": "short_qa", "long": "long_qa", "caption": "short_caption"}
# Form of question -> the task whose questions it asks by two similarities.
BY_SIMILARITY = {"short_similarity": "short", "long_similarity": "long"}
CAPTION_METRICS = ("similarity", "cider", "rouge", *(f"bleu_{order}" for order in ORDERS))
FORMS = {
    "short": frozenset({"ba", "mba"}),
    "long": frozenset({"ba", "mba"}),
    **{form: frozenset({"ba", "mba"}) for form in BY_SIMILARITY},
    "caption": frozenset(CAPTION_METRICS),
    **{form: frozenset({"share"}) for form in OPTION_SETS},
}
STATISTICS = frozenset({"samples", "words", "words_original", "questions", "flawed"})
CHANCE: dict[str, float | None] = {"ba": 50.0, "mba": None, "share": 25.0}

COLUMNS = ("idx", "video_name", "question", "GT")
QUESTION = re.compile(r"\nA\. ?(?P<a>.*?)\s*\nB\. ?(?P<b>.*?)\s*\nAnswer with the option's letter", re.DOTALL)
VIDEO = re.compile(r"^(?:(?:short|long)_video/)?(?P<name>.+)\.\w+$")
SPAN = re.compile(r"^(?P<source>.+)_start_(?P<start>\d+(?:\.\d+)?)_end_(?P<end>\d+(?:\.\d+)?)$")


# --- reading a release -----------------------------------------------------------------------------------------------


def annotations(files: Sequence[Path], clips: str, options: Mapping[str, object]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read the three released files; `clips` says whether videos are cut from their sources or the released files."""
    places: dict[str, Place] = {}
    items: list[dict[str, object]] = []
    flaws = Flaws()
    for task, path in _files(files).items():
        seen: dict[str, int] = {}
        for number, row in enumerate(_rows(path, task).iter_rows(named=True), start=1):
            where = f"{path}: entry {number}"
            if row["idx"] in seen:
                raise UserError(f"{where}: idx '{row['idx']}' is that of entry {seen[row['idx']]} already.")
            seen[row["idx"]] = number
            place = _place(row["video_name"], task, where, cut=clips == "ids")
            places[place.clip_id] = place
            items.append(_item(row, task, place, where, flaws))
    frame = pl.DataFrame(items, schema=ITEMS)
    central = pl.DataFrame(_central_items(frame), schema=ITEMS)
    return pl.DataFrame([place.row() for place in places.values()], schema=CLIPS), pl.concat([frame, central])


def _files(files: Sequence[Path]) -> dict[str, Path]:
    """The one file of each task."""
    found = {}
    for task, mark in FILES.items():
        fitting = [path for path in files if mark in path.name]
        if len(fitting) != 1:
            names = ", ".join(path.name for path in files) or "nothing"
            raise UserError(f"release: expected one file named *{mark}*, found {len(fitting)} in {names}.")
        found[task] = fitting[0]
    return found


def _rows(path: Path, task: str) -> pl.DataFrame:
    """The entries of a file with `dataset` and `category`, whatever the release calls the first."""
    rows = read_rows(path)
    if "dataset" not in rows.columns and "source_dataset" in rows.columns:
        rows = rows.rename({"source_dataset": "dataset"})
    if task == "caption" and "dataset" not in rows.columns:
        rows = rows.with_columns(dataset=pl.lit(""))
    if task != "short":
        rows = rows.with_columns(category=pl.lit(""))
    needed = (*COLUMNS, "dataset", "category")
    return require_columns(rows, needed, path).cast(pl.String).fill_null("")


class Place(NamedTuple):
    """Where a video comes from: a file of the release, or a span of a source video."""

    clip_id: str
    unit: str
    kind: str
    source_id: str
    start_s: float | None
    end_s: float | None

    def row(self) -> dict[str, object]:
        return {**self._asdict(), "parts": []}


def _place(video_name: str, task: str, where: str, *, cut: bool) -> Place:
    """Clips of one source video share a unit, as far as the file's name tells its source."""
    name = VIDEO.match(video_name)
    if name is None:
        raise UserError(f"{where}: video_name '{video_name}' names no video file.")
    length = "long" if task == "long" else "short"
    span = SPAN.match(name["name"])
    if cut:
        if span is None:
            raise UserError(
                f"{where}: video_name '{video_name}' does not end in _start_<s>_end_<s>, so it cannot be cut from its "
                "source. Use `clips: release` in the suite to take the released files."
            )
        kind = "segment" if length == "long" else "trim"
        start, end = float(span["start"]), float(span["end"])
        part, source = f"{length}-{span['start']}-{span['end']}", Path(span["source"]).name
        return Place(f"{span['source']}.{part}", span["source"], kind, source, start, end)
    unit = span["source"] if span else name["name"]
    part = f"{length}-{span['start']}-{span['end']}" if span else length
    return Place(f"{unit}.{part}", unit, "whole", video_name, None, None)


def _item(row: Mapping[str, str], task: str, place: Place, where: str, flaws: Flaws) -> dict[str, object]:
    """One item an entry. What is wrong with an entry is said and counted; it stays, so that no number hides it."""
    dataset = row["dataset"].lower()
    category = CATEGORIES.get(row["category"], "")
    answer = row["GT"] if task == "caption" else row["GT"].strip().upper()
    texts = {"question": row["question"]}
    shown = QUESTION.search(row["question"])
    if task != "caption" and shown is not None:
        texts |= {"A": shown["a"], "B": shown["b"]}
    found = []
    if task != "caption" and answer not in ("A", "B"):
        found.append(f"ground truth '{row['GT']}' is neither A nor B, so no answer to it is right")
    if task == "caption" and not answer.strip():
        found.append("the reference caption is empty")
    if task == "short" and not category:
        found.append(f"category '{row['category']}' is not one of {', '.join(CATEGORIES)}; it counts in no category")
    if task != "caption" and dataset not in DATASETS:
        found.append(f"data set '{row['dataset']}' is not one of {', '.join(DATASETS)}; it counts in none of them")
    for flaw in found:
        flaws.add(row["idx"], f"{where} ({row['idx']})", flaw)
    groups = {task: "yes", "dataset": dataset, "category": category}
    return {
        "item_id": f"{task}/{row['idx']}",
        "clip_id": place.clip_id,
        "unit": place.unit,
        "task": task,
        "texts": _named(texts),
        "answer": answer if task == "caption" or answer in ("A", "B") else "",
        "groups": _named({name: text for name, text in groups.items() if text}) + flaws.groups(row["idx"]),
    }


def _central_items(items: pl.DataFrame) -> list[dict[str, object]]:
    """One item a short video whose negatives give both option sets."""
    found = []
    for (clip_id,), rows in items.filter(pl.col("task") == "short").group_by("clip_id", maintain_order=True):
        pairs = [pair for row in rows.iter_rows(named=True) if (pair := _caption_pair(row)) is not None]
        if not pairs:
            continue
        caption = pairs[0][0]
        texts = captions_of(caption, [negative for positive, negative in pairs if positive == caption])
        if texts is not None:
            found.append(
                {
                    "item_id": f"central/{clip_id}",
                    "clip_id": clip_id,
                    "unit": rows["unit"][0],
                    "task": "central",
                    "texts": _named(texts),
                    "answer": texts["c"],
                    "groups": _named({"central": "yes"}),
                }
            )
    return found


def _caption_pair(item: Mapping[str, object]) -> tuple[str, str] | None:
    """The positive and the negative caption of a question, where its text and its answer tell them."""
    texts = _texts(item)
    if item["answer"] not in ("A", "B") or "A" not in texts:
        return None
    return (texts["A"], texts["B"]) if item["answer"] == "A" else (texts["B"], texts["A"])


def _named(texts: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "text": text} for name, text in texts.items()]


def _texts(item: Mapping[str, object]) -> dict[str, str]:
    texts: Sequence[Mapping[str, str]] = item["texts"]  # type: ignore[assignment]
    return {text["name"]: text["text"] for text in texts}


# --- asking ----------------------------------------------------------------------------------------------------------


def requests(items: pl.DataFrame, form: str, prompt: Prompt) -> list[dict[str, object]]:
    """The released question as it is; each of its captions alone; or a question about four captions."""
    if form in BY_SIMILARITY:
        return [request for item in items.iter_rows(named=True) for request in _similarities(item, prompt)]
    asked = []
    for item in items.iter_rows(named=True):
        texts = _texts(item)
        options: Sequence[str] = ("A", "B")
        shown = [texts[letter] for letter in options if letter in texts]
        expected = item["answer"]
        if form in OPTION_SETS:
            options, shown = LETTERS, option_texts(item["item_id"], form, texts)
            expected = options[shown.index(item["answer"])]
            texts = {f"caption_{letter.lower()}": text for letter, text in zip(options, shown, strict=True)}
        elif form == "caption":
            options, shown = (), []
        asked.append(
            {
                "request_id": f"{item['item_id']}#{form}",
                "item_id": item["item_id"],
                "clip_id": item["clip_id"],
                "role": form,
                "system": fill(prompt.system, texts),
                "prompt": fill(prompt.user, texts),
                "options": options,
                "option_texts": shown,
                "expected": expected,
            }
        )
    return asked


def _similarities(item: Mapping[str, Any], prompt: Prompt) -> list[dict[str, object]]:
    """Both captions of a question, each to be compared with the video; none where its text does not show them."""
    texts = _texts(item)
    if not {"A", "B"} <= texts.keys():
        log.info(f"{item['item_id']}: its text shows no captions A and B, so it cannot be asked by similarity")
        return []
    return [
        {
            "request_id": f"{item['item_id']}#{letter}",
            "item_id": item["item_id"],
            "clip_id": item["clip_id"],
            "role": letter,
            "system": fill(prompt.system, {"caption": texts[letter]}),
            "prompt": fill(prompt.user, {"caption": texts[letter]}),
            "options": ["match"],
            "option_texts": [],
            "expected": "match" if letter == item["answer"] else "",
        }
        for letter in ("A", "B")
    ]


# --- measuring -------------------------------------------------------------------------------------------------------


def measures(
    form: str, items: pl.DataFrame, verdicts: pl.DataFrame, resampling: Resampling, *, drop_unread: bool
) -> list[Measure]:
    """All metrics of a form.

    `drop_unread` is the authors' convention: a question without an answer leaves the denominator, and with it a video
    without any. An answer that cannot be read stays and is wrong, in both conventions.
    """
    rows = _answers(form, items, verdicts)
    if drop_unread:
        rows = rows.filter(~pl.col("failed"))
    if form in OPTION_SETS:
        return _shares(form, rows, resampling)
    if form == "caption":
        return _caption_scores(rows, resampling, count_unread=drop_unread)
    never_asked = items.join(verdicts, on="item_id", how="anti")
    found = []
    for group in _groups(BY_SIMILARITY.get(form, form)):
        inside = in_group(rows, group)
        found.append(measure("ba", group, inside, [(inside["right"], ones(inside))], resampling))
        videos = _videos(inside)
        ratio = (videos["right"], ones(videos))
        missing = in_group(never_asked, group)["clip_id"].n_unique()
        found.append(replace(measure("mba", group, videos, [ratio], resampling), missing=missing))
    return found


def _groups(form: str) -> tuple[str, ...]:
    return (OVERALL, *DATASETS, *CATEGORIES.values()) if form == "short" else (OVERALL, LONG_FOUR, *DATASETS)


def _answers(form: str, items: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    found = verdicts.select("item_id", "value", "score", "right", "unparsed", "failed")
    if form in BY_SIMILARITY:
        found = _closer(items, verdicts)
    # Category and data set are read off the groups once, not for every metric.
    slim = items.with_columns(_group(kind).alias(kind) for kind in ("category", "dataset")).drop("groups")
    return slim.join(found, on="item_id", how="inner", maintain_order="left")


def _closer(items: pl.DataFrame, verdicts: pl.DataFrame) -> pl.DataFrame:
    """One row a question: the caption with the larger similarity is the answer; a tie has none and is wrong."""
    halves = [verdicts.filter(pl.col("role") == letter).select("item_id", "score", "failed") for letter in ("A", "B")]
    both = halves[0].join(halves[1], on="item_id", how="inner", maintain_order="left", suffix="_b")
    ahead = (pl.col("score") - pl.col("score_b")).fill_null(0.0)
    value = pl.when(ahead > 0).then(pl.lit("A")).when(ahead < 0).then(pl.lit("B")).otherwise(pl.lit(""))
    answered = both.join(items.select("item_id", "answer"), on="item_id", how="left", maintain_order="left")
    return answered.with_columns(value=value, failed=pl.col("failed") | pl.col("failed_b")).select(
        "item_id",
        "value",
        "score",
        right=(pl.col("value") == pl.col("answer")) & (pl.col("value") != ""),
        unparsed=pl.lit(False),
        failed="failed",
    )


def _videos(rows: pl.DataFrame) -> pl.DataFrame:
    """One row a video: right if all of its questions are."""
    return rows.group_by("clip_id", maintain_order=True).agg(
        pl.col("unit", "task").first(), pl.col("right").all(), pl.col("unparsed", "failed").any()
    )


def _caption_scores(rows: pl.DataFrame, resampling: Resampling, *, count_unread: bool) -> list[Measure]:
    """The seven scores; a failed caption scores nothing, an empty one only by the authors' similarity."""
    captions, references = rows["value"].to_list(), rows["answer"].to_list()
    likeness = rows["score"].fill_null(0.0)
    if not count_unread:
        likeness = likeness * (~rows["unparsed"]).cast(pl.Float64)
    rouges = [rouge_l(caption, reference) for caption, reference in zip(captions, references, strict=True)]
    means = {
        "similarity": likeness,
        "cider": pl.Series(cider(captions, references), dtype=pl.Float64),
        "rouge": pl.Series(rouges, dtype=pl.Float64),
    }
    found = [measure(name, OVERALL, rows, [(values, ones(rows))], resampling) for name, values in means.items()]
    columns = bleu_columns(captions, references)
    return found + [measure(f"bleu_{n}", OVERALL, rows, columns, resampling, bleu(n)) for n in ORDERS]


def _shares(form: str, rows: pl.DataFrame, resampling: Resampling) -> list[Measure]:
    """How often the right caption was chosen, and how often the first of its negatives."""
    values = zip(rows["item_id"], rows["value"], strict=True)
    chosen = pl.Series([lettered(item_id, form).get(value, "") for item_id, value in values], dtype=pl.String)
    return [measure("share", name, rows, [(chosen == name, ones(rows))], resampling) for name in CHOICES]


def outcomes(form: str, items: pl.DataFrame, verdicts: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Metric -> one row a sample (item_id, unit, task, right), for comparing two models sample by sample."""
    if form == "caption":
        return {}
    rows = _answers(form, items, verdicts)
    columns = ("item_id", "unit", "task", "right")
    if form in OPTION_SETS:
        return {"share": rows.select(columns)}
    return {"ba": rows.select(columns), "mba": _videos(rows).rename({"clip_id": "item_id"}).select(columns)}


def in_group(items: pl.DataFrame, group: str) -> pl.DataFrame:
    """The items that a group's numbers are about."""
    if group in (OVERALL, *CHOICES):
        return items
    kind, names = ("category", [group]) if group in CATEGORIES.values() else ("dataset", [group])
    if group == LONG_FOUR:
        names = list(LONG_DATASETS)
    named = pl.col(kind) if kind in items.columns else _group(kind)
    return items.filter(named.is_in(names))


def _group(kind: str) -> pl.Expr:
    """An item's category or data set; null where it is of none."""
    entry = pl.element()
    of_kind = entry.struct.field("text").filter(entry.struct.field("name") == kind)
    return pl.col("groups").list.eval(of_kind).list.first()


# --- numbers of the data ---------------------------------------------------------------------------------------------


def statistics(items: pl.DataFrame, clips: pl.DataFrame) -> list[tuple[str, str, float]]:
    """Table 1 (videos and words of their captions), Table 5 (questions), and what a guesser reaches."""
    short = items.filter(pl.col("task") == "short")
    found = []
    for group in _groups("short"):
        rows = in_group(short, group)
        found += [("samples", group, float(rows["clip_id"].n_unique())), ("questions", group, float(rows.height))]
    words = {dataset: _words(in_group(short, dataset)) for dataset in DATASETS}
    counted = {dataset: count for dataset, count in words.items() if count is not None}
    found += [("words", dataset, count) for dataset, count in counted.items()]
    if counted:
        found.append(("words", OVERALL, sum(counted.values()) / len(counted)))
    found.append(("flawed", OVERALL, float(len(flaws_of(items)))))
    return found + [number for form in ("short", "long", *BY_SIMILARITY) for number in _chance(items, form)]


def _words(rows: pl.DataFrame) -> float | None:
    """Mean number of words of the videos' positive captions."""
    captions = {row["clip_id"]: pair[0] for row in rows.iter_rows(named=True) if (pair := _caption_pair(row))}
    return sum(len(text.split()) for text in captions.values()) / len(captions) if captions else None


def _chance(items: pl.DataFrame, form: str) -> list[tuple[str, str, float]]:
    """What a guesser reaches: all m questions of a video with 1/2^m; by similarities less rarely.

    The right caption of a video is one text, whose one similarity is compared with those of all its negatives.
    """
    task = BY_SIMILARITY.get(form, form)
    found = []
    for group in _groups(task):
        rows = in_group(items.filter(pl.col("task") == task), group)
        videos = [list(of_video.iter_rows(named=True)) for _, of_video in rows.group_by("clip_id", maintain_order=True)]
        if form in BY_SIMILARITY:
            known = [chance_all_above([pair for row in video if (pair := _caption_pair(row))]) for video in videos]
            chance = sum(known) / len(known) if known else None
        else:
            chance = chance_all_right([[2] * len(video) for video in videos])
        if chance is not None:
            found.append((f"chance.{form}.mba", group, 100 * chance))
    return found

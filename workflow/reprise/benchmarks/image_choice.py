"""MMBench and MMStar: multiple choice about an image, which a video model sees as a short clip (Table 4)."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from reprise.benchmarks.flaws import Flaws
from reprise.benchmarks.prompts import Prompt, fill
from reprise.core.errors import UserError
from reprise.core.schemas import in_group_named
from reprise.core.tabular import read_rows, require_columns
from reprise.fetch.release_files import owner_of, release_source
from reprise.stats.chance import chance_all_right
from reprise.stats.measures import Measure, Resampling, measure, ones

MMBENCH, MMSTAR = "mmbench", "mmstar"
# What the released tables call a category -> its group in Table 4.
MMBENCH_CATEGORIES = {
    "finegrained_perception (instance-level)": "mmbench_fp_s",
    "finegrained_perception (cross-instance)": "mmbench_fp_c",
    "coarse_perception": "mmbench_cp",
    "logic_reasoning": "mmbench_lr",
    "attribute_reasoning": "mmbench_ar",
    "relation_reasoning": "mmbench_rr",
}
MMSTAR_CATEGORIES = {
    "coarse perception": "mmstar_cp",
    "fine-grained perception": "mmstar_fp",
    "instance reasoning": "mmstar_ir",
    "logical reasoning": "mmstar_lr",
    "math": "mmstar_math",
    "science & technology": "mmstar_st",
}
CATEGORIES = {MMBENCH: MMBENCH_CATEGORIES, MMSTAR: MMSTAR_CATEGORIES}
OVERALL = {MMBENCH: "mmbench_overall", MMSTAR: "mmstar_overall"}
GROUPS = tuple(group for name in CATEGORIES for group in (*CATEGORIES[name].values(), OVERALL[name]))
# `circular`: right only if right under every rotation of the options; `choice`: asked once.
CIRCULAR, CHOICE = "circular", "choice"
FORM_OF = {MMBENCH: CIRCULAR, MMSTAR: CHOICE}
FORMS = {form: frozenset({"accuracy"}) for form in (CIRCULAR, CHOICE)}

LETTERS = ("A", "B", "C", "D")
# MMBench's released tables hold every rotation as a row of its own, at this distance from the first.
# The group that says how many options a question has: as many as it has rotations.
OPTIONS = "options"
ROTATION_STEP = 1_000_000
COLUMNS = ("index", "question", "image", "answer")
LISTED = re.compile(r"\s*Options:\s*(?=A[:.])")


# --- reading a release -----------------------------------------------------------------------------------------------


def read_images(path: Path, data_set: str) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Clips and items of `MMBench_DEV_*.tsv` or `MMStar.tsv`; rows that share an image share its clip."""
    rows = read_rows(path)
    category = _category_column(rows.columns, data_set)
    require_columns(rows, (*COLUMNS, category), path)
    clips: dict[str, dict[str, object]] = {}
    items = []
    flaws = Flaws()
    for number, row in enumerate(rows.cast(pl.String).fill_null("").iter_rows(named=True), start=1):
        if data_set == MMBENCH and row["index"].isdigit() and int(row["index"]) >= ROTATION_STEP:
            continue  # the rotations are made here
        unit = f"{data_set}-{owner_of(row['index'], row['image'])}"
        clips[unit] = _clip(unit, release_source(path.name, unit.removeprefix(f"{data_set}-")))
        where = f"{path}: row {number} ({row['index']})"
        items.append(_item(row, row[category].strip(), data_set, unit, where, flaws))
    return list(clips.values()), items


def _category_column(columns: Sequence[str], data_set: str) -> str:
    """MMBench's coarse categories have been spelt in several ways."""
    if data_set == MMSTAR:
        return "category"
    return next((name for name in columns if name.lower().replace("_", "-") == "l2-category"), "l2-category")


def _clip(unit: str, image: str) -> dict[str, object]:
    return {
        "clip_id": f"{unit}.still", "unit": unit, "kind": "images", "source_id": "", "start_s": None, "end_s": None,
        "parts": [image],
    }  # fmt: skip


def _item(
    row: Mapping[str, str], category: str, data_set: str, unit: str, where: str, flaws: Flaws
) -> dict[str, object]:
    """One question. A wrong category or answer is said and counted; it stays, so that no number hides it."""
    question, options = _options(row)
    if len(options) < 2:
        raise UserError(
            f"{where}: found {len(options)} options, expected two to four, in columns A to D or as "
            "`Options: A: ..., B: ...` in the question. Mend the row or remove it."
        )
    answer = row["answer"].strip().upper()
    entry = f"{data_set}/{row['index']}"
    if category.lower() not in CATEGORIES[data_set]:
        allowed = ", ".join(CATEGORIES[data_set])
        flaw = f"category '{category}' is not one of {allowed}; the question counts in none of them"
        flaws.add(entry, where, flaw)
    if answer not in options:
        flaw = f"answer '{row['answer']}' is none of its options {', '.join(options)}; no answer to it is right"
        flaws.add(entry, where, flaw)
    texts = {"question": question, "hint": row.get("hint", "").strip(), **options}
    group = CATEGORIES[data_set].get(category.lower())
    groups = {data_set: "yes", OVERALL[data_set]: "yes", OPTIONS: str(len(options))} | ({group: "yes"} if group else {})
    return {
        "item_id": entry,
        "clip_id": f"{unit}.still",
        "unit": unit,
        "task": data_set,
        "texts": _named(texts),
        "answer": answer if answer in options else "",
        "groups": [*_named(groups), *flaws.groups(entry)],
    }


def _options(row: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The question and its options, from columns A to D or out of `... Options: A: ..., B: ...` in its text."""
    options = {letter: row[letter].strip() for letter in LETTERS if row.get(letter, "").strip()}
    if options:
        return row["question"], options
    question, *listed = LISTED.split(row["question"], maxsplit=1)
    rest = listed[0] if listed else ""
    for letter, following in zip(LETTERS, (*LETTERS[1:], "E"), strict=True):
        if not re.match(rf"{letter}[:.]", rest):
            break
        text, *later = re.split(rf"[,\n]\s*(?={following}[:.])", rest[2:], maxsplit=1)
        options[letter] = text.strip()
        rest = later[0] if later else ""
    return question, options


def _named(texts: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "text": text} for name, text in texts.items()]


# --- asking ----------------------------------------------------------------------------------------------------------


def requests(items: pl.DataFrame, form: str, prompt: Prompt) -> list[dict[str, object]]:
    """One request a rotation of an item's options; `choice` asks only for the order in which they are released."""
    return [
        _request(item, turn, prompt)
        for item in items.iter_rows(named=True)
        for turn in range(len(_option_texts(item)) if form == CIRCULAR else 1)
    ]


def _request(item: Mapping[str, object], turn: int, prompt: Prompt) -> dict[str, object]:
    """The option that was at place i + turn stands at place i; the letters stay."""
    options = _option_texts(item)
    letters = list(options)
    moved = [options[letters[(place + turn) % len(letters)]] for place in range(len(letters))]
    expected = letters[(letters.index(str(item["answer"])) - turn) % len(letters)] if item["answer"] else ""
    texts = _texts(item)
    values = {
        "question": texts["question"],
        "hint": f"Hint: {texts['hint']}\n" if texts["hint"] else "",
        "options": "".join(f"{letter}. {text}\n" for letter, text in zip(letters, moved, strict=True)),
    }
    return {
        "request_id": f"{item['item_id']}#rotation{turn}",
        "item_id": item["item_id"],
        "clip_id": item["clip_id"],
        "role": f"rotation{turn}",
        "system": fill(prompt.system, values),
        "prompt": fill(prompt.user, values),
        "options": letters,
        "option_texts": moved,
        "expected": expected,
    }


def _texts(item: Mapping[str, object]) -> dict[str, str]:
    texts: Sequence[Mapping[str, str]] = item["texts"]  # type: ignore[assignment]
    return {text["name"]: text["text"] for text in texts}


def _option_texts(item: Mapping[str, object]) -> dict[str, str]:
    return {letter: text for letter, text in _texts(item).items() if letter in LETTERS}


# --- measuring -------------------------------------------------------------------------------------------------------


def measures(
    form: str, items: pl.DataFrame, verdicts: pl.DataFrame, resampling: Resampling, *, as_authors: bool
) -> list[Measure]:
    """The share of questions answered right, by category and overall; none where the release has no such question."""
    rows = answered(form, items, verdicts, as_authors=as_authors)
    groups = [group for name in FORM_OF if FORM_OF[name] == form for group in _groups(name)]
    found = []
    for group in groups:
        if items.filter(in_group_named(group)).is_empty():
            continue
        inside = rows.filter(in_group_named(group))
        found.append(measure("accuracy", group, inside, [(inside["right"], ones(inside))], resampling))
    return found


def answered(form: str, items: pl.DataFrame, verdicts: pl.DataFrame, *, as_authors: bool) -> pl.DataFrame:
    """One row a question that was asked: right if right under every rotation; a rotation without an answer failed.

    The reference harness knows only the rotations that are in its file of answers, and of these the questions whose
    first order is.
    """
    by_item = verdicts.group_by("item_id", maintain_order=True).agg(
        pl.col("right").all(),
        pl.col("failed", "unparsed").any(),
        turns=pl.len(),
        is_begun=(pl.col("role") == "rotation0").any(),
    )
    rows = items.join(by_item, on="item_id", how="inner", maintain_order="left")
    if as_authors:
        return rows.filter(pl.col("is_begun"))
    is_short = rows["turns"] < (_options_counted(rows) if form == CIRCULAR else 1)
    return rows.with_columns(right=rows["right"] & ~is_short, failed=rows["failed"] | is_short)


def _options_counted(items: pl.DataFrame) -> pl.Series:
    """How many options each question has."""
    entry = pl.element()
    counts = items["groups"].list.eval(entry.filter(entry.struct.field("name") == OPTIONS).struct.field("text"))
    return counts.list.first().cast(pl.UInt32)


def _groups(data_set: str) -> tuple[str, ...]:
    return (*CATEGORIES[data_set].values(), OVERALL[data_set])


def statistics(items: pl.DataFrame) -> list[tuple[str, str, float]]:
    """Questions by group, and what a guesser reaches: 1/k for k options, and (1/k)^k under all their rotations."""
    found = []
    for data_set, form in FORM_OF.items():
        for group in _groups(data_set):
            counts = [len(_option_texts(item)) for item in items.filter(in_group_named(group)).iter_rows(named=True)]
            guesses = [[count] * (count if form == CIRCULAR else 1) for count in counts if count]
            chance = chance_all_right(guesses)
            if chance is not None:
                found += [("questions", group, float(len(counts))), (f"chance.{form}.accuracy", group, 100 * chance)]
    return found

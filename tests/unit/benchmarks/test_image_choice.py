"""MMBench and MMStar: layouts, rotations, CircularEval worked out by hand, and chance."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.annotations import list_flaws
from reprise.benchmarks.mmbench_video.release import read_images
from reprise.benchmarks.scoring import Convention
from reprise.core.errors import UserError
from reprise.stats.measures import Measure

from tests.unit.benchmarks.releases import mmbench_release, question_row
from tests.unit.benchmarks.whole import Whole, write_rows
from tests.unit.rows import verdict_row

mmbench_video = Whole("mmbench_video")

PICTURE = "x" * 100
HEADER = ("index", "question", "hint", "A", "B", "C", "D", "answer", "category", "image", "l2-category", "split")
LR, RR, CP = "logic_reasoning", "relation_reasoning", "coarse_perception"


def row(
    index: str, options: Sequence[str], answer: str, l2: str = LR, image: str = PICTURE, hint: str = ""
) -> list[str]:
    cells = [*options, *[""] * (4 - len(options))]
    return [index, f"Question {index}?", hint, *cells, answer, "a leaf", image, l2, "dev"]


def read(folder: Path, rows: Sequence[Sequence[str]], columns: Sequence[str] = HEADER) -> pl.DataFrame:
    return read_images(write_rows(folder / "MMBench_DEV_EN.tsv", columns, *rows), "mmbench").to_tables()[1]


FIVE = (
    row("1", ["p", "q", "r", "s"], "B"),
    row("2", ["p", "q", "r"], "A", RR),
    row("3", ["yes", "no"], "B", RR),
    row("4", ["p", "q", "r", "s"], "D", CP),
    row("5", ["p", "q"], "A", CP),
)


def test_rows_with_the_same_image_share_a_clip_and_rotations_are_generated(tmp_path: Path) -> None:
    rows = [*FIVE, row("6", ["p", "q"], "A", image="4"), row("1000006", ["q", "p"], "B", image="4")]
    found = read_images(write_rows(tmp_path / "MMBench_DEV_EN.tsv", HEADER, *rows), "mmbench")
    assert [one.item_id for one in found.items] == [f"mmbench/{n}" for n in range(1, 7)]
    assert found.items[-1].clip_id == "mmbench-4.still"
    parts = [(clip.kind, clip.parts) for clip in found.clips]
    assert parts == [("images", [f"release:MMBench_DEV_EN.tsv#{n}"]) for n in range(1, 6)]


def test_spellings_of_the_category_column_and_a_single_table(tmp_path: Path) -> None:
    for spelt in ("l2_category", "L2-category"):
        items = read(tmp_path, FIVE, [*HEADER[:10], spelt, "split"])
        assert mmbench_video.in_group(items, "mmbench_rr").height == 2
    files = [write_rows(tmp_path / f"MMBench_{name}.tsv", HEADER, *FIVE) for name in ("DEV_EN", "DEV_CN")]
    with pytest.raises(UserError, match="expected one table MMBench_\\*.tsv, found MMBench_DEV_EN.tsv, MMBench_DEV_CN"):
        mmbench_video.annotations([*mmbench_release(tmp_path, [question_row("0", "v", "['OCR']")]), *files])
    with pytest.raises(UserError, match="column 'l2-category' is missing. Found: index"):
        read(tmp_path, FIVE, [*HEADER[:10], "coarse", "split"])


@pytest.mark.parametrize(("text", "cells", "options"), [
    ("Why?\nOptions: A: one, B: two, C: three, D: four", "", ["one", "two", "three", "four"]),
    ("Why?\nOptions:\nA: 1, 2 and 3\nB: 4, 5\nC: 6", "", ["1, 2 and 3", "4, 5", "6"]),
    ("Why? Options: A. one, B. two", "", ["one", "two"]),
    ("Why?", "pqrs", [*"pqrs"]),
])  # fmt: skip
def test_mmstar_has_its_options_in_the_question_or_in_columns(
    tmp_path: Path, text: str, cells: str, options: list[str]
) -> None:
    columns = ("index", "question", "image", "answer", "category", *"ABCD")
    path = write_rows(tmp_path / "MMStar.tsv", columns, ["7", text, PICTURE, "B", "math", *(cells or [""] * 4)])
    frame = read_images(path, "mmstar").to_tables()[1]
    (request,) = mmbench_video.requests(frame, "choice", "image")
    assert (request["option_texts"], request["expected"]) == (options, "B")
    assert request["prompt"].startswith(f"Question: Why?\nOptions:\nA. {options[0]}\n")
    assert mmbench_video.in_group(frame, "mmstar_math").height == 1


def test_flaws_of_a_question_are_named_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """An unknown category and an answer outside the options: both stay, and no answer to the second is right."""
    items = read(tmp_path, [*FIVE, row("6", ["p", "q"], "A", "Logic"), row("7", ["p", "q"], "C")])
    assert "row 6 (6): category 'Logic' is not one of" in caplog.text
    assert "row 7 (7): answer 'C' is none of the options A, B" in caplog.text
    assert [flaw.split(":")[0] for flaw in list_flaws(items)] == ["mmbench/6", "mmbench/7"]
    numbers = mmbench_video.statistics(items, pl.DataFrame())
    groups = ("mmbench_overall", "mmbench_lr", "mmbench_rr", "mmbench_cp")
    assert [numbers["questions", group] for group in groups] == [7, 2, 2, 2]
    found = numbered(items, {"7": "AA"})["mmbench_overall"]
    assert (found.requested, found.value) == (1, 0)
    for options in ([], ["p"]):
        with pytest.raises(UserError, match=rf"row 1 \(1\): found {len(options)} options, expected two to four"):
            read(tmp_path, [row("1", options, "A")])


def test_every_rotation_has_the_right_option_at_its_letter_in_the_harness_prompt(tmp_path: Path) -> None:
    items = read(tmp_path, [*FIVE, row("6", ["p", "q"], "A", hint="Look.")])
    asked = mmbench_video.requests(items, "circular", "image")
    assert len(asked) == 4 + 3 + 2 + 4 + 2 + 2
    first = [one for one in asked if one["item_id"] == "mmbench/1"]
    assert [one["option_texts"] for one in first] == [[*"pqrs"], [*"qrsp"], [*"rspq"], [*"spqr"]]
    assert [one["expected"] for one in first] == ["B", "A", "D", "C"]
    assert asked[-2]["prompt"] == (
        "Hint: Look.\nQuestion: Question 6?\nOptions:\nA. p\nB. q\nPlease select the correct answer from the options above. \n"
    )


def llava(line: Mapping[str, str]) -> str:
    """Return what `build_prompt` of VLMEvalKit's LLaVA and `build_multi_choice_prompt` of its InternVLChat make of a row."""
    question = line["question"]
    if line.get("hint"):
        question = line["hint"] + "\n" + question
    for letter in "ABCD":
        if letter in line:
            question += f"\n{letter}. {line[letter]}"
    return question + "\nAnswer with the option's letter from the given choices directly."


def idefics2(line: Mapping[str, str], last: str, *, swaps: bool) -> str:
    """Return what `build_prompt_mmbench` and `build_prompt_puremcq` of VLMEvalKit's IDEFICS2 make of its usual prompt."""
    prompt = f"Hint: {line['hint']}\n" if line.get("hint") else ""
    prompt += f"Question: {line['question']}\nOptions:\n"
    prompt += "".join(f"{letter}. {line[letter]}\n" for letter in "ABCD" if letter in line)
    prompt += "Please select the correct answer from the options above. \n"
    text = prompt.strip().replace("\nOptions:", "\nChoices:")
    text = text.replace("Please select the correct answer from the options above.", last)
    if swaps and "Hint:" in text:
        hint, question = text.split("\nQuestion:")
        question, choices = question.split("\nChoices:")
        text = "Question:" + question + "\n" + hint + "\nChoices:" + choices
    return text


@pytest.mark.parametrize("hint", ["", "Look."])
def test_models_with_their_own_prompts_in_the_harness_get_them(tmp_path: Path, hint: str) -> None:
    items = read(tmp_path, [row("6", ["p", "q"], "A", hint=hint)])
    line = {"question": "Question 6?", "hint": hint, "A": "p", "B": "q"}
    found = {
        name: mmbench_video.requests(items, "choice", name)[0]["prompt"]
        for name in ("image.letter", "image.idefics2", "image.idefics2.mmstar")
    }
    assert found == {
        "image.letter": llava(line),
        "image.idefics2": idefics2(line, "Answer with a letter.", swaps=True),
        "image.idefics2.mmstar": idefics2(line, "Answer with the letter.", swaps=False),
    }


def numbered(items: pl.DataFrame, said: Mapping[str, str], convention: Convention = "fixed") -> dict[str, Measure]:
    """One letter a rotation; `!` is a failed answer, `?` an unparsed one, a blank one that is not there."""
    rows = []
    for request in mmbench_video.requests(items, "circular", "image"):
        index, turn = request["item_id"].split("/")[1], int(request["role"].removeprefix("rotation"))
        letter = said.get(index, "").ljust(4)[turn]
        if letter != " ":
            known = {"right": letter == request["expected"], "unparsed": letter == "?", "failed": letter == "!"}
            rows.append(verdict_row(request["request_id"], letter.strip("!?"), **known))
    found = mmbench_video.numbers("circular", items, rows, convention)
    return {group: one for (_, group), one in found.items()}


def test_circular_evaluation_by_hand(tmp_path: Path) -> None:
    """1 right in all four orders; 2 wrong in one of three; 3 right in both; 4 failed once; of 5 one order is missing."""
    items = read(tmp_path, FIVE)
    said = {"1": "BADC", "2": "ACC", "3": "BA", "4": "DC!A", "5": "A"}
    fixed, authors = numbered(items, said), numbered(items, said, "authors")
    assert [fixed[group].value for group in ("mmbench_lr", "mmbench_rr", "mmbench_cp")] == [100, 50, 0]
    whole = fixed["mmbench_overall"]
    assert (whole.value, whole.requested, whole.scored, whole.failed) == (pytest.approx(40), 5, 3, 2)
    # The harness knows only the orders that are there, so that 5 is right.
    assert authors["mmbench_overall"].value == pytest.approx(60)
    assert "mmbench_ar" not in fixed and "mmstar_overall" not in fixed, "no questions of these"
    nobody = numbered(items, {})["mmbench_lr"]
    assert (nobody.value, nobody.requested) == (None, 0)
    # Of these the harness knows only those whose first order is there.
    authors = numbered(items, {"1": "BADC", "3": " A"}, "authors")
    assert (authors["mmbench_overall"].value, authors["mmbench_overall"].requested) == (100, 1)
    assert numbered(items, dict.fromkeys("12345", "AAAA"))["mmbench_overall"].value == 0

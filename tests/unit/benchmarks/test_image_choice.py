"""Test MMBench and MMStar: layouts, rotations, CircularEval by hand, and prompts."""

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
from tests.unit.benchmarks.whole import BenchmarkPipeline, write_rows
from tests.unit.rows import verdict_row

mmbench_video = BenchmarkPipeline("mmbench_video")

PICTURE = "x" * 100
HEADER = ("index", "question", "hint", "A", "B", "C", "D", "answer", "category", "image", "l2-category", "split")
LOGIC, RELATION, COARSE = "logic_reasoning", "relation_reasoning", "coarse_perception"


def make_row(
    index: str, options: Sequence[str], answer: str, l2: str = LOGIC, image: str = PICTURE, hint: str = ""
) -> list[str]:
    cells = [*options, *[""] * (4 - len(options))]
    return [index, f"Question {index}?", hint, *cells, answer, "a leaf", image, l2, "dev"]


def read_items(folder: Path, rows: Sequence[Sequence[str]], columns: Sequence[str] = HEADER) -> pl.DataFrame:
    return read_images(write_rows(folder / "MMBench_DEV_EN.tsv", columns, *rows), "mmbench").to_tables()[1]


FIVE_ROWS = (
    make_row("1", ["p", "q", "r", "s"], "B"),
    make_row("2", ["p", "q", "r"], "A", RELATION),
    make_row("3", ["yes", "no"], "B", RELATION),
    make_row("4", ["p", "q", "r", "s"], "D", COARSE),
    make_row("5", ["p", "q"], "A", COARSE),
)


def test_rows_with_the_same_image_share_a_clip_and_rotations_are_generated(tmp_path: Path) -> None:
    rows = [*FIVE_ROWS, make_row("6", ["p", "q"], "A", image="4"), make_row("1000006", ["q", "p"], "B", image="4")]
    annotations = read_images(write_rows(tmp_path / "MMBench_DEV_EN.tsv", HEADER, *rows), "mmbench")
    assert [item.item_id for item in annotations.items] == [f"mmbench/{number}" for number in range(1, 7)]
    assert annotations.items[-1].clip_id == "mmbench-4.still"
    parts = [(clip.kind, clip.parts) for clip in annotations.clips]
    assert parts == [("images", [f"release:MMBench_DEV_EN.tsv#{number}"]) for number in range(1, 6)]


def test_spellings_of_the_category_column_are_accepted_and_a_second_table_is_rejected(tmp_path: Path) -> None:
    for category_column in ("l2_category", "L2-category"):
        items = read_items(tmp_path, FIVE_ROWS, [*HEADER[:10], category_column, "split"])
        assert mmbench_video.in_group(items, "mmbench_rr").height == 2
    files = [write_rows(tmp_path / f"MMBench_{name}.tsv", HEADER, *FIVE_ROWS) for name in ("DEV_EN", "DEV_CN")]
    with pytest.raises(UserError, match="expected one table MMBench_\\*.tsv, found MMBench_DEV_EN.tsv, MMBench_DEV_CN"):
        mmbench_video.annotations([*mmbench_release(tmp_path, [question_row("0", "v", "['OCR']")]), *files])
    with pytest.raises(UserError, match="column 'l2-category' is missing. Found: index"):
        read_items(tmp_path, FIVE_ROWS, [*HEADER[:10], "coarse", "split"])


@pytest.mark.parametrize(("text", "cells", "options"), [
    ("Why?\nOptions: A: one, B: two, C: three, D: four", "", ["one", "two", "three", "four"]),
    ("Why?\nOptions:\nA: 1, 2 and 3\nB: 4, 5\nC: 6", "", ["1, 2 and 3", "4, 5", "6"]),
    ("Why? Options: A. one, B. two", "", ["one", "two"]),
    ("Why?", "pqrs", [*"pqrs"]),
])  # fmt: skip
def test_options_of_mmstar_are_in_the_question_or_in_columns(
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
    """Questions with an unknown category or an answer outside the options stay; the latter has no correct answer."""
    items = read_items(tmp_path, [*FIVE_ROWS, make_row("6", ["p", "q"], "A", "Logic"), make_row("7", ["p", "q"], "C")])
    assert "row 6 (6): category 'Logic' is not one of" in caplog.text
    assert "row 7 (7): answer 'C' is none of the options A, B" in caplog.text
    assert [flaw.split(":")[0] for flaw in list_flaws(items)] == ["mmbench/6", "mmbench/7"]
    numbers = mmbench_video.statistics(items, pl.DataFrame())
    groups = ("mmbench_overall", "mmbench_lr", "mmbench_rr", "mmbench_cp")
    assert [numbers["questions", group] for group in groups] == [7, 2, 2, 2]
    measure = compute_circular_numbers(items, {"7": "AA"})["mmbench_overall"]
    assert (measure.requested, measure.value) == (1, 0)
    for options in ([], ["p"]):
        with pytest.raises(UserError, match=rf"row 1 \(1\): found {len(options)} options, expected two to four"):
            read_items(tmp_path, [make_row("1", options, "A")])


def test_every_rotation_expects_the_letter_of_the_correct_option(tmp_path: Path) -> None:
    items = read_items(tmp_path, [*FIVE_ROWS, make_row("6", ["p", "q"], "A", hint="Look.")])
    requests = mmbench_video.requests(items, "circular", "image")
    assert len(requests) == 4 + 3 + 2 + 4 + 2 + 2
    rotations = [request for request in requests if request["item_id"] == "mmbench/1"]
    assert [request["option_texts"] for request in rotations] == [[*"pqrs"], [*"qrsp"], [*"rspq"], [*"spqr"]]
    assert [request["expected"] for request in rotations] == ["B", "A", "D", "C"]
    assert requests[-2]["prompt"] == (
        "Hint: Look.\nQuestion: Question 6?\nOptions:\nA. p\nB. q\nPlease select the correct answer from the options above. \n"
    )


def build_llava_prompt(line: Mapping[str, str]) -> str:
    """Return the prompt of `build_prompt` of VLMEvalKit's LLaVA and `build_multi_choice_prompt` of its InternVLChat."""
    question = line["question"]
    if line.get("hint"):
        question = line["hint"] + "\n" + question
    for letter in "ABCD":
        if letter in line:
            question += f"\n{letter}. {line[letter]}"
    return question + "\nAnswer with the option's letter from the given choices directly."


def build_idefics2_prompt(line: Mapping[str, str], last_sentence: str, *, is_hint_after_question: bool) -> str:
    """Return the prompt of `build_prompt_mmbench` and `build_prompt_puremcq` of VLMEvalKit's IDEFICS2."""
    prompt = f"Hint: {line['hint']}\n" if line.get("hint") else ""
    prompt += f"Question: {line['question']}\nOptions:\n"
    prompt += "".join(f"{letter}. {line[letter]}\n" for letter in "ABCD" if letter in line)
    prompt += "Please select the correct answer from the options above. \n"
    text = prompt.strip().replace("\nOptions:", "\nChoices:")
    text = text.replace("Please select the correct answer from the options above.", last_sentence)
    if is_hint_after_question and "Hint:" in text:
        hint, question = text.split("\nQuestion:")
        question, choices = question.split("\nChoices:")
        text = "Question:" + question + "\n" + hint + "\nChoices:" + choices
    return text


@pytest.mark.parametrize("hint", ["", "Look."])
def test_models_get_their_own_prompts_of_the_harness(tmp_path: Path, hint: str) -> None:
    items = read_items(tmp_path, [make_row("6", ["p", "q"], "A", hint=hint)])
    line = {"question": "Question 6?", "hint": hint, "A": "p", "B": "q"}
    prompts = {
        name: mmbench_video.requests(items, "choice", name)[0]["prompt"]
        for name in ("image.letter", "image.idefics2", "image.idefics2.mmstar")
    }
    assert prompts == {
        "image.letter": build_llava_prompt(line),
        "image.idefics2": build_idefics2_prompt(line, "Answer with a letter.", is_hint_after_question=True),
        "image.idefics2.mmstar": build_idefics2_prompt(line, "Answer with the letter.", is_hint_after_question=False),
    }


def compute_circular_numbers(
    items: pl.DataFrame, letters_by_question: Mapping[str, str], convention: Convention = "fixed"
) -> dict[str, Measure]:
    """Score one letter per rotation: `!` is a failed answer, `?` is unparsed, and a blank is absent."""
    rows = []
    for request in mmbench_video.requests(items, "circular", "image"):
        index, rotation = request["item_id"].split("/")[1], int(request["role"].removeprefix("rotation"))
        letter = letters_by_question.get(index, "").ljust(4)[rotation]
        if letter != " ":
            fields = {"right": letter == request["expected"], "unparsed": letter == "?", "failed": letter == "!"}
            rows.append(verdict_row(request["request_id"], letter.strip("!?"), **fields))
    measures = mmbench_video.numbers("circular", items, rows, convention)
    return {group: measure for (_, group), measure in measures.items()}


def test_circular_evaluation_by_hand(tmp_path: Path) -> None:
    """Question 1 is correct in all orders, 2 wrong in one of three, 3 correct in both, 4 failed once, 5 lacks one order."""
    items = read_items(tmp_path, FIVE_ROWS)
    letters = {"1": "BADC", "2": "ACC", "3": "BA", "4": "DC!A", "5": "A"}
    fixed, authors = compute_circular_numbers(items, letters), compute_circular_numbers(items, letters, "authors")
    assert [fixed[group].value for group in ("mmbench_lr", "mmbench_rr", "mmbench_cp")] == [100, 50, 0]
    overall = fixed["mmbench_overall"]
    assert (overall.value, overall.requested, overall.scored, overall.failed) == (pytest.approx(40), 5, 3, 2)
    # The harness scores only the orders that are present, so question 5 is correct.
    assert authors["mmbench_overall"].value == pytest.approx(60)
    assert "mmbench_ar" not in fixed and "mmstar_overall" not in fixed, "there are no such questions"
    without_answers = compute_circular_numbers(items, {})["mmbench_lr"]
    assert (without_answers.value, without_answers.requested) == (None, 0)
    # The harness scores only questions whose first order is present.
    authors = compute_circular_numbers(items, {"1": "BADC", "3": " A"}, "authors")
    assert (authors["mmbench_overall"].value, authors["mmbench_overall"].requested) == (100, 1)
    assert compute_circular_numbers(items, dict.fromkeys("12345", "AAAA"))["mmbench_overall"].value == 0

"""Answers about images made elsewhere: by index and right letter, there and back."""

from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.mmbench_video.images.release import read_images
from reprise.benchmarks.prompts import load_prompts
from reprise.core.errors import UserError
from reprise.core.schemas import ITEMS
from reprise.external import mmbench_video as importer

from tests.unit.benchmarks.whole import Whole
from tests.unit.rows import request_table

PROMPT = load_prompts(Path("resources/prompts/mmbench_video.yaml"))["image"]


def asked(folder: Path) -> pl.DataFrame:
    """Three rotations of question 7, two of question 8."""
    header = "index\tquestion\timage\tA\tB\tC\tanswer\tl2-category\n"
    rows = "7\tWhy?\t{0}\tp\tq\tr\tB\tlogic_reasoning\n8\tWhy?\t{0}\tp\tq\t\tA\tlogic_reasoning\n".format("x" * 99)
    path = folder / "MMBench_DEV_EN.tsv"
    path.write_text(header + rows)
    _, items = read_images(path, "mmbench").tables()
    return request_table(Whole("mmbench_video").requests(items, "circular", PROMPT), "choose", 9)


def test_a_rotation_is_known_by_its_right_letter(tmp_path: Path) -> None:
    """The released file turns the options the other way: B, C, A where we have B, A, C."""
    requests = asked(tmp_path)
    path = tmp_path / "answers.tsv"
    path.write_text(
        "index\tanswer\tprediction\n7\tB\tB.\n1000007\tC\tC\n2000007\tA\tFailed to obtain answer via API.\n"
        "8\tA\tA\n1000008\tB\t\n9\tA\tA\n7\tD\tD\n"
    )
    imported = importer.FORMS["circular"].read([path], pl.DataFrame(schema=ITEMS), requests)
    found = {request: (answer.text, answer.error) for request, answer in imported.answers.items()}
    assert found == {
        "mmbench/7#rotation0": ("B.", ""),
        "mmbench/7#rotation2": ("C", ""),
        "mmbench/7#rotation1": ("", "failed_elsewhere"),
        "mmbench/8#rotation0": ("A", ""),
        "mmbench/8#rotation1": ("", "no_answer"),
    }
    assert [(problem.id, problem.problem) for problem in imported.problems] == [
        ("9", "unknown id"),
        ("7", "unknown id"),
    ]


def test_without_the_right_letters_nothing_is_known(tmp_path: Path) -> None:
    path = tmp_path / "answers.tsv"
    path.write_text("index\tprediction\n7\tB\n")
    with pytest.raises(UserError, match="column 'answer' is missing"):
        importer.FORMS["circular"].read([path], pl.DataFrame(schema=ITEMS), asked(tmp_path))


def test_what_was_exported_comes_back(tmp_path: Path) -> None:
    requests = asked(tmp_path)
    answered = requests.with_columns(text=pl.col("expected"), error=pl.Series(["", "", "timeout", "", ""]))
    (path,) = importer.FORMS["circular"].write(tmp_path, "model", pl.DataFrame(schema=ITEMS), answered)
    assert path.name == "model_mmbench.xlsx"
    imported = importer.FORMS["circular"].read([path], pl.DataFrame(schema=ITEMS), requests)
    assert not imported.problems
    said = [imported.answers[request].text for request in requests["request_id"]]
    assert said == ["B", "A", "", "A", "B"]

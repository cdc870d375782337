"""What `compare` says of the samples on which two runs differ."""

import polars as pl
import pytest
from reprise.commands.compare import MOST_ITEMS, items_between, p_in_words


def outcomes(*right: float) -> pl.DataFrame:
    return pl.DataFrame({"item_id": [f"i{number}" for number in range(len(right))], "right": right})


def test_samples_are_listed_by_who_does_better() -> None:
    lines = list(items_between("mean", ("a", outcomes(3, 0, 1)), ("b", outcomes(2, 1, 1))))
    assert lines == ["mean: better by a: 1 of 3: i0", "mean: better by b: 1 of 3: i1"]


def test_long_lists_are_cut_and_samples_of_one_run_alone_are_counted() -> None:
    first, *lines = items_between("strict", ("a", outcomes(*[1.0] * 12)), ("b", outcomes(*[0.0] * 11)))
    assert first == "strict: 12 samples of a, 11 of b"
    assert lines[0].startswith("strict: better by a: 11 of 11: i0, ") and lines[0].endswith(
        f"i{MOST_ITEMS - 1} and 3 more"
    )
    assert lines[1] == "strict: better by b: 0 of 11"


@pytest.mark.parametrize(
    ("p", "text"), [(1.0, "1.0000"), (0.03, "0.0300"), (0.0001, "0.0001"), (9e-5, "<0.0001"), (0.0, "<0.0001")]
)
def test_no_p_value_is_printed_as_nothing(p: float, text: str) -> None:
    assert p_in_words(p) == text

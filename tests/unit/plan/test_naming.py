"""A part of a name means the names that have it; a whole name means itself."""

import pytest
from reprise.plan.naming import fitting, nearest

NAMES = [
    "velociti/entail/fps1/oracle",
    "velociti/entail.subset/fps1/oracle",
    "velociti/mc/fps1/oracle",
    "velociti/mc/fps1/toy-llava-ov",
    "velociti/mc/fps1/toy-llava-ov-early",
    "vinoground/paper/black8/oracle",
]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("velociti/mc/fps1/oracle", ["velociti/mc/fps1/oracle"]),
        ("mc/oracle", ["velociti/mc/fps1/oracle"]),
        ("mc/toy-llava-ov", ["velociti/mc/fps1/toy-llava-ov"]),
        ("mc/toy", ["velociti/mc/fps1/toy-llava-ov", "velociti/mc/fps1/toy-llava-ov-early"]),
        ("entail/oracle", ["velociti/entail/fps1/oracle"]),
        ("entail.s", ["velociti/entail.subset/fps1/oracle"]),
        ("vino", ["vinoground/paper/black8/oracle"]),
        ("velociti/mc/fps1/toy-llava", []),
        ("early", ["velociti/mc/fps1/toy-llava-ov-early"]),
        ("oracle/mc", []),
        ("nothing", []),
        ("", []),
        ("/", []),
    ],
)
def test_words_mean_the_names_that_have_them_in_this_order(words: str, found: list[str]) -> None:
    assert fitting(words, NAMES) == found


def test_the_nearest_name_is_suggested_whole_or_in_part() -> None:
    assert nearest("velociti/mc/fps1/orcale", NAMES) == " Did you mean 'velociti/mc/fps1/oracle'?"
    assert nearest("orcale", NAMES) == " Did you mean 'oracle'?"
    assert nearest("something else", NAMES) == ""

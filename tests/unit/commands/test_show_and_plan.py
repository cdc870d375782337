"""How `trace` finds a row or a column by its words, and numbers of a plan as they are printed."""

import pytest
from reprise.commands.plan import in_words, of_known, short
from reprise.commands.show import chosen
from reprise.core.errors import UserError
from reprise.plan.costs import Range

ROWS = {
    "GPT-4o, 8 frames (b/p/linspace8/gpt-4o)": 1,
    "GPT-4o, 32 frames (b/p/linspace32/gpt-4o)": 2,
    "GPT-4o (CoT), 32 frames (b/cot/linspace32/gpt-4o)": 3,
    "Human (no run)": 4,
}
SEVERAL = """Copy one:
  --row 'GPT-4o, 32 frames (b/p/linspace32/gpt-4o)'
  --row 'GPT-4o (CoT), 32 frames (b/cot/linspace32/gpt-4o)'"""
ALL = """Copy one:
  --row 'GPT-4o, 8 frames'
  --row 'GPT-4o, 32 frames'
  --row 'GPT-4o (CoT), 32 frames'
  --row Human"""


@pytest.mark.parametrize(
    ("words", "found"), [("gpt-4o, 8 frames", 1), ("GPT-4o (CoT), 32 frames", 3), ("cot", 3), ("human", 4)]
)
def test_a_row_is_found_by_its_label_or_by_words_of_it(words: str, found: int) -> None:
    assert chosen("row", words, ROWS) == found


@pytest.mark.parametrize(
    ("kind", "words", "named", "message"),
    [
        ("row", "GPT-5", ROWS, f"trace: no row 'GPT-5'. {ALL}"),
        ("row", "32", ROWS, f"trace: row '32' fits 2. {SEVERAL}"),
        ("column", "avg", {"Score (%)": 1}, "trace: no column 'avg'. Copy one:\n  --column 'Score (%)'"),
    ],
)  # fmt: skip
def test_labels_with_commas_and_brackets_are_told_apart(
    kind: str, words: str, named: dict[str, int], message: str
) -> None:
    with pytest.raises(UserError) as error:
        chosen(kind, words, named)
    assert str(error.value) == message


def test_numbers_of_a_plan() -> None:
    times = {(0.1, 0.9): "<1 s", (20, 89): "20-89 s", (30, 90): "0.5-1.5 min", (30_000, 90_000): "8.3-25 h"}
    assert {ends: in_words(Range(*ends)) for ends in times} == times
    counts = {None: "?", 999: "999", 1000: "1.0k", 123_456: "123k", 4_140_000: "4.1M", 2e9: "2.0G"}
    assert {count: short(count) for count in counts} == counts
    assert [of_known("5", known, 3) for known in (3, 2, 0)] == ["5", "at least 5 (unknown of 1 of 3 runs)", "?"]

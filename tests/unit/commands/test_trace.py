"""How `trace` finds a row or a column by its words, and what it says where it does not."""

import pytest
from reprise.commands.show import chosen
from reprise.core.errors import UserError

ROWS = {
    "GPT-4o, 8 frames (b/p/linspace8/gpt-4o)": 1,
    "GPT-4o, 32 frames (b/p/linspace32/gpt-4o)": 2,
    "GPT-4o (CoT), 32 frames (b/cot/linspace32/gpt-4o)": 3,
    "Human (no run)": 4,
}


@pytest.mark.parametrize(
    ("words", "found"), [("gpt-4o, 8 frames", 1), ("GPT-4o (CoT), 32 frames", 3), ("cot", 3), ("human", 4)]
)
def test_a_row_is_found_by_its_label_or_by_words_of_it(words: str, found: int) -> None:
    assert chosen("row", words, ROWS) == found


SEVERAL = """Copy one:
  --row 'GPT-4o, 32 frames (b/p/linspace32/gpt-4o)'
  --row 'GPT-4o (CoT), 32 frames (b/cot/linspace32/gpt-4o)'"""
ALL = """Copy one:
  --row 'GPT-4o, 8 frames'
  --row 'GPT-4o, 32 frames'
  --row 'GPT-4o (CoT), 32 frames'
  --row Human"""


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

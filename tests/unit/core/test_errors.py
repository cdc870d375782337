"""How names are listed that a user may choose from."""

import pytest
from reprise.core.errors import choices


@pytest.mark.parametrize(
    ("found", "allowed", "text"),
    [
        ("tow", ["one", "two"], " Did you mean 'two'? Allowed: one, two."),
        ("x", [], " Allowed: nothing."),
        ("A", ["Qwen2, blind", "A, 8 frames"], " Allowed: 'A, 8 frames', 'Qwen2, blind'."),
    ],
)
def test_names_with_commas_are_told_apart(found: str, allowed: list[str], text: str) -> None:
    assert choices(found, allowed) == text

"""What commands print of ids and messages that others chose."""

from collections import Counter

import polars as pl
from reprise.commands.failures import failure_lines


def test_an_id_speaks_to_no_terminal() -> None:
    failed = pl.DataFrame({"reason": ["private"], "name": ["a\x1b[2J\nb\u202e"], "message": ["gone\x07"]})
    shown = list(failure_lines(failed, Counter()))
    assert shown == ["1 private (private)", "  a b[U+202E]: gone[U+0007]"]


def test_a_few_of_each_reason_are_named_unless_all_are_wanted() -> None:
    failed = pl.DataFrame({"reason": ["network"] * 5, "name": list("abcde"), "message": ["no"] * 5})
    few, every = (list(failure_lines(failed, Counter(network=2), shown)) for shown in (3, None))
    assert few[0].endswith("; the next run tries 2 again") and few[-1] == "  and 2 more" and len(few) == 5
    assert every[1:] == [f"  {name}: no" for name in "abcde"]

"""What `status` prints of ids that others chose."""

from collections import Counter

import polars as pl
from reprise.commands.status import _lines


def test_an_id_speaks_to_no_terminal() -> None:
    failed = pl.DataFrame({"reason": ["private"], "name": ["a\x1b[2J\nb\u202e"], "message": ["gone\x07"]})
    shown = list(_lines("sources of toy", 3, failed, Counter()))
    assert shown[-1] == "    a b[U+202E]: gone[U+0007]"

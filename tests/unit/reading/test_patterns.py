"""`patterns:` of a protocol or a model: what is refused when the configuration is read, and what they read."""

import polars as pl
import pytest
from pydantic import ValidationError
from reprise.config.benchmark import Protocol
from reprise.core.schemas import REQUESTS, RESPONSES
from reprise.reading.table import own_row
from reprise.stages.verdicts import verdicts

from tests.unit.rows import request_row, response_row


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("([", "is no regular expression: unterminated character set at position 1"),
        ("the answer (A|B)", "has no group for the option. Write it as `(?P<option>[AB])`"),
        ("(?P<option>[AB])?", "fits every text"),
    ],
)
def test_a_pattern_that_does_not_work_is_refused_where_it_stands(pattern: str, words: str) -> None:
    protocol = {"form": "mc", "prompt": "mc", "ask": "choose", "patterns": [{"name": "mine", "pattern": pattern}]}
    with pytest.raises(ValidationError) as error:
        Protocol.model_validate(protocol)
    (mistake,) = error.value.errors()
    assert mistake["loc"] == ("patterns", 0, "pattern")
    assert words in mistake["msg"]


def test_a_row_of_ones_own_reads_what_the_table_does_not() -> None:
    row = own_row("points at", r"i point at (?P<option>[ab])\b")
    requests = pl.DataFrame([request_row("1#text", options=["A", "B"])], schema=REQUESTS)
    responses = pl.DataFrame([response_row("1#text", "I point at b now")], schema=RESPONSES)
    for own, value, by in (([], "", ""), ([row], "B", "points at (own row)")):
        found = verdicts(requests, responses, "robust", "plain", own).row(0, named=True)
        assert (found["value"], found["read_by"], found["unparsed"]) == (value, by, not value)

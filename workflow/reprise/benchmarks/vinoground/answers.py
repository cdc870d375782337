"""What was answered to Vinoground's questions, for a judge."""

import polars as pl

from reprise.benchmarks.contract import plain_answers


def answers(form: str, items: pl.DataFrame, responses: pl.DataFrame, reader: str) -> list[dict[str, str]]:
    """What was answered to each question, step by step; a judge says which option it comes to."""
    return plain_answers(responses)

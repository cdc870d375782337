"""The score of a card is the benchmark's own main number, with the same interval."""

from pathlib import Path

import polars as pl
import pytest
from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import Answered
from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.core.schemas import ITEMS, VERDICTS, write_table
from reprise.timecard.measure import card_of

from tests.unit.rows import item_row, verdict_row
from tests.unit.timecard.made_views import key_of


def test_a_card_has_the_benchmark_s_own_number(tmp_path: Path) -> None:
    """Tests of unequal size, and the control, which counts in no mean."""
    tasks = [*[CONTROL] * 9, *(task for at, task in enumerate(TESTS) for _ in range(4 + at))]
    rows = [item_row(f"i{at}", unit=f"v{at % 7}", task=task) for at, task in enumerate(tasks)]
    asked = [(at, role, step) for at in range(len(rows)) for role, step in (("pos", 3), ("neg", 2))]
    said = [verdict_row(f"i{at}#{role}", right=at * step % 5 > 1, score=0.5) for at, role, step in asked]
    items, verdicts = pl.DataFrame(rows, schema=ITEMS), pl.DataFrame(said, schema=VERDICTS)
    paths = tmp_path / "items.parquet", tmp_path / "verdicts.parquet"
    write_table(items, paths[0], ITEMS)
    write_table(verdicts, paths[1], VERDICTS)
    known = {"name": "velociti", "form": "entail", "score": "strict", "group": "average"}
    (found,) = card_of(key_of(paths[0], {"planned": paths[1], "shuffled": paths[1]}, **known))[0].benchmarks
    measures = load_scores("velociti").SCORES["entail"].measure(Answered(items, verdicts), 0.95)
    (expected,) = (one for one in measures if (one.metric, one.group) == ("strict", "average"))
    planned, shuffled = found.views
    assert planned.score.model_dump() == pytest.approx(
        {name: getattr(expected, name) for name in ("value", "low", "high")}
    )
    assert shuffled.change is not None
    assert (found.best, found.chance, shuffled.change.value) == (100, 25, 0)

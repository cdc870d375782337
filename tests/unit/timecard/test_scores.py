"""The score of a card is the benchmark's own main number, with the same interval."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.benchmarks.registry import load_scores
from reprise.benchmarks.scoring import Answered
from reprise.benchmarks.velociti.taxonomy import CONTROL, TESTS
from reprise.core.schemas import ITEMS, VERDICTS, write_table
from reprise.timecard.measure import card_of

from tests.unit.rows import Row, item_row, verdict_row
from tests.unit.timecard.made_views import key_of

Made = tuple[list[Row], list[Row]]


def velociti() -> Made:
    """Tests of unequal size, and the control, which counts in no mean."""
    tasks = [*[CONTROL] * 9, *(task for at, task in enumerate(TESTS) for _ in range(4 + at))]
    items = [item_row(f"i{at}", unit=f"v{at % 7}", task=task) for at, task in enumerate(tasks)]
    asked = [(at, role, step) for at in range(len(items)) for role, step in (("pos", 3), ("neg", 2))]
    return items, [verdict_row(f"i{at}#{role}", right=at * step % 5 > 1, score=0.5) for at, role, step in asked]


def mmbench_video() -> Made:
    """Ratings from 0 to 3, and one answer without any."""
    items = [item_row(f"q{at}", unit=f"v{at // 3}") for at in range(21)]
    rated = [verdict_row(f"q{at}#q", score=float(at * 7 % 4)) for at in range(20)]
    return items, [*rated, verdict_row("q20#q", failed=True)]


@pytest.mark.parametrize(
    ("made", "form", "score", "group", "best", "chance"),
    [
        (velociti, "entail", "strict", "average", 100, 25.0),
        (mmbench_video, "unpacked", "mean", "overall", 3, None),
    ],
)
def test_a_card_has_the_benchmark_s_own_number(
    made: Callable[[], Made], form: str, score: str, group: str, best: float, chance: float | None, tmp_path: Path
) -> None:
    items, verdicts = (pl.DataFrame(rows, schema=one) for rows, one in zip(made(), (ITEMS, VERDICTS), strict=True))
    paths = tmp_path / "items.parquet", tmp_path / "verdicts.parquet"
    write_table(items, paths[0], ITEMS)
    write_table(verdicts, paths[1], VERDICTS)
    known: dict[str, Any] = {"name": made.__name__, "form": form, "score": score, "group": group}
    (found,) = card_of(key_of(paths[0], {"planned": paths[1], "shuffled": paths[1]}, **known))[0].benchmarks
    measures = load_scores(made.__name__).SCORES[form].measure(Answered(items, verdicts), 0.95)
    (expected,) = (one for one in measures if (one.metric, one.group) == (score, group))
    planned, shuffled = found.views
    assert planned.score.model_dump() == pytest.approx(
        {name: getattr(expected, name) for name in ("value", "low", "high")}
    )
    assert shuffled.change is not None
    assert (found.best, found.chance, shuffled.change.value) == (best, chance, 0)

"""Verdicts under every view of models that are known by how they are made, on TemporalBench's binary questions."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl
from reprise.core.schemas import ITEMS, VERDICTS, write_table
from reprise.timecard.card import VIEWS, CardBenchmarkKey, TimeCardKey

from tests.unit.rows import item_row, verdict_row

Rule = Callable[[str, int], bool]  # view and number of the sample -> whether the answer is right


def write_items(folder: Path, count: int) -> Path:
    path = folder / "items.parquet"
    rows = [item_row(f"q{at:03}", clip_id=f"v{at:03}.c", unit=f"v{at:03}", task="short") for at in range(count)]
    write_table(pl.DataFrame(rows, schema=ITEMS), path, ITEMS)
    return path


def write_verdicts(folder: Path, view: str, right: Sequence[bool | None]) -> Path:
    """Verdicts on the items, by number; None was not asked."""
    path = folder / f"{view}.parquet"
    rows = [verdict_row(f"q{at:03}#q", right=answer) for at, answer in enumerate(right) if answer is not None]
    write_table(pl.DataFrame(rows, schema=VERDICTS), path, VERDICTS)
    return path


def key_of(items: Path, views: Mapping[str, Path | None], **known: object) -> TimeCardKey:
    one = CardBenchmarkKey.model_validate(
        {
            "name": "temporalbench", "title": "TemporalBench", "protocol": "short", "form": "short",
            "sampling": "linspace8", "score": "ba", "score_title": "BA", "group": "overall", "decimals": 1,
            "items": items, "views": dict.fromkeys(VIEWS) | dict(views),
        } | known
    )  # fmt: skip
    return TimeCardKey(suite="made", level=0.95, model="toy", title="Toy", benchmarks=(one,))


def key_of_rule(folder: Path, rule: Rule, count: int = 120, views: Sequence[str] = VIEWS) -> TimeCardKey:
    """The key of a card of a model that answers by a rule."""
    asked = {view: write_verdicts(folder, view, [rule(view, at) for at in range(count)]) for view in views}
    return key_of(write_items(folder, count), asked)

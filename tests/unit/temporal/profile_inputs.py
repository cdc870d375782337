"""Verdicts under every condition for models that answer by a rule, on TemporalBench's binary questions."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl
from reprise.core.schemas import ITEMS, VERDICTS, write_table
from reprise.figures.styles import ModelStyle
from reprise.temporal.conditions import CONDITIONS
from reprise.temporal.profile import BenchmarkProfileKey, TemporalProfileKey

from tests.unit.rows import item_row, verdict_row

STYLE = ModelStyle(colour="#0072B2", marker="D")
Rule = Callable[[str, int], bool]  # condition and number of the sample -> whether the answer is right


def write_items(folder: Path, count: int) -> Path:
    path = folder / "items.parquet"
    rows = [item_row(f"q{at:03}", clip_id=f"v{at:03}.c", cluster=f"v{at:03}", task="short") for at in range(count)]
    write_table(pl.DataFrame(rows, schema=ITEMS), path, ITEMS)
    return path


def write_verdicts(folder: Path, condition: str, right: Sequence[bool | None]) -> Path:
    """Verdicts on the items, by number; None was not run."""
    path = folder / f"{condition}.parquet"
    rows = [verdict_row(f"q{at:03}#q", right=answer) for at, answer in enumerate(right) if answer is not None]
    write_table(pl.DataFrame(rows, schema=VERDICTS), path, VERDICTS)
    return path


def key_of(items: Path, conditions: Mapping[str, Path | None], **known: object) -> TemporalProfileKey:
    benchmark = BenchmarkProfileKey.model_validate(
        {
            "name": "temporalbench", "title": "TemporalBench", "protocol": "short", "form": "short",
            "sampling": "linspace8", "score": "ba", "score_title": "BA", "group": "overall", "decimals": 1,
            "items": items, "conditions": dict.fromkeys(CONDITIONS) | dict(conditions),
        } | known
    )  # fmt: skip
    figure = {"style": STYLE, "width": 3.25}
    return TemporalProfileKey(suite="made", level=0.95, model="toy", title="Toy", benchmarks=(benchmark,), **figure)


def key_of_rule(
    folder: Path, rule: Rule, count: int = 120, conditions: Sequence[str] = CONDITIONS
) -> TemporalProfileKey:
    """Return the key of a profile of a model that answers by a rule."""
    verdicts = {
        condition: write_verdicts(folder, condition, [rule(condition, at) for at in range(count)])
        for condition in conditions
    }
    return key_of(write_items(folder, count), verdicts)

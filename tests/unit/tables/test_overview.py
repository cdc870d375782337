"""The overview: what each benchmark shows of the same models, with intervals, beside how long they took."""

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.core.schemas import METRICS, TIMINGS
from reprise.tables.keys import OverviewKey
from reprise.tables.overview import OverviewBuilder
from reprise.tables.published import PublishedTable
from reprise.tables.render import render

from tests.unit.tables.world import metric_row, published, table_key

OURS, OTHER = "velociti/entail/fps1/ours", "vinoground/paper/fps1/ours"


def part(benchmark: str, title: str, metric: str, rows: list[dict[str, Any]], runs: list[str]) -> dict[str, Any]:
    column = {"title": f"{title} {metric}", "metrics": [metric], "group": "all"}
    spec = {"title": "", "caption": "", "columns": [column], "sections": [{"rows": rows}], "intervals": True}
    named = {"benchmark": benchmark, "benchmark_title": title, "paper": f"{title} (A. et al.)", "table": "overview"}
    return table_key(spec | {"best": False}, **named, notice="Toy.", runs=runs)


def key(gpus: int) -> OverviewKey:
    """A model with runs of both, one that only one paper has, and one under other conditions that does not run."""
    default_conditions = {
        name: {"table": "table2", "protocol": protocol, "sampling": "fps1", "columns": [{"title": "x"}]}
        for name, protocol in (("velociti", "entail"), ("vinoground", "paper"))
    }
    first, second = ({"protocol": protocol, "sampling": "fps1"} for protocol in ("entail", "paper"))
    none = {"published": "(in no table)"}
    theirs = {"label": "Theirs", "model": "theirs", "published": "T", **first}
    blind = {"label": "Blind", "model": "blind", **first, "sampling": "none"}
    mine = [{"label": "Ours", "model": "ours", **one} for one in (first, second)]
    others = [mine[1], {"label": "Theirs", **none}, {"label": "Blind", **none}]
    parts = [part("velociti", "VELOCITI", "strict", [mine[0], theirs, blind], [OURS])]
    parts += [part("vinoground", "Vinoground", "group", others, [OTHER])]
    known = {"suite": "s", "confidence": 0.95, "parts": parts, "default_conditions": default_conditions}
    return OverviewKey.model_validate(known | {"gpus": {"ours": gpus, "theirs": 1, "blind": 0}})


def metric(run: str, name: str, value: float) -> dict[str, Any]:
    return metric_row(run, name, "all", value, low=value - 4, high=value + 5, failed=1)


def timings(*clips: tuple[int, float | None, float | None]) -> pl.DataFrame:
    rows = [dict(zip(("requests", "seconds", "waiting"), one, strict=True)) for one in clips]
    return pl.DataFrame([row | {"clip_id": str(n), "resumed": 0} for n, row in enumerate(rows)], schema=TIMINGS)


def built(folder: Path, gpus: int = 0, **times: pl.DataFrame) -> OverviewBuilder:
    found = {OURS: timings((6, 2.0, 1.0)), OTHER: timings((4, 5.0, None))} | times
    metrics = [metric(OURS, "strict", 33.04), metric(OTHER, "group", 21.0)]
    printed = {
        "velociti": published(folder, "velociti,table2,T,,all,strict,61.6"),
        "vinoground": PublishedTable(None, ""),
    }
    problems = {OURS: Counter({"empty": 2})}
    return OverviewBuilder(key(gpus), pl.DataFrame(metrics, schema=METRICS), printed, problems, found)


def cells(text: str) -> dict[str, list[str]]:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return {row[0].partition("<")[0]: row[1:] for row in rows}


def test_a_line_has_numbers_with_intervals_and_times(tmp_path: Path) -> None:
    text = render(built(tmp_path, gpus=1).build(), "md")
    found: Any = cells(text)
    assert found["Model"] == ["VELOCITI strict", "Vinoground group", "Cost: seconds a question", "Cost: GPU hours"]
    # 8 seconds over 10 questions
    assert found["Ours"] == ["33.0 (29.0–38.0)", "21.0 (17.0–26.0)", "0.80", "0.00"]
    assert [found["Theirs"][0].partition("<")[0], *found["Theirs"][1:]] == ["*61.6*", "–", "–", "–"]
    assert "with 95 % intervals" in text and "VELOCITI entail, fps1; Vinoground paper, fps1" in text
    assert "Protocol and sampling: VELOCITI entail, none." in text and text.count("Protocol and sampling:") == 1
    assert "VELOCITI: Of up to 10 samples: 1 failed." in text and "**Toy.**" in text
    assert "VELOCITI: Problems of imported answers: 2 empty." in text
    assert "Paper: VELOCITI (A. et al.)." in text and text.count("Suite s (S)") == 1
    made = built(tmp_path, gpus=1)
    made.build()
    found = {(row["row"], row["metric"]): row for row in made.tidy_rows}
    assert found["Ours", "strict"]["value"] == 33.04 and found["Theirs", "strict"]["source"] == "published"
    assert found["Ours", "group"]["run"] == OTHER
    assert found["Ours", "seconds_a_question"]["value"] == pytest.approx(0.8)
    assert found["Ours", "GPU_hours"]["value"] == pytest.approx(8 / 3600) and len(found) == 5


def test_hours_need_one_gpu_and_the_time_of_all_questions(tmp_path: Path) -> None:
    for gpus in (0, 4):  # of several it is not known how many a question took
        assert cells(render(built(tmp_path, gpus=gpus).build(), "md"))["Ours"][2:] == ["0.80", "–"]
    text = render(built(tmp_path, gpus=1, **{OURS: timings((6, 3.0, 0.0), (4, None, None))}).build(), "md")
    assert cells(text)["Ours"][2:] == ["0.80", "–"]


def test_dollars_are_shown_if_a_vendor_charged(tmp_path: Path) -> None:
    cost = timings((6, 2.0, 1.0)).with_columns(usd=pl.lit(0.25))
    found = cells(render(built(tmp_path, **{OURS: cost}).build(), "md"))
    assert found["Model"][-1] == "Cost: US dollars" and found["Ours"][-1] == "–", "the price of one run is unknown"
    found = cells(render(built(tmp_path, **{OURS: cost, OTHER: cost}).build(), "md"))
    assert found["Ours"][-1] == "0.50" and found["Theirs"][-1] == "–"

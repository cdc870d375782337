"""Test the overview: the scores of the same models on each benchmark, with intervals, and the cost of the runs."""

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

VELOCITI_RUN, VINOGROUND_RUN = "velociti/entail/fps1/ours", "vinoground/paper/fps1/ours"


def make_part(benchmark: str, title: str, metric: str, rows: list[dict[str, Any]], runs: list[str]) -> dict[str, Any]:
    column = {"title": f"{title} {metric}", "metrics": [metric], "group": "all"}
    spec = {"title": "", "caption": "", "columns": [column], "sections": [{"rows": rows}], "intervals": True}
    names = {"benchmark": benchmark, "benchmark_title": title, "paper": f"{title} (A. et al.)", "table": "overview"}
    return table_key(spec | {"best": False}, **names, notice="Toy.", runs=runs)


def make_key(gpu_count: int) -> OverviewKey:
    """Return the key for three models: one with both runs, one published by one paper, and one without frames or runs."""
    default_conditions = {
        name: {"table": "table2", "protocol": protocol, "sampling": "fps1", "columns": [{"title": "x"}]}
        for name, protocol in (("velociti", "entail"), ("vinoground", "paper"))
    }
    first, second = ({"protocol": protocol, "sampling": "fps1"} for protocol in ("entail", "paper"))
    not_published = {"published": "(in no table)"}
    published_row = {"label": "Theirs", "model": "theirs", "published": "T", **first}
    blind_row = {"label": "Blind", "model": "blind", **first, "sampling": "none"}
    own_rows = [{"label": "Ours", "model": "ours", **conditions} for conditions in (first, second)]
    vinoground_rows = [own_rows[1], {"label": "Theirs", **not_published}, {"label": "Blind", **not_published}]
    parts = [make_part("velociti", "VELOCITI", "strict", [own_rows[0], published_row, blind_row], [VELOCITI_RUN])]
    parts += [make_part("vinoground", "Vinoground", "group", vinoground_rows, [VINOGROUND_RUN])]
    fields = {"suite": "s", "confidence": 0.95, "parts": parts, "default_conditions": default_conditions}
    return OverviewKey.model_validate(fields | {"gpus": {"ours": gpu_count, "theirs": 1, "blind": 0}})


def make_metric(run: str, name: str, value: float) -> dict[str, Any]:
    return metric_row(run, name, "all", value, low=value - 4, high=value + 5, failed=1)


def make_timings(*clips: tuple[int, float | None, float | None]) -> pl.DataFrame:
    rows = [dict(zip(("requests", "seconds", "waiting"), clip, strict=True)) for clip in clips]
    return pl.DataFrame([row | {"clip_id": str(index), "resumed": 0} for index, row in enumerate(rows)], schema=TIMINGS)


def make_builder(folder: Path, gpu_count: int = 0, **timings_by_run: pl.DataFrame) -> OverviewBuilder:
    timings = {VELOCITI_RUN: make_timings((6, 2.0, 1.0)), VINOGROUND_RUN: make_timings((4, 5.0, None))} | timings_by_run
    metrics = [make_metric(VELOCITI_RUN, "strict", 33.04), make_metric(VINOGROUND_RUN, "group", 21.0)]
    published_by_benchmark = {
        "velociti": published(folder, "velociti,table2,T,,all,strict,61.6"),
        "vinoground": PublishedTable(None, ""),
    }
    problems = {VELOCITI_RUN: Counter({"empty": 2})}
    return OverviewBuilder(
        make_key(gpu_count), pl.DataFrame(metrics, schema=METRICS), published_by_benchmark, problems, timings
    )


def parse_cells(text: str) -> dict[str, list[str]]:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return {row[0].partition("<")[0]: row[1:] for row in rows}


def test_a_row_has_numbers_with_intervals_and_costs(tmp_path: Path) -> None:
    text = render(make_builder(tmp_path, gpu_count=1).build(), "md")
    cells: Any = parse_cells(text)
    assert cells["Model"] == ["VELOCITI strict", "Vinoground group", "Cost: seconds a question", "Cost: GPU hours"]
    # The cost is 8 seconds for 10 requests.
    assert cells["Ours"] == ["33.0 [29.0, 38.0]", "21.0 [17.0, 26.0]", "0.80", "0.00"]
    assert [cells["Theirs"][0].partition("<")[0], *cells["Theirs"][1:]] == ["*61.6*", "–", "–", "–"]
    assert "with 95 % intervals" in text and "VELOCITI entail, fps1; Vinoground paper, fps1" in text
    assert "Protocol and sampling: VELOCITI entail, none." in text and text.count("Protocol and sampling:") == 1
    assert text.count("VELOCITI, Vinoground: Of up to 10 samples: 1 failed.") == 1 and "**Toy.**" in text
    assert "VELOCITI: Problems of imported answers: empty (2)." in text
    assert "Paper: VELOCITI (A. et al.)." in text and text.count("Suite s (S)") == 1
    builder = make_builder(tmp_path, gpu_count=1)
    builder.build()
    cells = {(row["row"], row["metric"]): row for row in builder.tidy_rows}
    assert cells["Ours", "strict"]["value"] == 33.04 and cells["Theirs", "strict"]["source"] == "published"
    assert cells["Ours", "group"]["run"] == VINOGROUND_RUN
    assert cells["Ours", "seconds_a_question"]["value"] == pytest.approx(0.8)
    assert cells["Ours", "GPU_hours"]["value"] == pytest.approx(8 / 3600) and len(cells) == 5


def test_gpu_hours_need_one_gpu_and_the_time_of_all_requests(tmp_path: Path) -> None:
    for gpu_count in (0, 4):  # with several GPUs, the number that a request used is unknown
        assert parse_cells(render(make_builder(tmp_path, gpu_count=gpu_count).build(), "md"))["Ours"][2:] == [
            "0.80",
            "–",
        ]
    text = render(
        make_builder(tmp_path, gpu_count=1, **{VELOCITI_RUN: make_timings((6, 3.0, 0.0), (4, None, None))}).build(),
        "md",
    )
    assert parse_cells(text)["Ours"][2:] == ["0.80", "–"]


def test_dollars_are_shown_if_a_vendor_charged(tmp_path: Path) -> None:
    cost = make_timings((6, 2.0, 1.0)).with_columns(usd=pl.lit(0.25))
    cells = parse_cells(render(make_builder(tmp_path, **{VELOCITI_RUN: cost}).build(), "md"))
    assert cells["Model"][-1] == "Cost: US dollars" and cells["Ours"][-1] == "–", "the price of one run is unknown"
    cells = parse_cells(render(make_builder(tmp_path, **{VELOCITI_RUN: cost, VINOGROUND_RUN: cost}).build(), "md"))
    assert cells["Ours"][-1] == "0.50" and cells["Theirs"][-1] == "–"

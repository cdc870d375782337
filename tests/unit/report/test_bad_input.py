"""Test extreme numbers and hostile texts: every output shows or names them, without a crash or active markup."""

import math
import re
from typing import Any

import polars as pl
import pytest
from reprise.commands.show import format_cell
from reprise.core.files import write_text
from reprise.core.paths import table_file
from reprise.core.schemas import METRICS
from reprise.report.keys import ReportedTable
from reprise.tables.builder import NOT_FINITE_NOTE, TIDY_SCHEMA, TableBuilder
from reprise.tables.keys import ReproductionKey, TableKey, TableTitle
from reprise.tables.published import PublishedTable
from reprise.tables.render import FORMATS, render
from reprise.tables.reproduction import Reproduction

from tests.unit.report.world import RUN, World, make_requests, make_responses, make_verdicts
from tests.unit.rows import item_row, response_row, verdict_row
from tests.unit.tables.world import metric_row, table_key

COUNTS = {"requested": 40, "scored": 40, "failed": 0, "unparsed": 0, "missing": 0}
NO_REQUESTS = {"value": None, "low": None, "high": None, "requested": 0, "scored": 0}
NUMBERS: dict[str, dict[str, Any]] = {
    "nothing scored": NO_REQUESTS,
    "all failed": {"value": 0.0, "low": 0.0, "high": 9.0, "scored": 0, "failed": 40},
    "one cluster": {"value": 55.0, "low": None, "high": None},
    "all right": {"value": 100.0, "low": 100.0, "high": 100.0},
    "all wrong": {"value": 0.0, "low": 0.0, "high": 0.0},
    "no number": {"value": math.nan, "low": math.nan, "high": math.nan},
    "infinite": {"value": math.inf, "low": None, "high": None},
    "without its clips": {**NO_REQUESTS, "missing": 40},
}
MARKUP = '<img src=x onerror="window.ran=1"><script>window.ran=1</script></script>'
TEXTS = {
    "html": MARKUP,
    "script end": "</script><script>window.ran=1</script><!--",
    "latex": r"\input{/etc/passwd} \write18{x} $x_1^2$ 100% #1 & ~ ^ { } \end{document}",
    "right to left": "שלום \u202eevil\u202c \u2066x\u2069 مرحبا",
    "nul": "a\x00b\x1b[2J\x7f\ud800c",
    "line ends": "a\r\nb\u2028c\u2029d",
    "formula": "=HYPERLINK(1)",
    "long": "word " * 209_716,  # 1 MB
}


def make_metric_row(case: str) -> dict[str, Any]:
    return metric_row(RUN, "strict", "agent_bind", None, p_chance=None) | COUNTS | NUMBERS[case]


def make_table_key(label: str = "One", caption: str = "Scores.") -> dict[str, Any]:
    rows = [{"label": label, "model": "one"}, {"label": "Two", "model": "two"}]
    spec = {
        "title": caption, "caption": caption, "metrics": ["strict"], "intervals": True, "best": True,
        "columns": [{"title": "AgBind", "group": "agent_bind"}],
        "sections": [{"protocol": "entail", "sampling": "fps1", "rows": rows}],
    }  # fmt: skip
    forms = {"entail": "entail"}
    return table_key(spec, runs=[RUN], forms=forms, show_published=False, missing_share_max=1, failed_share_max=1)


@pytest.mark.parametrize("case", NUMBERS)
def test_any_number_is_shown_in_every_output(case: str, world: World) -> None:
    """The outputs are tables of every format, the csv, the reproduction, `reprise trace` and the report."""
    value = NUMBERS[case]["value"]
    is_number = value is not None and math.isfinite(value)
    frame = pl.DataFrame([make_metric_row(case)], schema=METRICS)
    builder = TableBuilder(TableKey.model_validate(make_table_key()), frame, PublishedTable(None, "table2"))
    for form in FORMATS:
        page = render(builder.build(), form)
        assert not re.search(r"\b(nan|inf)\b", page.replace("NaN or infinite", ""), re.IGNORECASE)
        assert (NOT_FINITE_NOTE.partition(" (")[0] in page) == (not is_number and value is not None)
        assert not is_number or f"{value:.1f}" in page
    row = builder.tidy_rows[0]
    rows = [{**row, "extractor": "authors", "published": 50.0, "published_decimals": 1}]
    tidy = pl.DataFrame(rows, schema=TIDY_SCHEMA)
    assert tidy["value"].is_nan().sum() == 0
    title = TableTitle(table="velociti/table2", paper="VELOCITI", number="Table 2", title="Scores")
    (cell,) = Reproduction(
        ReproductionKey(suite="s", suite_title="S", confidence=0.95, titles=(title,)), tidy
    ).comparisons
    reason = {
        "one cluster": "no interval",
        "all failed": f"{row['requested']} of {row['requested']} failed or unparsed",
    }.get(case, "" if is_number else "no answer could be scored")
    assert cell.verdict[:2] == (("not comparable", reason) if reason else ("differs", ""))
    line = format_cell(make_metric_row(case))
    assert line.startswith(("none; ", "0.0000", "100.0000", "55.0000", "NaN"))
    assert f"{make_metric_row(case)['requested']} requested" in line
    world.metrics = [make_metric_row(case)]
    world.build()
    (number,) = world.data("velociti/provenance/velociti.entail.fps1.one")["numbers"]
    assert number.get("value") == (value if is_number else None)
    page = (world.root / "runs/velociti.entail.fps1.one.html").read_text()
    assert (f"{value:.2f}" if is_number else ">NaN<" if value else ">–<") in page


@pytest.mark.parametrize("name", TEXTS)
def test_any_text_is_shown_in_the_report_and_runs_nothing(world: World, monkeypatch: pytest.MonkeyPatch, name: str) -> None:  # fmt: skip
    """The text is a caption, an answer, a failure's message, a label and a title, in pages and in data."""
    text = TEXTS[name].replace("\ud800", "")  # Parquet cannot store a lone surrogate
    texts = [{"name": "positive", "text": text}]
    world.items = [*world.items, item_row("d", clip_id="c1", cluster="u3", task="coref", texts=texts)]
    world.requests += make_requests("d", "c1")
    verdicts = [*make_verdicts("a", 0.9, 0.4), verdict_row("d#pos", unparsed=True), verdict_row("d#neg", failed=True)]
    responses = [
        *make_responses("a", 0.9, 0.4),
        response_row("d#pos", text),
        response_row("d#neg", error="Timeout", message=text),
    ]
    world.runs[RUN] = (responses, verdicts, verdicts)
    world.key_changes = {"suite_title": text[:300], "notice": text[:300]}
    world.metrics = [make_metric_row("all right") | {"note": text[:300]}]
    key = make_table_key(label=text[:300], caption=text[:300])
    world.settings = {"tables/velociti/table2": TableKey.model_validate(key)}
    world.tables = (ReportedTable(name="table2"),)
    monkeypatch.chdir(world.root.parent)
    write_text(table_file("velociti", "table2", "csv"), "row,value\n")
    world.build()
    # The report has no element of the text, no end of a script, and no invisible or reordering character.
    for file, file_content in world.files().items():
        if file.endswith((".html", ".js")) and not file.startswith("assets/") and file != "items.html":
            content = file_content.decode()
            assert not re.search("[\x00\u202a-\u202e\u2066-\u2069\x1b\x7f]", content), file
            forbidden = ("</script",) if file.endswith(".js") else ("<img src=x", "<script>window", "<!--")
            assert not any(text in content for text in forbidden), file
    item = world.data("velociti/items/0")[3]
    displayed_text = item["texts"][0]["text"]
    assert displayed_text.startswith(("word word", "<", "\\", "ש", "a", "="))
    assert len(displayed_text) < 20_100 and not re.search("[\x00\u202e\u2028\x1b]", displayed_text)
    assert ("(1048580 characters)" in displayed_text) == (name == "long")
    assert len(world.data("velociti/texts")["text"][3]) <= 4000
    assert len(world.data("velociti/labels/0")[3]) <= 120

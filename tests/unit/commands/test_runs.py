"""Test commands on results: missing cells and videos, failures, rows for `trace`, numbers of a plan, and subtitles."""

import csv
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from reprise.commands.numbers import format_count, format_duration, format_known_sum
from reprise.commands.runs import incomplete_cells
from reprise.commands.shared import format_failures
from reprise.commands.show import find_by_name
from reprise.commands.videos import copy_subtitles
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.core.schemas import CLIP_MANIFEST, SOURCES, write_table
from reprise.fetch.keys import BenchmarkManifests
from reprise.plan.runs import Plan
from reprise.stages.missing import format_section
from reprise.tables.builder import TIDY_SCHEMA

from tests.unit.config.conftest import ROOT, Project
from tests.unit.core.programs import write

TABLE = "vinoground/table4"
HUMAN_ROW = {"row": "Prolific Human", "source": "published"}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan(load(ROOT, {"suite": "rehearsal"}))


def write_table_csv(folder: Path, *rows: dict[str, str], suite: str = "rehearsal") -> Path:
    path = folder / f"{TABLE}.csv"
    path.parent.mkdir(parents=True)
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(TIDY_SCHEMA), restval="")
        writer.writeheader()
        writer.writerows({"suite": suite, "table": TABLE, "group": "all", **row} for row in rows)
    return folder


def make_cell(metric: str, value: str, **fields: str) -> dict[str, str]:
    columns = {"text": "s_t", "video": "s_v", "group": "s_g"}
    return {"column": columns[metric], "metric": metric, "value": value, **fields}


def test_each_row_needs_its_own_number(plan: Plan, tmp_path: Path) -> None:
    """Two rows have the label Prolific Human; values by the authors' convention and empty values do not count."""
    humans = (("text", "1"), ("text", "2"), ("video", "3"), ("group", ""))
    model = (("4", "authors"), ("5", "fixed"))
    model_cells = [
        make_cell("video", value, row="LLaVA-OneVision-72B", convention=convention) for value, convention in model
    ]
    gaps = incomplete_cells(
        plan, write_table_csv(tmp_path, *(make_cell(*fields, **HUMAN_ROW) for fields in humans), *model_cells), [TABLE]
    )
    assert [gap.column for gap in gaps if gap.row == "Prolific Human"] == ["s_v", "s_g", "s_g"]
    assert sum(gap.row == "LLaVA-OneVision-72B" and gap.metric == "video" for gap in gaps) == 5, "six rows, one number"
    assert len(gaps) == 12 * 3 - 4


@pytest.mark.parametrize(
    ("name", "suite", "message"),
    [
        ("vinoground/table44", "rehearsal", "unknown table 'vinoground/table44'. Did you mean 'vinoground/table4'"),
        (
            TABLE,
            "demo",
            "table4.csv: belongs to suite 'demo', not to 'rehearsal'. Run snakemake with `--config suite=reh",
        ),
        ("vinoground/table3", "rehearsal", "table3.csv not found. Make it first: snakemake "),
    ],
)
def test_tables_that_cannot_be_read_are_reported(
    plan: Plan, tmp_path: Path, name: str, suite: str, message: str
) -> None:
    folder = write_table_csv(tmp_path, make_cell("text", "1", **HUMAN_ROW), suite=suite)
    with pytest.raises(UserError) as caught:
        incomplete_cells(plan, folder, [name])
    assert message in str(caught.value)


def test_failures_are_listed_by_reason_without_control_characters() -> None:
    failed = pl.DataFrame(
        {"reason": ["network"] * 5, "name": ["a\x1b[2J\nb\u202e", *"cdef"], "message": ["no\x07"] * 5}
    )
    limited, unlimited = (list(format_failures(failed, Counter(network=2), limit)) for limit in (3, None))
    assert limited[0].endswith("; the next run retries 2") and limited[-1] == "  and 2 more" and len(limited) == 5
    assert unlimited[1:] == [f"  {name}: no[U+0007]" for name in ("a b[U+202E]", *"cdef")]


HOSTILE_TEXT = "x\u202e|<script>alert(1)</script>\x00\x1b[2J![i](http://127.0.0.1/)&lt;$\\\n# head"


def test_the_list_of_missing_videos_escapes_markup(tmp_path: Path) -> None:
    row = dict.fromkeys(("cluster", "object", "sha256"), "") | {"bytes": 0, "transient": False, "attempts": 1}
    row |= {"source_id": HOSTILE_TEXT, "status": "failed", "message": HOSTILE_TEXT}
    for name, rows, schema in (("s", [row], SOURCES), ("c", [], CLIP_MANIFEST)):
        write_table(pl.DataFrame(rows, schema=schema), tmp_path / name, schema)
    text = format_section(BenchmarkManifests(title="Toy", sources=(tmp_path / "s",), clips=(tmp_path / "c",)))
    line = next(line for line in text.splitlines() if line.startswith("| x"))
    assert line.count("|") == 5 and not any(character in line for character in "\u202e\x00\x1b<>[]\\$")
    assert line.count("U+202E") == 2 and "&#38;lt;" in line


def test_subtitles_are_copied_to_the_extras_of_the_release(project: Project) -> None:
    project.edit("config/config.yaml", "suite: demo", "suite: paper\nstore: store")
    project.edit("config/suites/paper.yaml", "extras: resources/extras/mmbench_video", "extras: extras")
    rows = [("spoken", "ok"), ("silent", "ok"), ("gone", "not_found")]
    fields = {"cluster": "", "transient": False, "attempts": 1, "sha256": "", "bytes": 0, "message": ""}
    manifest = [
        {"source_id": name, "status": status, "object": f"sources/{name}.mp4", **fields} for name, status in rows
    ]
    write_table(pl.DataFrame(manifest, schema=SOURCES), Path("results/paper/sources/mmbench_video/0.parquet"), SOURCES)
    write(Path("store/sources/spoken.vtt"), b"WEBVTT\n\n00:01.000 --> 00:02.000\nhello\n")
    copy_subtitles("mmbench_video")
    assert [path.name for path in Path("extras/subtitles").iterdir()] == ["spoken.vtt"]
    corrected = Path("extras/subtitles/spoken.vtt")
    corrected.write_text("corrected by hand")
    copy_subtitles("mmbench_video")
    assert corrected.read_text() == "corrected by hand"
    for benchmark, message in {
        "velociti": r"config/suites/paper.yaml: benchmarks.velociti.extras: missing",
        "mmbench-video": "Did you mean 'mmbench_video'",
    }.items():
        with pytest.raises(UserError, match=message):
            copy_subtitles(benchmark)


ROWS = {
    "GPT-4o, 8 frames (b/p/linspace8/gpt-4o)": 1,
    "GPT-4o, 32 frames (b/p/linspace32/gpt-4o)": 2,
    "GPT-4o (CoT), 32 frames (b/cot/linspace32/gpt-4o)": 3,
    "Human (no run)": 4,
}
TWO_CHOICES = """Copy one:
  --row 'GPT-4o, 32 frames (b/p/linspace32/gpt-4o)'
  --row 'GPT-4o (CoT), 32 frames (b/cot/linspace32/gpt-4o)'"""
ALL_CHOICES = """Copy one:
  --row 'GPT-4o, 8 frames'
  --row 'GPT-4o, 32 frames'
  --row 'GPT-4o (CoT), 32 frames'
  --row Human"""


@pytest.mark.parametrize(
    ("query", "match"), [("gpt-4o, 8 frames", 1), ("GPT-4o (CoT), 32 frames", 3), ("cot", 3), ("human", 4)]
)
def test_a_row_is_matched_by_its_label_or_its_words(query: str, match: int) -> None:
    assert find_by_name("row", query, ROWS) == match


@pytest.mark.parametrize(
    ("kind", "query", "entries", "message"),
    [
        ("row", "GPT-5", ROWS, f"trace: no row 'GPT-5'. {ALL_CHOICES}"),
        ("row", "32", ROWS, f"trace: row '32' matches 2. {TWO_CHOICES}"),
        ("column", "avg", {"Score (%)": 1}, "trace: no column 'avg'. Copy one:\n  --column 'Score (%)'"),
    ],
)  # fmt: skip
def test_ambiguous_labels_are_listed(kind: str, query: str, entries: dict[str, int], message: str) -> None:
    with pytest.raises(UserError) as caught:
        find_by_name(kind, query, entries)
    assert str(caught.value) == message


def test_numbers_of_a_plan_are_formatted() -> None:
    text_by_seconds = {
        0: "0 s",
        0.9: "<1 s",
        89: "89 s",
        90: "1.5 min",
        3000: "50 min",
        30_000: "8.3 h",
        90_000: "25 h",
    }
    assert {seconds: format_duration(seconds) for seconds in text_by_seconds} == text_by_seconds
    text_by_count = {None: "?", 999: "999", 1000: "1.0k", 123_456: "123k", 4_140_000: "4.1M", 2e9: "2.0G"}
    assert {count: format_count(count) for count in text_by_count} == text_by_count
    assert [format_known_sum("5", known_count, 3) for known_count in (3, 2, 0)] == [
        "5",
        "at least 5 (unknown of 1 of 3 runs)",
        "?",
    ]

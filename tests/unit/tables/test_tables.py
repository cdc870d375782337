"""Test tables: the source of each cell, the footnotes, and the errors that stop a table."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.core.errors import UserError
from reprise.core.schemas import EXTRACTORS_DIFFER, FAILED_ANSWERS, METRICS
from reprise.tables.builder import TableBuilder
from reprise.tables.keys import TableKey
from reprise.tables.render import render
from reprise.tables.render.table import collect_numbers

from tests.unit.tables.world import metric_row, published, table_key

RUN, OTHER_RUN = "velociti/entail/fps1/ov", "velociti/entail/fps1/qvl"
ROWS = [
    {"label": "Random", "chance": True},
    {"label": "OV-7B", "model": "ov"},
    {"label": "QVL-7B", "model": "qvl"},
    {"label": "GPT-4o", "published": "GPT-4o [subset]"},
    {"label": "Nobody"},
]
SPEC = {
    "title": "Strict", "caption": "Strict entailment.", "metrics": ["strict"],
    "columns": [{"title": "Ctrl", "group": "control"}, {"title": "Avg", "group": "average"}],
    "sections": [{"title": "All", "protocol": "entail", "sampling": "fps1", "rows": ROWS}],
}  # fmt: skip
PUBLISHED_LINES = (
    "velociti,table2,OV-7B,,control,strict,81.6",
    "velociti,table2,QVL-7B,,control,strict,84.6",
    "velociti,table2,GPT-4o [subset],,control,strict,63.3",
    "velociti,table3,OV-7B,,control,strict,1.0",
)
Build = Callable[..., TableBuilder]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    def builder(
        *rows: dict[str, Any], published_lines: tuple[str, ...] = PUBLISHED_LINES, **changes: Any
    ) -> TableBuilder:
        key = table_key(SPEC) | {"runs": [RUN]} | changes
        values = published(tmp_path, *published_lines, table=str(key["table"]))
        return TableBuilder(TableKey.model_validate(key), pl.DataFrame(rows, schema=METRICS), values)

    return builder


def metric(group: str, value: float | None, metric: str = "strict", run: str = RUN, **changes: Any) -> dict[str, Any]:
    return metric_row(run, metric, group, value, **{"low": 1.0, "high": 99.0} | changes)


CONTROL_ROW = metric("control", 80.0)
NO_REQUESTS = {"low": None, "high": None, "requested": 0, "scored": 0}


def apply_authors_convention(row: dict[str, Any], value: float) -> dict[str, Any]:
    return row | {"convention": "authors", "extractor": "authors", "value": value}


def render_markdown(builder: TableBuilder) -> str:
    return render(builder.build(), "md")


def parse_cells(builder: TableBuilder) -> dict[str, list[str]]:
    """Return the cells of a table by the label of their row."""
    lines = [line.strip("|").split("|") for line in render_markdown(builder).splitlines() if line.startswith("| ")]
    return {label.strip(): [cell.strip() for cell in cells] for label, *cells in lines}


def list_sources(builder: TableBuilder) -> dict[tuple[str, str], tuple[str, float]]:
    builder.build()
    rows = [row for row in builder.tidy_rows if row.get("convention") != "authors"]
    return {(row["row"], row["column"]): (row["source"], row["value"]) for row in rows}


def test_a_cell_is_measured_or_chance_or_published_or_a_dash(build: Build) -> None:
    rows = metric("control", 80.04), metric("average", 32.0)
    builder = build(*rows)
    assert list_sources(builder) == {
        ("Random", "Ctrl"): ("chance", 25.0),
        ("Random", "Avg"): ("chance", 25.0),
        ("OV-7B", "Ctrl"): ("reproduced", 80.04),
        ("OV-7B", "Avg"): ("reproduced", 32.0),
        ("QVL-7B", "Ctrl"): ("published", 84.6),
        ("GPT-4o", "Ctrl"): ("published", 63.3),
    }
    cells = parse_cells(builder)
    assert cells["OV-7B"][0] == "<ins>80.0</ins> (81.6, −1.6)", (
        "published value and difference; a published number is the best"
    )
    assert cells["Nobody"] == ["–", "–"]
    assert {source for source, _ in list_sources(build(*rows, show_published=False)).values()} == {
        "chance",
        "reproduced",
    }


def test_a_published_number_stays_if_a_run_has_no_requests(build: Build) -> None:
    """VELOCITI's subset has no control test: a run of the subset has no such number, but the paper prints one."""
    builder = build(metric("control", None, **NO_REQUESTS), metric("average", 32.0))
    assert list_sources(builder)["OV-7B", "Ctrl"] == ("published", 81.6)
    assert "*81.6*" in render_markdown(builder).replace("<ins>", "").replace("</ins>", "")
    unpublished_row = [{"label": "OV-7B", "model": "ov", "protocol": "entail", "sampling": "fps1", "published": "none"}]
    without_published = build(
        metric("control", None, **NO_REQUESTS), spec=SPEC | {"sections": [{"rows": unpublished_row}]}
    )
    assert parse_cells(without_published)["OV-7B"][0] == "–", "a metric without requests is never zero"


def test_numbers_lost_in_the_papers_text_are_marked(build: Build) -> None:
    lost_note = "Not run; the paper's number is lost in its extracted text."
    assert lost_note in render_markdown(
        build(runs=[], spec=SPEC | {"is_damaged": True})
    ) and lost_note not in render_markdown(build(runs=[]))


def test_a_reference_is_never_the_best_row(build: Build) -> None:
    rows = (metric("control", 99.0), CONTROL_ROW | {"run": OTHER_RUN})
    for references, best in (((), "**99.0**"), (("ov",), "**80.0**")):
        assert best in render_markdown(build(*rows, runs=[RUN, OTHER_RUN], reference_models=references)), references


def test_counts_of_the_data_are_compared_with_the_papers_without_any_run(build: Build) -> None:
    sections = [{"rows": [{"label": "OV-7B", "group": "control", "dataset": True}]}]
    spec = SPEC | {"best": False, "columns": [{"title": "N"}], "sections": sections}
    assert "80.0 (81.6, −1.6)" in render_markdown(build(CONTROL_ROW | {"run": "velociti/data"}, runs=[], spec=spec))


# --- footnotes ------------------------------------------------------------------------------------------------------


def make_differing_row(value: float, requested: int = 20, run: str = RUN) -> dict[str, Any]:
    """Return the number of answers on which the extractors differ."""
    return metric("answers", value, metric=EXTRACTORS_DIFFER, requested=requested, run=run)


def test_notes_of_a_row_and_of_the_table(build: Build) -> None:
    row = metric("control", 80.0, failed=1, unparsed=2, missing=1)
    builder = build(row, apply_authors_convention(row, 91.4), quantised={"ov": "nf4", "qvl": "gptq"})
    text = render_markdown(builder)
    assert [(row["convention"], row["extractor"], row["key"]) for row in builder.tidy_rows if row["source"] == "reproduced"] == [
        ("fixed", "robust", "f" * 64), ("authors", "authors", "f" * 64),
    ], "both conventions are in the tidy rows"  # fmt: skip
    assert "Of up to 11 samples: 1 without a clip, 1 failed, 2 unparsed." in text
    assert "By the authors' way to extract and count answers: Ctrl 91.4." in text
    assert "Run with quantised weights (nf4)." in text and "gptq" not in text, (
        "published numbers do not come from quantised weights"
    )
    assert text.count("Failed and unparsed answers count as wrong.") == 1
    assert build(CONTROL_ROW, make_differing_row(0.0)).build().notes == ()
    assert build(CONTROL_ROW, make_differing_row(3.0), make_differing_row(4.0, 10, OTHER_RUN)).build().notes == (
        "Our extraction rules and the authors' extract another answer from at most 4 of 10 responses of a run.",
    )
    assert "unparsed" in " ".join(build().build().provenance)
    assert "unparsed" not in " ".join(build(runs=[]).build().provenance), "no convention without answers"


def test_a_note_counts_the_answers_of_judges_and_of_additional_rules(build: Build) -> None:
    def extracted_by(name: str, percentage: float, judge: str | None = None) -> dict[str, Any]:
        return make_health_row("read_by", percentage, group=f"answers: {name}", judge=judge)

    rows = [extracted_by("gpt-4", 40.0, "gpt-4"), extracted_by("points at (own row)", 10.0)]
    notes = build(CONTROL_ROW, *rows, judges={"gpt-4": "GPT-4 (0613)"}).build().notes
    assert notes[:2] == (
        "20 of 50 answers that no extraction rule parses were extracted by GPT-4 (0613).",
        "5 of 50 answers were extracted by the additional rule 'points at'.",
    )


def test_imported_answers_are_marked_and_their_problems_are_footnotes(build: Build) -> None:
    builder = build(CONTROL_ROW, imported_runs=[RUN])
    builder.problems = {RUN: Counter({"unknown id": 3, "disagrees with another answer": 1})}
    assert list_sources(builder)["OV-7B", "Ctrl"] == ("imported", 80.0)
    text = render_markdown(builder)
    assert "Problems of imported answers: unknown id (3), disagrees with another answer (1)." in text
    assert "Imported predictions, scored here." in text


JUDGED = {
    "title": "T", "caption": "Mean ratings.", "judge": "GPT-4", "metrics": ["mean"],
    "columns": [{"title": "Mean", "group": "overall"}],
    "sections": [{"protocol": "packed", "sampling": "interior8", "rows": ROWS[1:3]}],
}  # fmt: skip


def build_judged_table(build: Build, judges: dict[str, str], **changes: Any) -> TableBuilder:
    """Return a table of models, each rated by its judge in `judges`."""
    runs = {model: f"mmbench_video/packed/interior8/{model}" for model in judges}
    rows = [metric("overall", 2.0, metric="mean", run=runs[model], judge=judge) for model, judge in judges.items()]
    fields = {
        "benchmark": "mmbench_video", "spec": JUDGED, "judged_protocols": ["packed"], "judge_order": ["first", "second"],
        "judges": {"first": "First", "second": "Second"},
        "runs": [f"{runs[model]}/{judge}" for model, judge in judges.items()],
        "published_lines": ("mmbench_video,table2,QVL-7B,,overall,mean,1.0",),
    }  # fmt: skip
    return build(*rows, **fields | changes)


@pytest.mark.parametrize(
    ("judges", "caption"),
    [
        ({}, "Mean ratings. Judged by GPT-4."),
        ({"ov": "first"}, "Mean ratings. Judged by First; GPT-4 (published values)."),
        ({"ov": "first", "qvl": "first"}, "Mean ratings. Judged by First."),
        ({"ov": "first", "qvl": "second"}, "Mean ratings. Judged by First; Second."),
    ],
)
def test_a_caption_names_the_judges_whose_numbers_it_shows(build: Build, judges: dict[str, str], caption: str) -> None:
    table = build_judged_table(build, judges).build()
    assert table.caption == caption
    notes = [note for row in table.rows() for note in row.notes if note.startswith("Judged")]
    assert notes == (["Judged by First.", "Judged by Second."] if len(set(judges.values())) > 1 else [])


def test_notes_on_judges_and_unjudged_runs(build: Build) -> None:
    table = build_judged_table(build, {"ov": "second"}, quantised={"ov": "nf4", "second": "gptq"})
    assert list_sources(table)["OV-7B", "Mean"] == ("reproduced", 2.0), (
        "the ratings of the first judge in order that rated the run"
    )
    text = render_markdown(table)
    assert "Run with quantised weights (nf4)." in text and "Judged with quantised weights (gptq)." in text
    unjudged = build_judged_table(
        build, {}, unjudged_runs=[f"mmbench_video/packed/interior8/{name}" for name in "abcd"]
    )
    table = unjudged.build()
    assert "Published values instead of 4 runs that no judge has rated." in table.notes
    assert "mmbench_video/packed/interior8/c: rated by no judge" in table.provenance


def make_health_row(name: str, value: float, **changes: Any) -> dict[str, Any]:
    """Return a number of a run's health check."""
    return metric("answers", value, metric=f"health_{name}", low=None, high=None, p_chance=None, requested=50) | changes


def test_a_run_that_looks_broken_is_named_under_the_table(build: Build) -> None:
    table = build(CONTROL_ROW, make_health_row("unparsed", 40.0), make_health_row("failed", 0.0)).build()
    assert table.warnings == ("OV-7B looks broken: 40.0 % of 50 answers could not be parsed.",)
    assert f"{RUN}: 40.0 % unparsed" in table.provenance
    assert build(CONTROL_ROW, make_health_row("unparsed", 40.0), reference_models=["ov"]).build().warnings == (), (
        "a baseline gets no warning"
    )
    replies = make_health_row("failed", 40.0, group="replies", judge="gpt")
    warnings = build(CONTROL_ROW, replies, judges={"gpt": "GPT"}).build().warnings
    assert warnings == (f"{RUN}/gpt looks broken: 40.0 % of 50 replies failed.",)
    many_rows = [make_health_row("unparsed", 40.0, run=f"velociti/entail/fps1/m{index}") for index in range(10)]
    warnings = build(CONTROL_ROW, *many_rows).build().warnings
    assert len(warnings) == 9 and warnings[-1] == "2 more runs look broken: see the provenance."


# --- errors ---------------------------------------------------------------------------------------------------------


def test_too_many_missing_clips_stop_the_table(build: Build) -> None:
    """Rows with counts of answers must not reduce the share of items without a clip."""
    counts = make_differing_row(0.0, 1000), make_health_row("unparsed", 0.0, requested=10_000)
    with pytest.raises(UserError, match=f"16.7 % of the items of {RUN} have no clip, more than the 10.0 %"):
        build(metric("control", 80.0, missing=2), *counts)


def test_too_many_failed_answers_stop_the_table(build: Build) -> None:
    """This applies to answers and to a judge's replies; the message names runs, counts and reasons once."""
    counts = metric("answers", None, metric=FAILED_ANSWERS, failed=2, note="2 timeout, such as: 30 s")
    replies = counts | {"group": "replies", "judge": "j"}
    few_failures = [row | {"failed": 1} for row in (counts, replies)]
    assert "80.0" in render_markdown(build(CONTROL_ROW, *few_failures, judges={"j": "Judge"}))
    with pytest.raises(UserError) as caught:
        build(CONTROL_ROW, counts, counts, replies)
    text = str(caught.value)
    assert "the 10.0 % that failed_share_max of suite 's' allows" in text
    assert text.count(f"{RUN}: 2 of 10 answers (2 timeout, such as: 30 s)") == 1
    assert f"{RUN}/j: 2 of 10 replies" in text and "reprise why <run>" in text


def test_a_bad_published_value_is_named_by_line(tmp_path: Path) -> None:
    line_start = "velociti,table2,X,,control,strict,"
    with pytest.raises(UserError, match="velociti.csv: line 2: value '43.1%' is not a number"):
        published(tmp_path, f"{line_start}43.1%")
    with pytest.raises(UserError, match="velociti.csv: line 3: table2 has"):
        published(tmp_path, f"{line_start}1", f"{line_start}2")


# --- frames, columns that are runs, groups compared with all ---------------------------------------------------------

OV = {"label": "OV", "model": "ov", "protocol": "paper", "sampling": "linspace1", "frames": "1"}


def build_vinoground_table(
    build: Build, spec: dict[str, Any], *rows: dict[str, Any], published_lines: tuple[str, ...] = (), **changes: Any
) -> TableBuilder:
    rows = tuple(row | {"run": "vinoground/paper/linspace1/ov", "requested": 100} for row in rows)
    fields = {"benchmark": "vinoground", "table": "table5", "runs": ["vinoground/paper/linspace1/ov"]}
    return build(
        *rows, spec={"title": "T", "caption": "C."} | spec, published_lines=published_lines, **fields, **changes
    )


def test_frame_counts_distinguish_rows_and_significant_numbers_can_be_bold(build: Build) -> None:
    spec = {
        "significance": True, "bold": "significant", "stub": "Name",
        "columns": [{"title": "# Fr", "shows": "frames"}, {"title": "Text", "metrics": ["text"], "group": "all"}],
        "sections": [{"rows": [{"label": "Random", "chance": True}, OV, {"label": "OV", "frames": "32"}]}],
    }  # fmt: skip
    published_lines = ("vinoground,table5,OV,1,all,text,25.8", "vinoground,table5,OV,32,all,text,42.0")
    text = render_markdown(
        build_vinoground_table(
            build, spec, metric("all", 99.0, metric="text", p_chance=0.0), published_lines=published_lines
        )
    )
    assert "| Name" in text and "|    – |" in text
    assert "**<ins>99.0</ins>** (25.8, +73.2)" in text and "*42.0*" in text
    assert [line.split("|")[2].strip() for line in text.splitlines() if line.startswith("| OV")] == ["1", "32"]


@pytest.mark.parametrize(("frame_count", "is_greyed"), [(0, False), (2, True), (3, False)])
def test_scores_of_too_few_frames_are_grey_and_never_the_best(build: Build, frame_count: int, is_greyed: bool) -> None:
    """Vinoground greys scores of 1 and 2 frames, which cannot show both videos and the black; 0 frames stay black."""
    columns = [{"title": name, "metrics": [name], "group": "all"} for name in ("text", "video")]
    sections = [{"rows": [OV, OV | {"label": "Theirs", "model": "other"}]}]
    spec = {"columns": columns, "sections": sections, "significance": True, "bold": "significant"}
    rows = [metric("all", 60.0, metric=name, p_chance=0.0) for name in ("text", "video")]
    published_lines = tuple(f"vinoground,table5,Theirs,1,all,{name},25.2" for name in ("text", "video"))
    fields = {"frames": {"linspace1": frame_count}, "frames_min": {"paper": {"video": 3}}}
    table = build_vinoground_table(build, spec, *rows, published_lines=published_lines, **fields).build()
    measured_numbers, published_numbers = [collect_numbers(row) for row in table.rows()]
    assert [(number.value, number.is_greyed) for number in published_numbers] == [(25.2, False), (25.2, is_greyed)]
    marks = [(number.is_greyed, number.is_best, number.is_significant) for number in measured_numbers]
    assert marks == [(False, True, True), (is_greyed, not is_greyed, not is_greyed)]


def test_a_column_can_be_a_run_and_its_groups_are_compared_with_all_items(build: Build) -> None:
    columns = [
        {"title": "text", "span": "OV", "metrics": ["text"], "published": {"group": "ov"}},
        {"title": "text", "span": "GPT", "metrics": ["text"], "published": {"group": "gpt"}},
    ]
    columns[0] |= {name: OV[name] for name in ("model", "protocol", "sampling")}
    values = {"all": 50.0, "object": 70.0, "action": 40.0, "spatial": 45.0}
    sections = [{"rows": [{"label": group, "group": group} for group in values]}]
    spec = {"compared_with": "all", "best": False, "columns": columns, "sections": sections}
    rows = [metric(group, value, metric="text", low=value - 8, high=value + 8) for group, value in values.items()]
    published_lines = ("vinoground,table5,all,,ov,text,51.0", "vinoground,table5,object,,gpt,text,52.5")
    builder = build_vinoground_table(build, spec, *rows, published_lines=published_lines)
    cells = parse_cells(builder)
    assert cells["all"] == ["50.0 (51.0, −1.0)", "–"]
    assert cells["object"][0] == "70.0<sup>a</sup>" and "52.5" in cells["object"][1]
    assert cells["action"][0] == "40.0<sup>b</sup>" and cells["spatial"][0] == "45.0"
    text = render_markdown(builder)
    assert "Significantly above the same model's score over 'all' (two-sided" in text and "Significantly below" in text

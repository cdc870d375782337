"""Tables: where each cell comes from, what footnotes say, and what stops a table."""

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

RUN, OTHER = "velociti/entail/fps1/ov", "velociti/entail/fps1/qvl"
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
PRINTED = (
    "velociti,table2,OV-7B,,control,strict,81.6",
    "velociti,table2,QVL-7B,,control,strict,84.6",
    "velociti,table2,GPT-4o [subset],,control,strict,63.3",
    "velociti,table3,OV-7B,,control,strict,1.0",
)
Build = Callable[..., TableBuilder]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    def builder(*rows: dict[str, Any], printed: tuple[str, ...] = PRINTED, **changes: Any) -> TableBuilder:
        key = table_key(SPEC) | {"runs": [RUN]} | changes
        values = published(tmp_path, *printed, table=str(key["table"]))
        return TableBuilder(TableKey.model_validate(key), pl.DataFrame(rows, schema=METRICS), values)

    return builder


def metric(group: str, value: float | None, metric: str = "strict", run: str = RUN, **changes: Any) -> dict[str, Any]:
    return metric_row(run, metric, group, value, **{"low": 1.0, "high": 99.0} | changes)


CTRL = metric("control", 80.0)
NOTHING = {"low": None, "high": None, "requested": 0, "scored": 0}


def authors(row: dict[str, Any], value: float) -> dict[str, Any]:
    return row | {"convention": "authors", "extractor": "authors", "value": value}


def markdown(made: TableBuilder) -> str:
    return render(made.build(), "md")


def cells_of(made: TableBuilder) -> dict[str, list[str]]:
    """Label -> cells of the rows of a table."""
    lines = [line.strip("|").split("|") for line in markdown(made).splitlines() if line.startswith("| ")]
    return {label.strip(): [cell.strip() for cell in cells] for label, *cells in lines}


def sources(made: TableBuilder) -> dict[tuple[str, str], tuple[str, float]]:
    made.build()
    rows = [row for row in made.tidy_rows if row.get("convention") != "authors"]
    return {(row["row"], row["column"]): (row["source"], row["value"]) for row in rows}


def test_a_cell_is_measured_else_chance_else_published_else_a_dash(build: Build) -> None:
    rows = metric("control", 80.04), metric("average", 32.0)
    made = build(*rows)
    assert sources(made) == {
        ("Random", "Ctrl"): ("chance", 25.0),
        ("Random", "Avg"): ("chance", 25.0),
        ("OV-7B", "Ctrl"): ("reproduced", 80.04),
        ("OV-7B", "Avg"): ("reproduced", 32.0),
        ("QVL-7B", "Ctrl"): ("published", 84.6),
        ("GPT-4o", "Ctrl"): ("published", 63.3),
    }
    found = cells_of(made)
    assert found["OV-7B"][0] == "<ins>80.0</ins> (81.6, −1.6)", "the difference; a published one is better"
    assert found["Nobody"] == ["–", "–"]
    assert {source for source, _ in sources(build(*rows, show_published=False)).values()} == {"chance", "reproduced"}


def test_a_published_number_stays_if_a_run_has_no_requests(build: Build) -> None:
    """Control is not in VELOCITI's subset: a run of the subset has no number of it, but the paper prints one."""
    made = build(metric("control", None, **NOTHING), metric("average", 32.0))
    assert sources(made)["OV-7B", "Ctrl"] == ("published", 81.6)
    assert "*81.6*" in markdown(made).replace("<ins>", "").replace("</ins>", "")
    nobody = [{"label": "OV-7B", "model": "ov", "protocol": "entail", "sampling": "fps1", "published": "none"}]
    none = build(metric("control", None, **NOTHING), spec=SPEC | {"sections": [{"rows": nobody}]})
    assert cells_of(none)["OV-7B"][0] == "–", "a metric of nothing is never zero"


def test_numbers_lost_in_the_papers_text_are_marked(build: Build) -> None:
    lost = "Not run; the paper's number is lost in its extracted text."
    assert lost in markdown(build(runs=[], spec=SPEC | {"is_damaged": True})) and lost not in markdown(build(runs=[]))


def test_a_reference_competes_with_no_row_for_the_best(build: Build) -> None:
    rows = (metric("control", 99.0), CTRL | {"run": OTHER})
    for references, best in (((), "**99.0**"), (("ov",), "**80.0**")):
        assert best in markdown(build(*rows, runs=[RUN, OTHER], reference_models=references)), references


def test_counts_of_the_data_are_beside_the_papers_without_any_run(build: Build) -> None:
    counted = [{"rows": [{"label": "OV-7B", "group": "control", "dataset": True}]}]
    spec = SPEC | {"best": False, "columns": [{"title": "N"}], "sections": counted}
    assert "80.0 (81.6, −1.6)" in markdown(build(CTRL | {"run": "velociti/data"}, runs=[], spec=spec))


# --- what stands below ----------------------------------------------------------------------------------------------


def differ(value: float, asked: int = 20, run: str = RUN) -> dict[str, Any]:
    """Number of answers on which the extractors differ."""
    return metric("answers", value, metric=EXTRACTORS_DIFFER, requested=asked, run=run)


def test_notes_of_a_row_and_of_the_table(build: Build) -> None:
    row = metric("control", 80.0, failed=1, unparsed=2, missing=1)
    made = build(row, authors(row, 91.4), quantised={"ov": "nf4", "qvl": "gptq"})
    text = markdown(made)
    assert [(one["convention"], one["extractor"], one["key"]) for one in made.tidy_rows if one["source"] == "reproduced"] == [
        ("fixed", "robust", "f" * 64), ("authors", "authors", "f" * 64),
    ], "both conventions are in the tidy rows"  # fmt: skip
    assert "Of up to 11 samples: 1 without a clip, 1 failed, 2 unparsed." in text
    assert "By the authors' convention and extractor: Ctrl 91.4." in text
    assert "Run with quantised weights (nf4)." in text and "gptq" not in text, "published numbers are not of these"
    assert text.count("Failed and unparsed answers count as wrong.") == 1
    assert build(CTRL, differ(0.0)).build().notes == ()
    assert build(CTRL, differ(3.0), differ(4.0, 10, OTHER)).build().notes == (
        "The extractors robust and authors differ on at most 4 of 10 answers of a run.",
    )
    assert "unparsed" in " ".join(build().build().provenance)
    assert "unparsed" not in " ".join(build(runs=[]).build().provenance), "no convention without answers"


def test_imported_answers_are_marked_and_their_problems_are_footnotes(build: Build) -> None:
    made = build(CTRL, imported_runs=[RUN])
    made.problems = {RUN: Counter({"unknown id": 3, "disagrees with another answer": 1})}
    assert sources(made)["OV-7B", "Ctrl"] == ("imported", 80.0)
    text = markdown(made)
    assert "Problems of imported answers: 3 unknown id, 1 disagrees with another answer." in text
    assert "Imported predictions, scored here." in text


JUDGED = {
    "title": "T", "caption": "Mean ratings.", "judge": "GPT-4", "metrics": ["mean"],
    "columns": [{"title": "Mean", "group": "overall"}],
    "sections": [{"protocol": "packed", "sampling": "interior8", "rows": ROWS[1:3]}],
}  # fmt: skip


def judged(build: Build, judges: dict[str, str], **changes: Any) -> TableBuilder:
    """A table of two models, each rated by the judge named."""
    runs = {model: f"mmbench_video/packed/interior8/{model}" for model in judges}
    rows = [metric("overall", 2.0, metric="mean", run=runs[model], judge=judge) for model, judge in judges.items()]
    known = {
        "benchmark": "mmbench_video", "spec": JUDGED, "judged_protocols": ["packed"], "judge_order": ["first", "second"],
        "judges": {"first": "First", "second": "Second"},
        "runs": [f"{runs[model]}/{judge}" for model, judge in judges.items()],
        "printed": ("mmbench_video,table2,QVL-7B,,overall,mean,1.0",),
    }  # fmt: skip
    return build(*rows, **known | changes)


@pytest.mark.parametrize(
    ("judges", "caption"),
    [
        ({}, "Mean ratings. Judged by GPT-4."),
        ({"ov": "first"}, "Mean ratings. Judged by First (first); GPT-4 (published values)."),
        ({"ov": "first", "qvl": "first"}, "Mean ratings. Judged by First (first)."),
        ({"ov": "first", "qvl": "second"}, "Mean ratings. Judged by First (first); Second (second)."),
    ],
)
def test_a_caption_names_the_judges_whose_numbers_it_shows(build: Build, judges: dict[str, str], caption: str) -> None:
    table = judged(build, judges).build()
    assert table.caption == caption
    notes = [note for row in table.rows() for note in row.notes if note.startswith("Judged")]
    assert notes == (["Judged by First.", "Judged by Second."] if len(set(judges.values())) > 1 else [])


def test_notes_on_judges_and_unjudged_runs(build: Build) -> None:
    table = judged(build, {"ov": "second"}, quantised={"ov": "nf4", "second": "gptq"})
    assert sources(table)["OV-7B", "Mean"] == ("reproduced", 2.0), "the ratings of the first judge who rated it"
    text = markdown(table)
    assert "Run with quantised weights (nf4)." in text and "Judged with quantised weights (gptq)." in text
    unjudged = judged(build, {}, unjudged_runs=[f"mmbench_video/packed/interior8/{name}" for name in "abcd"])
    note = "Published values instead of 4 runs that no judge has rated:"
    assert note in markdown(unjudged) and "interior8/c, ..." in markdown(unjudged)


def looks(name: str, value: float, **changes: Any) -> dict[str, Any]:
    """A number of a run's health."""
    return metric("answers", value, metric=f"health_{name}", low=None, high=None, p_chance=None, requested=50) | changes


def test_a_run_that_looks_broken_is_named_under_the_table(build: Build) -> None:
    table = build(CTRL, looks("unparsed", 40.0), looks("failed", 0.0)).build()
    assert table.warnings == (f"{RUN} looks broken: 40.0 % of 50 answers could not be parsed.",)
    assert f"{RUN}: 40.0 % unparsed" in table.provenance
    assert build(CTRL, looks("unparsed", 40.0), reference_models=["ov"]).build().warnings == (), (
        "a baseline is as it is"
    )
    replies = looks("failed", 40.0, group="replies", judge="gpt")
    warnings = build(CTRL, replies, judges={"gpt": "GPT"}).build().warnings
    assert warnings == (f"{RUN}/gpt looks broken: 40.0 % of 50 replies failed.",)
    many = [looks("unparsed", 40.0, run=f"velociti/entail/fps1/m{index}") for index in range(10)]
    warnings = build(CTRL, *many).build().warnings
    assert len(warnings) == 9 and warnings[-1] == "2 more runs look broken: see the provenance."


# --- what stops a table ---------------------------------------------------------------------------------------------


def test_too_many_missing_clips_stop_the_table(build: Build) -> None:
    """Counts of answers must not thin out the share of items without a clip."""
    counts = differ(0.0, 1000), looks("unparsed", 0.0, requested=10_000)
    with pytest.raises(UserError, match=f"16.7 % of the items of {RUN} have no clip, more than the 10.0 %"):
        build(metric("control", 80.0, missing=2), *counts)


def test_too_many_failed_answers_stop_the_table(build: Build) -> None:
    """Of the answers, and of a judge's replies: the message names runs, counts and reasons once."""
    counts = metric("answers", None, metric=FAILED_ANSWERS, failed=2, note="2 timeout, such as: 30 s")
    replies = counts | {"group": "replies", "judge": "j"}
    few = [one | {"failed": 1} for one in (counts, replies)]
    assert "80.0" in markdown(build(CTRL, *few, judges={"j": "Judge"}))
    with pytest.raises(UserError) as stopped:
        build(CTRL, counts, counts, replies)
    text = str(stopped.value)
    assert "the 10.0 % that failed_share_max of suite 's' allows" in text
    assert text.count(f"{RUN}: 2 of 10 answers (2 timeout, such as: 30 s)") == 1
    assert f"{RUN}/j: 2 of 10 replies" in text and "python -m reprise why <run>" in text


def test_a_bad_published_value_is_named_by_line(tmp_path: Path) -> None:
    place = "velociti,table2,X,,control,strict,"
    with pytest.raises(UserError, match="velociti.csv: line 2: value '43.1%' is not a number"):
        published(tmp_path, f"{place}43.1%")
    with pytest.raises(UserError, match="velociti.csv: line 3: table2 has"):
        published(tmp_path, f"{place}1", f"{place}2")


# --- frames, columns that are runs, groups against the whole -------------------------------------------------------

OV = {"label": "OV", "model": "ov", "protocol": "paper", "sampling": "linspace1", "frames": "1"}


def vinoground(
    build: Build, spec: dict[str, Any], *rows: dict[str, Any], printed: tuple[str, ...] = (), **changes: Any
) -> TableBuilder:
    rows = tuple(row | {"run": "vinoground/paper/linspace1/ov", "requested": 100} for row in rows)
    known = {"benchmark": "vinoground", "table": "table5", "runs": ["vinoground/paper/linspace1/ov"]}
    return build(*rows, spec={"title": "T", "caption": "C."} | spec, printed=printed, **known, **changes)


def test_numbers_of_frames_distinguish_rows_and_significance_can_be_bold(build: Build) -> None:
    spec = {
        "significance": True, "bold": "significant", "stub": "Name",
        "columns": [{"title": "# Fr", "shows": "frames"}, {"title": "Text", "metrics": ["text"], "group": "all"}],
        "sections": [{"rows": [{"label": "Random", "chance": True}, OV, {"label": "OV", "frames": "32"}]}],
    }  # fmt: skip
    printed = ("vinoground,table5,OV,1,all,text,25.8", "vinoground,table5,OV,32,all,text,42.0")
    text = markdown(vinoground(build, spec, metric("all", 99.0, metric="text", p_chance=0.0), printed=printed))
    assert "| Name" in text and "|    – |" in text
    assert "**<ins>99.0</ins>** (25.8, +73.2)" in text and "*42.0*" in text
    assert [line.split("|")[2].strip() for line in text.splitlines() if line.startswith("| OV")] == ["1", "32"]


@pytest.mark.parametrize(("frames", "greyed"), [(0, False), (2, True), (3, False)])
def test_scores_of_too_few_frames_are_grey_and_compete_with_none(build: Build, frames: int, greyed: bool) -> None:
    """Vinoground greys 1 and 2 frames, which cannot show both videos and the black between, and uses 0 frames."""
    columns = [{"title": name, "metrics": [name], "group": "all"} for name in ("text", "video")]
    sections = [{"rows": [OV, OV | {"label": "Theirs", "model": "other"}]}]
    spec = {"columns": columns, "sections": sections, "significance": True, "bold": "significant"}
    found = [metric("all", 60.0, metric=name, p_chance=0.0) for name in ("text", "video")]
    published = tuple(f"vinoground,table5,Theirs,1,all,{name},25.2" for name in ("text", "video"))
    known = {"frames": {"linspace1": frames}, "frames_min": {"paper": {"video": 3}}}
    table = vinoground(build, spec, *found, printed=published, **known).build()
    ours, theirs = [collect_numbers(row) for row in table.rows()]
    assert [(one.value, one.is_greyed) for one in theirs] == [(25.2, False), (25.2, greyed)]
    shown = [(one.is_greyed, one.is_best, one.is_significant) for one in ours]
    assert shown == [(False, True, True), (greyed, not greyed, not greyed)]


def test_a_column_can_be_a_run_and_its_groups_are_compared_with_the_whole(build: Build) -> None:
    columns = [
        {"title": "text", "span": "OV", "metrics": ["text"], "published": {"group": "ov"}},
        {"title": "text", "span": "GPT", "metrics": ["text"], "published": {"group": "gpt"}},
    ]
    columns[0] |= {name: OV[name] for name in ("model", "protocol", "sampling")}
    values = {"all": 50.0, "object": 70.0, "action": 40.0, "spatial": 45.0}
    sections = [{"rows": [{"label": group, "group": group} for group in values]}]
    spec = {"compared_with": "all", "best": False, "columns": columns, "sections": sections}
    rows = [metric(group, value, metric="text") for group, value in values.items()]
    printed = ("vinoground,table5,all,,ov,text,51.0", "vinoground,table5,object,,gpt,text,52.5")
    made = vinoground(build, spec, *rows, printed=printed)
    cells = cells_of(made)
    assert cells["all"] == ["50.0 (51.0, −1.0)", "–"]
    assert cells["object"][0] == "70.0<sup>a</sup>" and "52.5" in cells["object"][1]
    assert cells["action"][0] == "40.0<sup>b</sup>" and cells["spatial"][0] == "45.0"
    text = markdown(made)
    assert "Significantly above the same model's score over group 'all'" in text and "Significantly below" in text

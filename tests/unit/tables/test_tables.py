"""Tables: where each cell comes from, what footnotes say, and what stops a table."""

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from reprise.config.tables import Row, TableSpec
from reprise.core.errors import UserError
from reprise.core.schemas import FAILED_ANSWERS, METRICS, READERS_DIFFER
from reprise.tables.build import Builder
from reprise.tables.headers import stub_of
from reprise.tables.keys import TableKey
from reprise.tables.published import COLUMNS, Published
from reprise.tables.render import FORMATS, render

SPEC = {
    "title": "Strict",
    "caption": "Strict entailment.",
    "metrics": ["strict"],
    "columns": [{"title": "Ctrl", "group": "control"}, {"title": "Avg", "group": "average"}],
    "sections": [
        {
            "title": "All",
            "protocol": "entail",
            "sampling": "fps1",
            "rows": [
                {"label": "Random", "chance": True},
                {"label": "OV-7B", "model": "ov"},
                {"label": "QVL-7B", "model": "qvl"},
                {"label": "GPT-4o", "published": "GPT-4o [subset]"},
                {"label": "Nobody"},
            ],
        }
    ],
}

OV_ROW: Row = TableSpec.model_validate(SPEC).rows()[1]


def published(folder: Path, *lines: str) -> Published:
    path = folder / "velociti.csv"
    path.write_text("\n".join([",".join(COLUMNS), *lines]) + "\n")
    return Published(path, "table2")


def metric(group: str, value: float | None, **changes: Any) -> dict[str, Any]:
    row = {
        "run": "velociti/entail/fps1/ov", "judge": None, "metric": "strict", "group": group, "value": value, "low": 1.0, "high": 99.0, "p_chance": 0.5,
        "asked": 10, "scored": 10, "failed": 0, "unparsed": 0, "missing": 0, "convention": "fixed", "reader": "robust",
        "key": "f" * 64,
    }  # fmt: skip
    return row | changes


def builder(folder: Path, rows: list[dict[str, Any]], **changes: Any) -> Builder:
    key = {
        "benchmark": "velociti", "benchmark_title": "VELOCITI", "paper": "P", "table": "table2", "suite": "s",
        "suite_title": "S", "notice": "", "missing_share_max": 0.1, "failed_share_max": 0.1, "show_published": True,
        "runs": ["velociti/entail/fps1/ov"], "spec": SPEC, "forms": {},
    }  # fmt: skip
    values = published(
        folder,
        "velociti,table2,OV-7B,,control,strict,81.6",
        "velociti,table2,QVL-7B,,control,strict,84.6",
        "velociti,table2,GPT-4o [subset],,control,strict,63.3",
        "velociti,table3,OV-7B,,control,strict,1.0",
    )
    return Builder(TableKey.model_validate(key | changes), pl.DataFrame(rows, schema=METRICS), values)


def authors(row: dict[str, Any], value: float) -> dict[str, Any]:
    return row | {"convention": "authors", "reader": "authors", "value": value}


def sources(made: Builder) -> dict[tuple[str, str], tuple[str, float]]:
    made.table()
    return {
        (row["row"], row["column"]): (row["source"], row["value"])
        for row in made.tidy
        if row.get("convention") != "authors"
    }


def test_a_cell_is_measured_else_chance_else_published_else_a_dash(tmp_path: Path) -> None:
    made = builder(tmp_path, [metric("control", 80.04), metric("average", 32.0)])
    assert sources(made) == {
        ("Random", "Ctrl"): ("chance", 25.0),
        ("Random", "Avg"): ("chance", 25.0),
        ("OV-7B", "Ctrl"): ("reproduced", 80.04),
        ("OV-7B", "Avg"): ("reproduced", 32.0),
        ("QVL-7B", "Ctrl"): ("published", 84.6),
        ("GPT-4o", "Ctrl"): ("published", 63.3),
    }
    text = render(made.table(), "md")
    assert "<ins>80.0</ins> (81.6, −1.6)" in text, "reproduced, published and the difference; a published one is better"
    assert "| Nobody" in text and "–" in text


def test_a_demo_row_never_takes_a_published_value(tmp_path: Path) -> None:
    made = builder(tmp_path, [metric("control", 80.0)], show_published=False)
    assert {source for source, _ in sources(made).values()} == {"chance", "reproduced"}


def test_a_row_with_quantised_weights_says_so(tmp_path: Path) -> None:
    rows = [metric("control", 80.0), metric("average", 32.0)]
    made = builder(tmp_path, rows, quantised={"ov": "nf4", "qvl": "gptq"})
    _, ours, published, *_ = made.table().rows()
    assert ours.notes == ("Asked with quantised weights (nf4).",)
    assert published.notes == (), "the paper's number is not of these weights"


def test_how_often_the_readers_differ_stands_below_once(tmp_path: Path) -> None:
    one = metric("answers", 3.0, metric=READERS_DIFFER, asked=20)
    more = one | {"run": "velociti/entail/fps1/qvl", "value": 4.0, "asked": 10}
    assert builder(tmp_path, [metric("control", 80.0), one, more]).table().notes == (
        "The readers robust and authors differ on at most 4 of 10 answers of a run.",
    )
    none = one | {"value": 0.0}
    assert builder(tmp_path, [metric("control", 80.0), none]).table().notes == ()


def test_answers_without_a_clip_are_not_thinned_out_by_a_count_of_answers(tmp_path: Path) -> None:
    few = metric("control", 80.0, missing=2)
    with pytest.raises(UserError, match="16.7 % of the items"):
        builder(tmp_path, [few, metric("answers", 0.0, metric=READERS_DIFFER, asked=1000)])


def test_what_failed_and_where_the_authors_differ_stands_below(tmp_path: Path) -> None:
    row = metric("control", 80.0, failed=1, unparsed=2, missing=1)
    text = render(builder(tmp_path, [row, authors(row, 91.4)]).table(), "md")
    assert "1 without a clip, 1 failed, 2 not readable" in text
    assert "By the authors' convention and reader: Ctrl 91.4" in text


def test_a_published_number_stays_where_a_run_was_not_asked(tmp_path: Path) -> None:
    """Control is not in VELOCITI's subset: a run of the subset has no number of it, but the paper prints one."""
    nothing = metric("control", None, low=None, high=None, asked=0, scored=0)
    made = builder(tmp_path, [nothing, metric("average", 32.0)])
    assert sources(made)["OV-7B", "Ctrl"] == ("published", 81.6)
    assert "*81.6*" in render(made.table(), "md").replace("<ins>", "").replace("</ins>", "")


def test_what_is_lost_in_the_papers_text_says_so(tmp_path: Path) -> None:
    text = render(builder(tmp_path, [], runs=[], spec=SPEC | {"is_damaged": True}).table(), "md")
    assert "Not run; the paper's number is lost in its extracted text." in text and "Not run.\n" not in text
    assert "lost" not in render(builder(tmp_path, [], runs=[]).table(), "md")
    demo = builder(tmp_path, [], runs=[], spec=SPEC | {"is_damaged": True}, show_published=False)
    assert "lost" not in render(demo.table(), "md"), "where no published values are shown, none can be lost"


def test_a_reference_is_what_its_models_file_calls_one(tmp_path: Path) -> None:
    rows = [metric("control", 99.0), metric("control", 80.0, run="velociti/entail/fps1/qvl")]
    runs = ["velociti/entail/fps1/ov", "velociti/entail/fps1/qvl"]
    for references, best in (((), "**99.0**"), (("ov",), "**80.0**")):
        text = render(builder(tmp_path, rows, runs=runs, references=references).table(), "md")
        assert best in text, references


def test_counts_of_the_data_stand_beside_the_papers(tmp_path: Path) -> None:
    """Without any run, too."""
    rows = [{"rows": [{"label": "OV-7B", "group": "control", "dataset": True}]}]
    spec = SPEC | {"best": False, "columns": [{"title": "N"}], "sections": rows}
    found = metric("control", 80.0, run="velociti/data")
    assert "80.0 (81.6, −1.6)" in render(builder(tmp_path, [found], runs=[], spec=spec).table(), "md")


JUDGED = {
    "title": "T", "caption": "Mean ratings.", "judge": "GPT-4", "metrics": ["mean"],
    "columns": [{"title": "Mean", "group": "overall"}],
    "sections": [{"protocol": "packed", "sampling": "interior8", "rows": [{"label": "OV-7B", "model": "ov"}, {"label": "QVL-7B", "model": "qvl"}]}],
}  # fmt: skip


def judged_builder(folder: Path, judges: dict[str, str], **changes: Any) -> Builder:
    """A table of two models, each rated by the judge named."""
    runs = {model: f"mmbench_video/packed/interior8/{model}" for model in judges}
    rows = [
        metric("overall", 2.0, metric="mean", run=runs[model], judge=judge or None)
        for model, judge in judges.items()
        if judge
    ]
    known = {
        "benchmark": "mmbench_video", "spec": JUDGED, "judged": ["packed"], "judge_order": ["first", "second"],
        "judges": {"first": "First", "second": "Second"},
        "runs": [f"{runs[model]}/{judge}" for model, judge in judges.items() if judge],
    }  # fmt: skip
    made = builder(folder, rows, **known | changes)
    path = folder / "mmbench_video.csv"
    path.write_text("\n".join([",".join(COLUMNS), "mmbench_video,table2,QVL-7B,,overall,mean,1.0"]) + "\n")
    made.published = Published(path, "table2")
    return made


@pytest.mark.parametrize(
    ("judges", "caption"),
    [
        ({}, "Mean ratings. Judged by GPT-4."),
        ({"ov": "first"}, "Mean ratings. Judged by First (first); GPT-4 (published values)."),
        ({"ov": "first", "qvl": "first"}, "Mean ratings. Judged by First (first)."),
        ({"ov": "first", "qvl": "second"}, "Mean ratings. Judged by First (first); Second (second)."),
    ],
)
def test_a_caption_names_the_judges_whose_numbers_it_shows(
    tmp_path: Path, judges: dict[str, str], caption: str
) -> None:
    table = judged_builder(tmp_path, judges).table()
    assert table.caption == caption
    notes = [note for row in table.rows() for note in row.notes if note.startswith("Judged")]
    assert notes == (["Judged by First.", "Judged by Second."] if len(set(judges.values())) > 1 else [])


def test_a_row_that_a_quantised_judge_rated_says_so(tmp_path: Path) -> None:
    table = judged_builder(tmp_path, {"ov": "first"}, quantised={"ov": "nf4", "first": "gptq"}).table()
    assert ("Asked with quantised weights (nf4).", "Judged with quantised weights (gptq).") in [
        row.notes for row in table.rows()
    ]


def test_a_run_shows_the_ratings_of_the_first_judge_who_rated_it(tmp_path: Path) -> None:
    made = judged_builder(tmp_path, {"ov": "second"})
    assert sources(made)["OV-7B", "Mean"] == ("reproduced", 2.0)


def test_answers_that_nobody_has_rated_are_said(tmp_path: Path) -> None:
    made = judged_builder(tmp_path, {}, unjudged=[f"mmbench_video/packed/interior8/{name}" for name in "abcd"])
    text = render(made.table(), "md")
    assert "No judge has rated 4 of the runs that could be shown, so that published values stand there:" in text
    assert "interior8/c, ..." in text


def test_imported_answers_are_marked_and_their_problems_stand_below(tmp_path: Path) -> None:
    run = "velociti/entail/fps1/ov"
    made = builder(tmp_path, [metric("control", 80.0)], imported=[run])
    made.problems = {run: Counter({"unknown id": 3, "disagrees with another answer": 1})}
    assert sources(made)["OV-7B", "Ctrl"] == ("imported", 80.0)
    text = render(made.table(), "md")
    assert "Problems of imported answers: 3 unknown id, 1 disagrees with another answer." in text
    assert "Scored here from answers made elsewhere." in text


def test_both_conventions_are_in_the_tidy_rows(tmp_path: Path) -> None:
    row = metric("control", 80.0)
    made = builder(tmp_path, [row, authors(row, 80.0)])
    made.table()
    found = [(r["convention"], r["reader"], r["key"]) for r in made.tidy if r["source"] == "reproduced"]
    assert found == [("fixed", "robust", "f" * 64), ("authors", "authors", "f" * 64)]


def test_too_many_missing_clips_stop_the_table(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match="16.7 % of the items of velociti/entail/fps1/ov have no clip, more than the 10.0 %"
    ):
        builder(tmp_path, [metric("control", 80.0, missing=2)])


@pytest.mark.parametrize(("failed", "is_stopped"), [(2, True), (1, False)])
def test_too_many_failed_answers_stop_the_table(failed: int, is_stopped: bool, tmp_path: Path) -> None:
    """Of the answers, and of a judge's replies: the message names runs, counts and reasons once."""
    counts = metric("answers", None, metric=FAILED_ANSWERS, asked=10, failed=failed, note="2 timeout, such as: 30 s")
    replies = counts | {"group": "replies", "judge": "j"}
    rows = [metric("control", 80.0), counts, counts, replies]
    if not is_stopped:
        assert "80.0" in render(builder(tmp_path, rows, judges={"j": "Judge"}).table(), "md")
        return
    with pytest.raises(UserError) as stopped:
        builder(tmp_path, rows)
    text = str(stopped.value)
    assert "the 10.0 % that failed_share_max of suite 's' allows" in text
    assert text.count("velociti/entail/fps1/ov: 2 of 10 answers (2 timeout, such as: 30 s)") == 1
    assert "velociti/entail/fps1/ov/j: 2 of 10 replies" in text and "python -m reprise why <run>" in text


def test_a_metric_of_nothing_is_a_dash_and_never_zero(tmp_path: Path) -> None:
    made = builder(tmp_path, [metric("control", None, low=None, high=None, asked=0, scored=0)])
    assert "0.0" not in render(made.table(), "md").split("\n\n")[2]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("velociti,table2,X,,control,strict,43.1%", "line 2: value '43.1%' is not a number"),
        ("velociti,table2,X,,control,strict,", "line 2: value '' is not a number"),
        ("velociti,table2,X,,control,strict,nan", "line 2: value 'nan' is not finite"),
        ("velociti,table2,X,,control,strict,1\nvelociti,table2,X,,control,strict,2", "line 3: table2 has"),
    ],
)
def test_a_bad_published_value_is_named_by_line(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        published(tmp_path, line)
    assert "velociti.csv" in str(error.value) and message in str(error.value)


def test_published_files_need_their_columns_and_must_exist(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n")
    with pytest.raises(UserError, match="found columns"):
        Published(tmp_path / "x.csv", "table2")
    with pytest.raises(UserError, match="no such file"):
        Published(tmp_path / "y.csv", "table2")


def test_numbers_by_the_authors_convention_are_listed_where_they_are_few(tmp_path: Path) -> None:
    rows = [one for name in ("control", "average") for one in (metric(name, 80.0), authors(metric(name, 80.0), 91.4))]
    assert builder(tmp_path, rows).row_notes(OV_ROW) == ("By the authors' convention and reader: Ctrl 91.4, Avg 91.4.",)


def test_many_numbers_by_the_authors_convention_are_left_to_the_csv(tmp_path: Path) -> None:
    """Many in a row, or in many rows, which then share a footnote."""
    note = "By the authors' convention and reader the row has other numbers: see the csv."
    wide = [{"title": name, "group": name} for name in "abcd"]
    tall = [{"label": f"{index}", "model": "ov"} for index in range(4)]
    rows = [one for name in "abcd" for one in (metric(name, 1.0), authors(metric(name, 1.0), 2.0))]
    for columns, labelled in ((wide, tall[:1]), (wide[:1], tall)):
        section = {"protocol": "entail", "sampling": "fps1", "rows": labelled}
        table = builder(tmp_path, rows, spec=SPEC | {"columns": columns, "sections": [section]}).table()
        assert [row.notes for row in table.rows()] == [(note,)] * len(labelled)


def test_what_becomes_of_failed_answers_stands_below_once(tmp_path: Path) -> None:
    failed = builder(tmp_path, [metric("control", 80.0, failed=1)]).table()
    assert [note for note in failed.notes if "counts as wrong" in note] == [
        "What failed or could not be read counts as wrong."
    ]
    assert builder(tmp_path, [metric("control", 80.0)]).table().notes == ()


@pytest.mark.parametrize(
    ("rows", "stub"),
    [
        ([{"label": "a", "dataset": True}], "Data set"),
        ([{"label": "a", "judges": ["b"]}], "Judge"),
        ([{"label": "a", "model": "b"}, {"label": "c", "dataset": True}], "Model"),
    ],
)
def test_the_stub_says_what_rows_are(rows: list[dict[str, Any]], stub: str) -> None:
    assert stub_of([Row.model_validate(row) for row in rows]) == stub


def test_a_table_without_answers_says_nothing_of_failed_ones(tmp_path: Path) -> None:
    assert "failed" in " ".join(builder(tmp_path, []).table().provenance)
    assert "failed" not in " ".join(builder(tmp_path, [], runs=[]).table().provenance)


# --- frames, columns that are runs, groups against the whole -------------------------------------------------------


def vinoground_builder(
    folder: Path, spec: dict[str, Any], rows: list[dict[str, Any]], *lines: str, **changes: Any
) -> Builder:
    path = folder / "vinoground.csv"
    path.write_text("\n".join([",".join(COLUMNS), *lines]) + "\n")
    key = {
        "benchmark": "vinoground", "benchmark_title": "Vinoground", "paper": "P", "table": "table5", "suite": "s",
        "suite_title": "S", "notice": "", "missing_share_max": 0.1, "failed_share_max": 0.1, "show_published": True,
        "runs": ["vinoground/paper/linspace1/ov"], "spec": {"title": "T", "caption": "C."} | spec, "forms": {},
    } | changes  # fmt: skip
    return Builder(TableKey.model_validate(key), pl.DataFrame(rows, schema=METRICS), Published(path, "table5"))


def pair_metric(name: str, group: str, value: float | None, **changes: Any) -> dict[str, Any]:
    return metric(group, value, run="vinoground/paper/linspace1/ov", metric=name, asked=100, **changes)


def test_numbers_of_frames_tell_rows_apart_and_significance_can_be_bold(tmp_path: Path) -> None:
    row = {"label": "OV", "model": "ov", "protocol": "paper", "sampling": "linspace1", "frames": "1"}
    spec = {
        "significance": True, "bold": "significant", "stub": "Name",
        "columns": [{"title": "# Fr", "shows": "frames"}, {"title": "Text", "metrics": ["text"], "group": "all"}],
        "sections": [{"rows": [{"label": "Random", "chance": True}, row, {"label": "OV", "frames": "32"}]}],
    }  # fmt: skip
    lines = ["vinoground,table5,OV,1,all,text,25.8", "vinoground,table5,OV,32,all,text,42.0"]
    made = vinoground_builder(tmp_path, spec, [pair_metric("text", "all", 99.0, p_chance=0.0)], *lines)
    text = render(made.table(), "md")
    assert "| Name" in text and "|    – |" in text
    assert "**<ins>99.0</ins>** (25.8, +73.2)" in text and "*42.0*" in text
    assert [line.split("|")[2].strip() for line in text.splitlines() if line.startswith("| OV")] == ["1", "32"]


@pytest.mark.parametrize(("frames", "greyed"), [(0, False), (1, True), (2, True), (3, False), (None, False)])
def test_scores_of_too_few_frames_are_grey_and_compete_with_none(
    tmp_path: Path, frames: int | None, greyed: bool
) -> None:
    """Vinoground greys 1 and 2 frames, which cannot show both videos and the black between, and uses 0 frames."""
    rows = [{"label": label, "model": model, "protocol": "paper", "sampling": "linspace1"}
            for label, model in (("OV", "ov"), ("Theirs", "other"))]  # fmt: skip
    columns = [{"title": name, "metrics": [name], "group": "all"} for name in ("text", "video")]
    spec = {"columns": columns, "sections": [{"rows": rows}], "significance": True, "bold": "significant"}
    found = [pair_metric(name, "all", 60.0, p_chance=0.0) for name in ("text", "video")]
    published = [f"vinoground,table5,Theirs,1,all,{name},25.2" for name in ("text", "video")]
    known = {} if frames is None else {"linspace1": frames}
    made = vinoground_builder(tmp_path, spec, found, *published, frames=known, frames_min={"paper": {"video": 3}})
    ours, theirs = [[cell.numbers[0] for cell in row.cells] for row in made.table().rows()]  # type: ignore[union-attr]
    assert [(one.value, one.greyed) for one in ours] == [(60.0, False), (60.0, greyed)]
    assert [(one.value, one.greyed) for one in theirs] == [(25.2, False), (25.2, greyed)]
    assert (ours[0].best, ours[0].significant) == (True, True)
    assert (ours[1].best, ours[1].significant) == (not greyed, not greyed)
    assert ("\\textcolor[gray]" in render(made.table(), "tex"), "°" in render(made.table(), "md")) == (greyed, greyed)


def test_a_section_can_mark_no_best_number(tmp_path: Path) -> None:
    rows = [{"label": label, "model": "ov", "protocol": "paper", "sampling": "linspace1", "group": label}
            for label in ("all", "object")]  # fmt: skip
    columns = [{"title": "Text", "metrics": ["text"]}]
    spec = {"columns": columns, "sections": [{"rows": rows}, {"rows": rows, "best": False}]}
    found = [pair_metric("text", "all", 60.0), pair_metric("text", "object", 50.0)]
    table = vinoground_builder(tmp_path, spec, found).table()
    best = [[cell.numbers[0].best for cell in row.cells] for row in table.rows()]  # type: ignore[union-attr]
    assert best == [[True], [False], [False], [False]]


def test_a_column_can_be_a_run_and_its_groups_are_held_against_the_whole(tmp_path: Path) -> None:
    run = {"model": "ov", "protocol": "paper", "sampling": "linspace1"}
    spec = {
        "compared_with": "all", "best": False,
        "columns": [{"title": "text", "span": "OV", "metrics": ["text"], "published": {"group": "ov"}} | run,
                    {"title": "text", "span": "GPT", "metrics": ["text"], "published": {"group": "gpt"}}],
        "sections": [{"rows": [{"label": group, "group": group} for group in ("all", "object", "action", "spatial")]}],
    }  # fmt: skip
    rows = [
        pair_metric("text", group, value)
        for group, value in (("all", 50.0), ("object", 70.0), ("action", 40.0), ("spatial", 45.0))
    ]
    lines = ["vinoground,table5,all,,ov,text,51.0", "vinoground,table5,object,,gpt,text,52.5"]
    made = vinoground_builder(tmp_path, spec, rows, *lines)
    cells = {
        line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:4]]
        for line in render(made.table(), "md").splitlines()
        if line.startswith("| ")
    }
    assert cells["all"] == ["50.0 (51.0, −1.0)", "–"]
    assert cells["object"][0] == "70.0<sup>a</sup>" and "52.5" in cells["object"][1]
    assert cells["action"][0] == "40.0<sup>b</sup>" and cells["spatial"][0] == "45.0"
    text = render(made.table(), "md")
    assert "Significantly above the same model's score over group 'all'" in text and "Significantly below" in text


def test_chance_of_a_column_that_names_its_protocol(tmp_path: Path) -> None:
    """One row of chance over two benchmarks of images, whose guessers reach different shares."""
    columns = [
        {"title": "MMBench", "group": "mmbench_overall", "protocol": "mmbench"},
        {"title": "MMStar", "group": "mmstar_overall", "protocol": "mmstar"},
    ]
    sections = [{"rows": [{"label": "Random", "chance": True}]}]
    spec = {"title": "T", "caption": "C", "metrics": ["accuracy"], "columns": columns, "sections": sections}
    counted = [
        metric("mmbench_overall", 10.9, metric="chance.circular.accuracy", run="mmbench_video/data"),
        metric("mmstar_overall", 25.0, metric="chance.choice.accuracy", run="mmbench_video/data"),
    ]
    made = builder(tmp_path, counted, benchmark="mmbench_video", forms={"mmbench": "circular", "mmstar": "choice"})
    made.spec = TableSpec.model_validate(spec)
    assert {column: found for (_, column), found in sources(made).items()} == {
        "MMBench": ("chance", 10.9), "MMStar": ("chance", 25.0),
    }  # fmt: skip


def looks(name: str, value: float, **changes: Any) -> dict[str, Any]:
    """A number of a run's health."""
    return metric("answers", value, metric=f"health_{name}", low=None, high=None, p_chance=None) | changes


@pytest.mark.parametrize("form", FORMATS)
def test_a_run_that_looks_broken_is_named_under_the_table(form: str, tmp_path: Path) -> None:
    made = builder(tmp_path, [metric("control", 80.0), looks("unread", 40.0, asked=50), looks("failed", 0.0, asked=50)])
    table = made.table()
    assert table.warnings == ("velociti/entail/fps1/ov looks broken: 40.0 % of 50 answers could not be read.",)
    found = next(line for line in render(table, form).splitlines() if "looks broken" in line)
    assert {"tex": r"\textbf{", "md": "- **", "html": '<p class="warning">'}[form] in found
    assert "velociti/entail/fps1/ov: 40.0 % unread" in table.provenance


def test_a_baseline_that_always_says_the_same_is_as_it_is(tmp_path: Path) -> None:
    rows = [metric("control", 80.0), looks("unread", 40.0, asked=50)]
    assert builder(tmp_path, rows, references=["ov"]).table().warnings == ()


def test_the_replies_of_a_judge_are_named_with_it(tmp_path: Path) -> None:
    rows = [metric("control", 80.0), looks("failed", 40.0, asked=50, group="replies", judge="gpt")]
    found = builder(tmp_path, rows, judges={"gpt": "GPT"}).table().warnings
    assert found == ("velociti/entail/fps1/ov/gpt looks broken: 40.0 % of 50 replies failed.",)


def test_many_broken_runs_are_counted(tmp_path: Path) -> None:
    rows = [looks("unread", 40.0, asked=50, run=f"velociti/entail/fps1/m{index}") for index in range(10)]
    found = builder(tmp_path, [metric("control", 80.0), *rows]).table().warnings
    assert len(found) == 9
    assert found[-1] == "2 more runs look broken: see the provenance."


def test_the_health_of_a_run_is_no_missing_clip(tmp_path: Path) -> None:
    """Its numbers count answers, and must not thin out the share of items without a clip."""
    rows = [metric("control", 80.0, asked=80, missing=20), looks("unread", 0.0, asked=10_000)]
    with pytest.raises(UserError, match=r"20\.0 % of the items of velociti/entail/fps1/ov have no clip"):
        builder(tmp_path, rows)

"""Test the files of imported predictions: the name of a run determines the folder of its files."""

import pytest
from reprise.core.paths import Run

from tests.unit.config.conftest import Project

IMPORTS = "resources/imports"
RESPONSE_LINE = '{"idx": "0_pos", "response": "A"}\n'
BOTH_FILES = ("textscore-response.jsonl", "videoscore-response.jsonl")
FILES_8 = ("textscore-frame8-response.jsonl", "videoscore-frame8-response.jsonl")


@pytest.fixture
def paper(project: Project) -> Project:
    """Return the paper suite with imported models only; it could also run two of them."""
    for slug in ("ma-lmm", "owl-con"):
        project.write(f"config/models/{slug}.yaml", f"label: {slug}\nadapter: import\n")
    project.edit("config/suites/paper.yaml", "run: [none]", "run: [local]\njudges: [gpt-4-turbo-1106]")
    return project


def write_files(project: Project, folder: str, *names: str) -> None:
    for name in names:
        project.write(f"{IMPORTS}/{folder}/{name}", RESPONSE_LINE)


def list_runs(paper: Project) -> list[str]:
    return [run.name for run in paper.plan("paper").runs()]


APOLLO = "vinoground/apollo-7b"
FILES_32 = tuple(name.replace("8", "32") for name in FILES_8)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, []),
        ({f"{APOLLO}/paper/black8": BOTH_FILES, f"{APOLLO}/paper/black64": BOTH_FILES}, [f"vinoground/paper/black{frames}/apollo-7b" for frames in (64, 8)]),
        ({APOLLO: FILES_8 + FILES_32}, [f"vinoground/paper/black{frames}/apollo-7b" for frames in (32, 8)]),
        ({"temporalbench/ma-lmm": ("ma_short_qa.jsonl", "ma_long_qa.jsonl")}, [f"temporalbench/{task}/linspace4/ma-lmm" for task in ("long", "short")]),
        ({"temporalbench/internlm-xc-2.5/temporalbench_short_qa": ("xc.jsonl",)}, ["temporalbench/short/fps1/internlm-xc-2.5"]),
    ],
)  # fmt: skip
def test_folders_and_names_of_files_determine_their_run(
    paper: Project, files: dict[str, tuple[str, ...]], expected: list[str]
) -> None:
    for folder, names in files.items():
        write_files(paper, folder, *names)
    assert list_runs(paper) == expected


def test_files_for_another_number_of_frames_are_not_used(paper: Project, caplog: pytest.LogCaptureFixture) -> None:
    names = [name.replace("8", "7") for name in FILES_8]
    write_files(paper, APOLLO, *names)
    plan = paper.plan("paper")
    plan.imports.warn_about_unused_files(plan.selected_models)
    assert plan.runs() == []
    assert f"{IMPORTS}/{APOLLO}: {', '.join(names)}: not used: their names match no run of this suite." in caplog.text


@pytest.mark.parametrize(
    ("folder", "names", "message_parts"),
    [
        ("vinoground/apollo-7b", BOTH_FILES, [f"{IMPORTS}/vinoground/apollo-7b/textscore-response.jsonl: could be the answers of several runs of 'apollo-7b': vinoground/paper/black16, vinoground/paper/black32,", f"Put it into the folder of its run, {IMPORTS}/vinoground/apollo-7b/<protocol>/<sampling>/, or name its run in config/external.yaml (`runs: {{vinoground/paper/black16: .}}`)."]),
        ("temporalbench/ma-lmm", ("ma-lmm.jsonl",), ["temporalbench/caption/linspace4, temporalbench/long/linspace4, temporalbench/short/linspace4."]),
        ("velociti/gemini-1.5-flash", ("control.csv",), ["velociti/entail.gemini.subset/fps1, velociti/mc.gemini.subset/fps1."]),
        ("mmbench_video/gpt-4o", ("gpt4o.xlsx",), ["mmbench_video/packed.low.subtitled/interior16, ", ", ... (19 in all)"]),
        ("mmbench_video/videostreaming", ("a.xlsx", "b.tsv"), [f"{IMPORTS}/mmbench_video/videostreaming: found a.xlsx, b.tsv; one file of answers is expected. Keep one of them."]),
        ("vinoground/o3/paper/black32", ("text.jsonl",), [f"{IMPORTS}/vinoground/o3/paper/black32: found text.jsonl, whose names are not those of answers to vinoground/paper. {IMPORTS}/README.md lists the names."]),
        ("vinoground/o3/paper/black32", FILES_8, ["it is unclear which file has the answers of a run with 32 frames"]),
    ],
)  # fmt: skip
def test_ambiguous_files_are_named(
    paper: Project, folder: str, names: tuple[str, ...], message_parts: list[str]
) -> None:
    write_files(paper, folder, *names)
    message = paper.message("paper")
    assert [part for part in message_parts if part not in message] == [] and len(message) < 800


def test_the_runs_setting_assigns_files_to_runs(paper: Project) -> None:
    write_files(paper, "vinoground/apollo-7b", *BOTH_FILES)
    write_files(paper, "vinoground/apollo-7b/few", *BOTH_FILES)
    runs_setting = "{vinoground/paper/black16: ., vinoground/paper/black4: few, vinoground/paper/black8: none}"
    paper.edit("config/external.yaml", "apollo-7b: Apollo-7B\n", f"apollo-7b: {{label: L, runs: {runs_setting}}}\n")
    assert list_runs(paper) == [f"vinoground/paper/black{frames}/apollo-7b" for frames in (16, 4)]


def test_responses_in_full_size_are_used_for_small_frames_and_the_subtitled_subset(paper: Project) -> None:
    """`packed.low.subtitled` uses the responses of `packed.low`, and `packed.low` those of `packed`."""
    paper.edit("config/suites/paper.yaml", "judges: [gpt-4-turbo-1106]", "judges: []")
    write_files(paper, "mmbench_video/gpt-4o/packed/interior16", "answers.xlsx")
    imports = paper.plan("paper").imports
    for protocol in ("packed.low", "packed.low.subtitled"):
        (path,) = imports.answer_files(Run.parse(f"mmbench_video/{protocol}/interior16/gpt-4o"))
        assert path.name == "answers.xlsx"


def list_judges(paper: Project) -> list[str]:
    """Return the judges whose ratings the tables show, by run."""
    plan = paper.plan("paper")
    tables = [plan.table_scored_runs("mmbench_video", f"table{table}") for table in range(2, 9)]
    names = {scored.name for scored_runs in tables for scored in scored_runs if scored.judge}
    return sorted(name.removeprefix("mmbench_video/") for name in names)


def test_imported_ratings_count_for_every_judge(paper: Project) -> None:
    """`judges:` may omit such a judge; judges of the suite come first, then the others in the order of the configuration."""
    paper.edit("config/suites/paper.yaml", "judges: [gpt-4-turbo-1106]", "judges: []")
    for model, protocol in (("videostreaming", "unpacked/interior64"), ("gpt-4v", "packed/interior8")):
        write_files(paper, f"mmbench_video/{model}/{protocol}", "answers.xlsx")
        write_files(paper, f"mmbench_video/gpt-3.5-turbo-0613/{protocol}/{model}", "ratings.tsv")
    rated_runs = ["packed.low/interior8/gpt-4v", "unpacked/interior64/videostreaming"]
    assert list_judges(paper) == [f"{run}/gpt-3.5-turbo-0613" for run in rated_runs]
    write_files(paper, "mmbench_video/gpt-4-turbo-1106/packed/interior8/gpt-4v", "ratings.tsv")
    assert list_judges(paper) == [f"{rated_runs[0]}/gpt-4-turbo-1106", f"{rated_runs[1]}/gpt-3.5-turbo-0613"]
    paper.edit("config/suites/paper.yaml", "judges: []", "judges: [gpt-3.5-turbo-0613]")
    assert list_judges(paper) == [f"{run}/gpt-3.5-turbo-0613" for run in rated_runs]


def test_ratings_of_the_harness_next_to_the_predictions_count(paper: Project) -> None:
    paper.edit("config/suites/paper.yaml", "judges: [gpt-4-turbo-1106]", "judges: []")
    answers, ratings = (f"VideoStreaming_MMBench-Video{suffix}.xlsx" for suffix in ("", "_gpt-4-1106-preview_score"))
    write_files(paper, "mmbench_video/videostreaming", answers, ratings)
    assert list_judges(paper) == ["unpacked/interior64/videostreaming/gpt-4-turbo-1106"]
    imports, run = paper.plan("paper").imports, Run.parse("mmbench_video/unpacked/interior64/videostreaming")
    assert [path.name for path in imports.answer_files(run)] == [answers]
    assert [path.name for path in imports.rating_files(run, "gpt-4-turbo-1106")] == [ratings]

"""Answers made elsewhere: where a run's files lie follows from its name, and what lies there counts."""

import logging
from pathlib import Path

import pytest
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.core.paths import Run
from reprise.plan.keys import write_keys
from reprise.plan.runs import Plan

from tests.unit.config.conftest import Project

IMPORTS = "resources/imports"
LINE = '{"idx": "0_pos", "response": "A"}\n'
BOTH = ("textscore-response.jsonl", "videoscore-response.jsonl")
NAMED = ("textscore-frame8-response.jsonl", "videoscore-frame8-response.jsonl")


@pytest.fixture
def paper(here: Project) -> Project:
    """The paper suite with imported models alone, two of which it could ask itself."""
    for slug, label in {"ma-lmm": "MA-LMM", "owl-con": "Owl-Con"}.items():
        (here.root / f"config/models/{slug}.yaml").unlink()
        here.edit("config/external.yaml", "llama-vid: LLaMA-VID\n", f"llama-vid: LLaMA-VID\n{slug}: {label}\n")
    here.edit("config/suites/paper.yaml", "run: [none]", "run: [local]\njudges: [gpt-4-turbo-1106]")
    return here


def lay(project: Project, folder: str, *names: str) -> None:
    for name in names:
        project.write(f"{IMPORTS}/{folder}/{name}", LINE)


def runs() -> list[str]:
    return [run.name for run in Plan(load(Path(), {"suite": "paper"})).runs()]


def test_a_folder_for_each_run(paper: Project) -> None:
    assert runs() == []
    for sampling in ("black8", "black64"):
        lay(paper, f"vinoground/apollo-7b/paper/{sampling}", *BOTH)
    assert runs() == [f"vinoground/paper/{one}/apollo-7b" for one in ("black64", "black8")]
    plan = Plan(load(Path(), {"suite": "paper"}))
    files = plan.imports.answer_files(Run.parse("vinoground/paper/black8/apollo-7b"))
    assert files == [Path(IMPORTS, "vinoground/apollo-7b/paper/black8", name) for name in BOTH]


def test_a_number_of_frames_in_a_name_selects_the_run(paper: Project) -> None:
    lay(paper, "vinoground/apollo-7b", *NAMED)
    lay(paper, "vinoground/apollo-7b", *(name.replace("8", "32") for name in NAMED))
    assert runs() == [f"vinoground/paper/black{frames}/apollo-7b" for frames in (32, 8)]


def test_a_number_of_frames_that_no_run_shows_is_not_used(paper: Project, caplog: pytest.LogCaptureFixture) -> None:
    lay(paper, "vinoground/apollo-7b", *(name.replace("8", "7") for name in NAMED))
    lay(paper, "vinoground/gemini-2.5-pro", *NAMED)  # its run shows a number of frames that depends on the clip
    assert runs() == []
    with caplog.at_level(logging.WARNING):
        plan = Plan(load(Path(), {"suite": "paper"}))
        plan.imports.warn_of_unused(plan.models)
    folder = f"{IMPORTS}/vinoground/apollo-7b"
    expected = (
        f"{folder}: textscore-frame7-response.jsonl, videoscore-frame7-response.jsonl: not used: their names fit no run"
    )
    assert [expected in one.message for one in caplog.records] == [True, False]


def test_temporalbench_names_its_tasks(paper: Project) -> None:
    lay(paper, "temporalbench/ma-lmm", "ma_short_qa.jsonl", "ma_long_qa.jsonl")
    lay(paper, "temporalbench/internlm-xc-2.5/temporalbench_short_qa", "xc.jsonl")
    assert runs() == [
        "temporalbench/long/linspace4/ma-lmm",
        "temporalbench/short/fps1/internlm-xc-2.5",
        "temporalbench/short/linspace4/ma-lmm",
    ]


@pytest.mark.parametrize(
    ("folder", "names", "said"),
    [
        ("vinoground/apollo-7b", BOTH, [f"{IMPORTS}/vinoground/apollo-7b/textscore-response.jsonl: could be the answers of several runs of 'apollo-7b': vinoground/paper/black16, vinoground/paper/black32,", f"Put it into the folder of its run, {IMPORTS}/vinoground/apollo-7b/<protocol>/<sampling>/, or name its run in config/external.yaml (`runs: {{vinoground/paper/black16: .}}`)."]),
        ("vinoground/apollo-7b", (*BOTH, *NAMED), ["could be the answers of several runs of 'apollo-7b'"]),
        ("temporalbench/ma-lmm", ("ma-lmm.jsonl",), ["temporalbench/caption/linspace4, temporalbench/long/linspace4, temporalbench/short/linspace4."]),
        ("velociti/gemini-1.5-flash", ("control.csv",), ["velociti/entail.gemini.subset/fps1, velociti/mc.subset/fps1."]),
        ("mmbench_video/gpt-4o", ("gpt4o.xlsx",), ["mmbench_video/packed.subtitled/interior16, ", ", ... (18 in all)"]),
        ("mmbench_video/llama-vid", ("a.xlsx", "b.tsv"), [f"{IMPORTS}/mmbench_video/llama-vid: found a.xlsx, b.tsv; one file of answers is expected. Keep one of them there."]),
        ("vinoground/o3/paper/black32", ("text.jsonl",), [f"{IMPORTS}/vinoground/o3/paper/black32: found text.jsonl, which are no answers to vinoground/paper by their names. {IMPORTS}/README.md lists the names."]),
        ("vinoground/o3/paper/black32", NAMED, ["which holds the answers of a run that shows 32 frames is not clear"]),
    ],
)  # fmt: skip
def test_files_that_could_be_of_several_runs_are_named(
    paper: Project, folder: str, names: tuple[str, ...], said: list[str]
) -> None:
    lay(paper, folder, *names)
    with pytest.raises(UserError) as error:
        runs()
    assert all(part in str(error.value) for part in said)
    assert len(str(error.value)) < 800


@pytest.mark.parametrize("is_own_file", [False, True])
def test_a_model_can_say_which_run_its_files_are_of(paper: Project, is_own_file: bool) -> None:
    lay(paper, "vinoground/apollo-7b", *BOTH)
    lay(paper, "vinoground/apollo-7b/few", *BOTH)
    said = "{vinoground/paper/black16: ., vinoground/paper/black4: few, vinoground/paper/black8: none}"
    line = "apollo-7b: Apollo-7B\n"
    if is_own_file:
        paper.edit("config/external.yaml", line, "")
        text = f"label: Apollo-7B\nadapter: import\nsettings:\n  runs: {said}\n"
        paper.write("config/models/apollo-7b.yaml", text)
    else:
        paper.edit("config/external.yaml", line, f"apollo-7b: {{label: L, runs: {said}}}\n")
    assert runs() == [f"vinoground/paper/black{frames}/apollo-7b" for frames in (16, 4)]


def test_a_protocol_can_share_the_answers_of_another(paper: Project) -> None:
    lay(paper, "vinoground/internlm-xc-2.5/cot/fps1", *BOTH)
    lay(paper, "mmbench_video/gpt-4o/packed/interior8", "gpt4o.xlsx")
    plan = Plan(load(Path(), {"suite": "paper"}))
    for run in ("vinoground/cot.judged/fps1/internlm-xc-2.5", "mmbench_video/packed.subtitled/interior8/gpt-4o"):
        assert plan.imports.answer_files(Run.parse(run))
    assert not plan.imports.answer_files(Run.parse("mmbench_video/packed.subtitles.subtitled/interior8/gpt-4o"))


def test_ratings_lie_by_judge_and_run(paper: Project) -> None:
    lay(paper, "mmbench_video/gpt-4o/packed/interior8", "gpt4o.xlsx")
    assert runs() == []
    folder = "mmbench_video/gpt-4-turbo-1106/packed/interior8/gpt-4o"
    lay(paper, folder, "ratings.tsv")
    found = ["mmbench_video/packed/interior8/gpt-4o", "mmbench_video/packed.subtitled/interior8/gpt-4o"]
    assert runs() == found
    (paper.root / IMPORTS / folder / "ratings.tsv").unlink()
    assert runs() == []
    lay(paper, "mmbench_video/gpt-4-turbo-1106/mine", "ratings.tsv")
    paper.edit(
        "config/external.yaml",
        "gpt-4-turbo-1106: {label: GPT-4-Turbo (1106), names: [gpt-4-turbo, gpt-4-1106-preview]}",
        "gpt-4-turbo-1106: {label: J, ratings: {mmbench_video/packed/interior8/gpt-4o: mine}}",
    )
    assert runs() == found[:1]


def judges() -> list[str]:
    """The judges whose numbers the tables show, run by run."""
    plan = Plan(load(Path(), {"suite": "paper"}))
    found = {one for table in range(2, 9) for one in plan.table_scored("mmbench_video", f"table{table}") if one.judge}
    return sorted(one.name.removeprefix("mmbench_video/") for one in found)


def test_ratings_that_lie_there_count_for_every_run_whoever_judged(paper: Project) -> None:
    """No `judges:` names this one; of several the suite's own comes first, then the order of the configuration."""
    paper.edit("config/suites/paper.yaml", "judges: [gpt-4-turbo-1106]", "judges: []")
    for model, protocol in (("llama-vid", "unpacked/fps1_floor"), ("gpt-4v", "packed/interior8")):
        lay(paper, f"mmbench_video/{model}/{protocol}", "answers.xlsx")
        lay(paper, f"mmbench_video/gpt-3.5-turbo-0613/{protocol}/{model}", "ratings.tsv")
    rated = ["packed/interior8/gpt-4v", "unpacked/fps1_floor/llama-vid"]
    assert judges() == [f"{run}/gpt-3.5-turbo-0613" for run in rated]
    lay(paper, "mmbench_video/gpt-4-turbo-1106/packed/interior8/gpt-4v", "ratings.tsv")
    assert judges() == [f"{rated[0]}/gpt-4-turbo-1106", f"{rated[1]}/gpt-3.5-turbo-0613"]
    paper.edit("config/suites/paper.yaml", "judges: []", "judges: [gpt-3.5-turbo-0613]")
    assert judges() == [f"{run}/gpt-3.5-turbo-0613" for run in rated]


@pytest.mark.parametrize("name", ["gpt-4-turbo", "gpt-4-1106-preview", "gpt-4-turbo-1106"])
def test_the_harness_ratings_beside_the_predictions_count(paper: Project, name: str) -> None:
    paper.edit("config/suites/paper.yaml", "judges: [gpt-4-turbo-1106]", "judges: []")
    lay(paper, "mmbench_video/llama-vid", "LLaMA-VID_MMBench-Video.xlsx", f"LLaMA-VID_MMBench-Video_{name}_score.xlsx")
    assert judges() == ["unpacked/fps1_floor/llama-vid/gpt-4-turbo-1106"]
    plan = Plan(load(Path(), {"suite": "paper"}))
    run = Run.parse("mmbench_video/unpacked/fps1_floor/llama-vid")
    assert [one.name for one in plan.imports.answer_files(run)] == ["LLaMA-VID_MMBench-Video.xlsx"]
    files = plan.imports.rating_files(run, "gpt-4-turbo-1106")
    assert [one.name for one in files] == [f"LLaMA-VID_MMBench-Video_{name}_score.xlsx"]


def test_ratings_by_an_unknown_judge_are_named(paper: Project, caplog: pytest.LogCaptureFixture) -> None:
    known, unknown = (f"LLaMA-VID_{judge}_score.xlsx" for judge in ("gpt-4-turbo", "gemini"))
    lay(paper, "mmbench_video/llama-vid", "LLaMA-VID.xlsx", known, unknown)
    with caplog.at_level(logging.WARNING):
        plan = Plan(load(Path(), {"suite": "paper"}))
        plan.imports.warn_of_unused(plan.models)
    (said,) = [one.message for one in caplog.records if "llama-vid" in one.message]
    assert unknown in said and known not in said


def test_an_open_judge_rates_where_ratings_of_it_do_not_lie(paper: Project) -> None:
    """Table 6's row of Qwen2-72B-Instruct: asked here by the adapter `text`, or imported."""
    lay(paper, "mmbench_video/gpt-4o/packed/interior8", "gpt4o.xlsx")
    paper.edit(
        "config/suites/paper.yaml",
        "run: [local]\njudges: [gpt-4-turbo-1106]",
        "run: [local, qwen2-72b]\njudges: [qwen2-72b]",
    )
    run = "packed/interior8/gpt-4o"
    assert f"{run}/qwen2-72b" in judges()
    lay(paper, f"mmbench_video/qwen2-72b-instruct/{run}", "ratings.tsv")
    plan = Plan(load(Path(), {"suite": "paper"}))
    assert {one.judge for one in plan.table_scored("mmbench_video", "table6")} == {"qwen2-72b-instruct"}


def test_an_extra_run_must_have_its_files(paper: Project) -> None:
    paper.edit("config/suites/paper.yaml", "  velociti:\n", "  velociti:\n    extra_runs: [entail/fps2/owl-con]\n")
    folder = f"{IMPORTS}/velociti/owl-con/entail/fps2/"
    with pytest.raises(
        UserError, match=rf"velociti/entail/fps2/owl-con: no answers found. Put the files into {folder}"
    ):
        write_keys(Plan(load(Path(), {"suite": "paper"})))

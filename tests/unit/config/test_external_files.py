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
def paper(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The paper suite with imported models alone."""
    project.edit("config/suites/paper.yaml", "run: [none]", "run: [local]\njudges: [gpt-4-turbo-1106]")
    monkeypatch.chdir(project.root)
    return project


def lay(project: Project, folder: str, *names: str) -> None:
    for name in names:
        project.write(f"{IMPORTS}/{folder}/{name}", LINE)


def runs() -> list[str]:
    return [run.name for run in Plan(load(Path(), {"suite": "paper"})).runs()]


def test_a_folder_for_each_run(paper: Project) -> None:
    assert runs() == []
    for sampling in ("linspace8", "linspace64"):
        lay(paper, f"vinoground/llava-video-7b/authors/{sampling}", *BOTH)
    assert runs() == [f"vinoground/authors/{one}/llava-video-7b" for one in ("linspace64", "linspace8")]
    plan = Plan(load(Path(), {"suite": "paper"}))
    files = plan.imports.answer_files(Run.parse("vinoground/authors/linspace8/llava-video-7b"))
    assert files == [Path(IMPORTS, "vinoground/llava-video-7b/authors/linspace8", name) for name in BOTH]


def test_the_folder_of_a_model_with_one_run(paper: Project) -> None:
    lay(paper, "vinoground/o3", *BOTH)
    lay(paper, "velociti/owl-con", "control.csv", "coref.csv")
    lay(paper, "mmbench_video/llama-vid", "LLaMA-VID.xlsx", "LLaMA-VID_score.xlsx")
    assert runs() == ["velociti/entail/fps1/owl-con", "vinoground/paper/linspace32/o3"], (
        "no ratings of LLaMA-VID are there"
    )
    files = Plan(load(Path(), {"suite": "paper"})).imports.answer_files(
        Run.parse("mmbench_video/unpacked/fps1_floor/llama-vid")
    )
    assert [path.name for path in files] == ["LLaMA-VID.xlsx"]


def test_a_number_of_frames_in_a_name_selects_the_run(paper: Project) -> None:
    lay(paper, "vinoground/llava-video-7b", *NAMED)
    lay(paper, "vinoground/llava-video-7b", *(name.replace("8", "32") for name in NAMED))
    assert runs() == [f"vinoground/authors/linspace{frames}/llava-video-7b" for frames in (32, 8)]


def test_a_number_of_frames_that_no_run_shows_is_not_used(paper: Project, caplog: pytest.LogCaptureFixture) -> None:
    lay(paper, "vinoground/llava-video-7b", *(name.replace("8", "7") for name in NAMED))
    lay(paper, "vinoground/gemini-2.5-pro", *NAMED)  # its run shows a number of frames that depends on the clip
    assert runs() == []
    with caplog.at_level(logging.WARNING):
        plan = Plan(load(Path(), {"suite": "paper"}))
        plan.imports.warn_of_unused(plan.models)
    folder = f"{IMPORTS}/vinoground/llava-video-7b"
    expected = (
        f"{folder}: textscore-frame7-response.jsonl, videoscore-frame7-response.jsonl: not used: their names fit no run"
    )
    assert [expected in one.message for one in caplog.records] == [False, True]


def test_temporalbench_names_its_tasks(paper: Project) -> None:
    lay(paper, "temporalbench/languagebind", "lb_short_qa.jsonl", "lb_long_qa.jsonl")
    lay(paper, "temporalbench/ma-lmm/temporalbench_short_qa", "ma-lmm-frame4.jsonl")
    assert runs() == [
        "temporalbench/long/linspace8/languagebind",
        "temporalbench/short/linspace4/ma-lmm",
        "temporalbench/short/linspace8/languagebind",
    ]


@pytest.mark.parametrize(
    ("folder", "names", "said"),
    [
        ("vinoground/llava-video-7b", BOTH, [f"{IMPORTS}/vinoground/llava-video-7b/textscore-response.jsonl: could be the answers of several runs of 'llava-video-7b': vinoground/authors/linspace128, vinoground/authors/linspace16,", f"Put it into the folder of its run, {IMPORTS}/vinoground/llava-video-7b/<protocol>/<sampling>/, or name its run in config/external.yaml (`runs: {{vinoground/authors/linspace128: .}}`)."]),
        ("vinoground/llava-video-7b", (*BOTH, *NAMED), ["could be the answers of several runs of 'llava-video-7b'"]),
        ("temporalbench/ma-lmm", ("ma-lmm.jsonl",), ["temporalbench/caption/linspace4, temporalbench/long/linspace4, temporalbench/short/linspace4."]),
        ("velociti/gemini-1.5-flash", ("control.csv",), ["velociti/entail.gemini.subset/fps1, velociti/mc.subset/fps1."]),
        ("mmbench_video/gpt-4o", ("gpt4o.xlsx",), ["mmbench_video/packed.subtitled/interior16, ", ", ... (16 in all)"]),
        ("mmbench_video/llama-vid", ("a.xlsx", "b.tsv"), [f"{IMPORTS}/mmbench_video/llama-vid: found a.xlsx, b.tsv; one file of answers is expected. Keep one of them there."]),
        ("vinoground/o3/paper/linspace32", ("text.jsonl",), [f"{IMPORTS}/vinoground/o3/paper/linspace32: found text.jsonl, which are no answers to vinoground/paper by their names. {IMPORTS}/README.md lists the names."]),
        ("vinoground/o3/paper/linspace32", NAMED, ["which holds the answers of a run that shows 32 frames is not clear"]),
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
    lay(paper, "vinoground/llava-video-7b", *BOTH)
    lay(paper, "vinoground/llava-video-7b/few", *BOTH)
    said = "{vinoground/authors/linspace16: ., vinoground/authors/linspace2: few, vinoground/authors/linspace4: none}"
    line = "llava-video-7b: LLaVA-Video-7B-Qwen2\n"
    if is_own_file:
        paper.edit("config/external.yaml", line, "")
        text = f"label: LLaVA-Video-7B-Qwen2\nadapter: import\nsettings:\n  runs: {said}\n"
        paper.write("config/models/llava-video-7b.yaml", text)
    else:
        paper.edit("config/external.yaml", line, f"llava-video-7b: {{label: L, runs: {said}}}\n")
    assert runs() == [f"vinoground/authors/linspace{frames}/llava-video-7b" for frames in (16, 2)]


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
        "gpt-4-turbo-1106: GPT-4-Turbo (1106)",
        "gpt-4-turbo-1106: {label: J, ratings: {mmbench_video/packed/interior8/gpt-4o: mine}}",
    )
    assert runs() == found[:1]


def test_an_extra_run_must_have_its_files(paper: Project) -> None:
    paper.edit("config/suites/paper.yaml", "  velociti:\n", "  velociti:\n    extra_runs: [entail/fps2/owl-con]\n")
    folder = f"{IMPORTS}/velociti/owl-con/entail/fps2/"
    with pytest.raises(
        UserError, match=rf"velociti/entail/fps2/owl-con: no answers found. Put the files into {folder}"
    ):
        write_keys(Plan(load(Path(), {"suite": "paper"})))

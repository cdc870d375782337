"""Models whose server a job starts, as the configuration and the plan see them: what is allowed, and what their keys hold."""

from pathlib import Path
from typing import Any

import pytest
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.models.keys import ModelRunKey
from reprise.plan.runs import Plan
from reprise.plan.suite import collect_keys

from tests.unit.config.conftest import CODE, Project

FILE = "config/models/hosted.yaml"
HOSTED = """
label: Hosted
adapter: openai
repo: owner/name
revision: 0123456789012345678901234567890123456789
"""
RUN = "velociti/entail/fps1/hosted"
OWN = "engine: program, program: own.py, environment: own"
PROGRAM = """
def load(folder, device): pass
def answer(frames, times, prompt, max_tokens): return "A"
def scores(frames, times, prompt, options): return [0.5, 0.5]
"""


def plan_of(project: Project, more: str, run: str = "[local, hosted]") -> Plan:
    """A plan of the demo with one more run, of a model whose file has these lines too."""
    project.write(FILE, HOSTED + more)
    project.write("envs/serve.txt", "vllm==0.32.0\ntorch==2.13.0\ncertifi==1\n")
    suite = "config/suites/demo.yaml"
    text = (Path(__file__).parents[3] / suite).read_text().replace("run: [local]", f"run: {run}")
    project.write(suite, text.replace("    clips: ids\n", "    clips: ids\n    extra_runs: [entail/fps1/hosted]\n", 1))
    return Plan(load(project.root))


def key_of(here: Project, more: str) -> ModelRunKey:
    plan = plan_of(here, more)
    (found,) = (key for path, key in collect_keys(plan, CODE).items() if str(path).endswith(f"{RUN}.json"))
    assert isinstance(found, ModelRunKey)
    return found


def test_the_key_holds_what_the_server_is_told_and_where_it_is_installed(here: Project) -> None:
    key = key_of(here, "gpus: 4\ndtype: bfloat16\ntrust_remote_code: true\nserved_by: vllm\n")
    assert key.answers.serving is not None and key.hosting is not None
    told = " ".join(key.answers.serving.arguments)
    assert told == (
        '--dtype bfloat16 --tensor-parallel-size 4 --limit-mm-per-prompt {"image":128,"video":0} --trust-remote-code '
        "--seed 0 --generation-config auto --enable-prompt-tokens-details"
    )
    assert {"vllm": "0.32.0", "torch": "2.13.0"}.items() <= key.answers.versions.items()
    assert key.answers.settings["model"] == "owner/name@0123456789012345678901234567890123456789"
    assert key.answers.settings["scores"] == "logprob_token_ids" and key.serving["max_images"] == 128
    assert not {"url", "key", "server"} & (key.serving.keys() | key.answers.settings.keys())


def test_what_shapes_answers_changes_the_key_and_nothing_else_does(here: Project) -> None:
    def key(served_by: str, more: str = "") -> str:
        return key_of(here, f"served_by: {{engine: vllm{served_by}}}\n{more}").key

    first = key("")
    assert key(", gpu_memory: 0.5, start_minutes: 90") == first == key("", "settings: {concurrency: 64}\n")
    more = ("max_model_len: 4096", "quantised: fp8", "arguments: [--enforce-eager]", "variables: {VLLM_USE_V1: '1'}")
    others = [*(key(f", {one}") for one in more), key("", "dtype: float16\n"), key("", "settings: {frames: video}\n")]
    assert len({first, *others}) == 7
    here.write("envs/other.txt", "vllm==0.32.0\n")
    assert key(", environment: other") not in {first, *others}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("served_by: vlm\n", "served_by.engine: should be 'vllm' or 'program', found 'vlm'. Did you mean 'vllm'?"),
        ("served_by: vllm\nsettings: {url: 'http://127.0.0.1:8000/v1', model: x}\n", "settings: served_by: the job starts the server, and says url, model. Remove them here."),
        ("served_by: vllm\nattention: eager\n", "the job's server does not go by: attention. Remove"),
        ("served_by: {engine: vllm, arguments: [--port=1]}\n", "'--port=1': not here; other settings, or the job"),
        ("served_by: {engine: vllm, arguments: [-tp, '2']}\n", "'-tp': write arguments with their long names"),
        ("served_by: {engine: vllm, arguments: [x]}\n", "'x' belongs to no argument"),
        ("served_by: {engine: vllm, variables: {LD_PRELOAD: x}}\n", "'LD_PRELOAD': only variables named VLLM_..."),
        ("served_by: {engine: vllm, environment: ../x}\n", "served_by.environment: should be a name"),
        ("served_by: program\n", "served_by: a program needs program and environment here."),
        (f"served_by: {{{OWN}, max_frames: 8}}\n", "served_by: max_frames: engine 'program' has no such setting."),
        ("served_by: {engine: program, program: ../own.py, environment: own}\n", "program: '../own.py' should be a file"),
        ("served_by: vllm\nsettings: {scores: similarity}\n", "settings.scores: only a program gives 'similarity'. Use logprob_token_ids, or null."),
        (f"dtype: float16\nserved_by: {{{OWN}}}\n", "the job's server does not go by: dtype. Remove"),
        (f"served_by: {{{OWN}}}\nsettings: {{timeout_s: 5}}\n", "settings: served_by: the job starts the server, and says timeout_s. Remove them here."),
    ],
)  # fmt: skip
def test_a_mistake_in_the_models_file_is_named(project: Project, more: str, message: str) -> None:
    project.write(FILE, HOSTED + more)
    said = project.message()
    assert said.startswith(f"{FILE}: ") and message in said


def test_a_model_that_this_process_loads_has_no_server(project: Project) -> None:
    project.write(FILE, HOSTED.replace("openai", "transformers") + "served_by: vllm\n")
    assert "served_by: adapter 'transformers' asks no server of that kind. Use: openai." in project.message()


@pytest.mark.parametrize(
    ("pins", "message"),
    [
        ("vllm>=0.32\n", r"envs/serve\.txt: line 1: 'vllm>=0\.32' is no pin"),
        ("-r base.txt\n", r"envs/serve\.txt: line 1: '-r base\.txt' is no pin"),
        (None, r"envs/serve\.txt: no such file\. `served_by\.environment` of a model's file names one of: none"),
    ],
)
def test_an_environment_is_pinned_whole(here: Project, pins: Any, message: str) -> None:
    plan = plan_of(here, "served_by: vllm\n")
    path = here.root / "envs" / "serve.txt"
    path.unlink() if pins is None else path.write_text(pins)
    with pytest.raises(UserError, match=message):
        collect_keys(plan, CODE)


def test_a_program_and_its_pins_are_in_the_key_and_how_long_it_may_take_is_not(here: Project) -> None:
    def found(
        served_by: str = "", text: str = PROGRAM, pins: str = f"torch==2.13.0\nx @ git+https://h/x@{40 * 'a'}\n"
    ) -> ModelRunKey:
        here.write("own.py", text)
        here.write("envs/own.txt", pins)
        return key_of(here, f"gpus: 1\nserved_by: {{{OWN}{served_by}}}\n")

    first = found()
    assert {"torch": "2.13.0", "x": 40 * "a"}.items() <= first.answers.versions.items()
    assert first.answers.serving is not None and first.answers.serving.arguments == ("--device", "cuda")
    assert first.answers.settings["frames"] == "video" and first.serving["timeout_s"] == 1800
    assert found(", answer_minutes: 3, start_minutes: 9").key == first.key
    others = {found(text=PROGRAM.replace('"A"', '"B"')).key, found(pins="torch==2.12.0\n").key}
    assert len({first.key, *others}) == 3


def test_a_program_without_scores_is_asked_in_words_alone(here: Project) -> None:
    here.write("own.py", PROGRAM.partition("def scores")[0])
    here.write("envs/own.txt", "torch==2.13.0\n")
    with pytest.raises(UserError, match=r"own\.py: it does not define `scores\(.*write `scores: null` into `settings`"):
        key_of(here, f"served_by: {{{OWN}}}\n")

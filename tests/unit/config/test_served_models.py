"""Models at servers that run or that a job starts, as the plan sees them: what they need, what their keys hold, when they end."""

import logging
from pathlib import Path
from typing import Any

import pytest
from reprise.commands.pending import JobEstimate
from reprise.commands.plan import describe_costs
from reprise.core.errors import UserError
from reprise.core.paths import Run, ScoredRun
from reprise.models.inference.money.prices import Budget, Ledger, RequestCost
from reprise.models.keys import ModelRunKey
from reprise.plan.answers import ModelJob
from reprise.plan.costs import Workload
from reprise.plan.run_keys import RunKeys
from reprise.plan.runs import Plan
from reprise.plan.states import PendingJob
from reprise.plan.suite import all_settings
from reprise.plan.targets import warn_about_models

from tests.unit.config.conftest import ROOT, Project

FILE = "config/models/served.yaml"
SERVED = """
label: Served
adapter: openai
settings:
  url: http://127.0.0.1:8000/v1
  model: toy
"""
HOSTED = f"""
label: Hosted
adapter: openai
repo: owner/name
revision: {"0123456789" * 4}
"""
OWN = "engine: runner, runner: own.py, environment: own"
PROGRAM = """
def load(folder, device): pass
def answer(frames, times, prompt, max_tokens): return "A"
def scores(frames, times, prompt, options): return [0.5, 0.5]
"""
RUN = "velociti/mc/fps1/served"
KEY = "  key: OUR_API_KEY\n"
PRICE = "price: {input: 2, output: 8, date: 2026-11-22, source: https://vendor.example/prices}\n"


def plan_of(project: Project, more: str = "", protocol: str = "mc", budget: str = "0", model: str = SERVED) -> Plan:
    """A plan of the demo with one more run, of a model whose file has these lines too."""
    project.write(FILE, model + more)
    project.write("envs/serve.txt", "vllm==0.32.0\ntorch==2.13.0\ncertifi==1\n")
    suite = "config/suites/demo.yaml"
    text = (ROOT / suite).read_text().replace("run: [local]", f"run: [local, served]\nbudget_usd: {budget}")
    extra = f"    clips: ids\n    extra_runs: [{protocol}/fps1/served]\n"
    project.write(suite, text.replace("    clips: ids\n", extra, 1))
    return project.plan()


def key_of(plan: Plan) -> ModelRunKey:
    (found,) = (key for name, key in all_settings(plan).items() if name == RUN)
    assert isinstance(found, ModelRunKey)
    return found


def test_address_and_price_of_a_server_are_not_in_the_key(project: Project) -> None:
    def key(more: str) -> ModelRunKey:
        return key_of(plan_of(project, more))

    named = "  server: vllm 0.33\n"
    first = key(named)
    priced = key_of(plan_of(project, f"{named}{KEY}{PRICE}", budget="1"))
    assert priced.price is not None and priced.price.output == 8 and first.price is None
    moved = key(f"{named}  concurrency: 32\n  timeout_s: 5\n  retries: 1\n  max_images: 99\n")
    elsewhere = key_of(plan_of(project, named, model=SERVED.replace("8000", "9000")))
    assert first.key == moved.key == elsewhere.key == priced.key and "price" not in first.model_dump(mode="json")
    assert (elsewhere.serving["url"], moved.serving["concurrency"]) == ("http://127.0.0.1:9000/v1", 32)
    others = ("", "  server: sglang\n", f"{named}  temperature: 1\n", f"{named}  body: {{seed: 1}}\n")
    assert len({first.key, *(key(more).key for more in others)}) == 5


@pytest.mark.parametrize(
    ("more", "budget", "why"),
    [
        ("", "0", ""),
        (f"{KEY}{PRICE}", "0", "its file names a `price:`, and `budget_usd:` in config/suites/demo.yaml is 0."),
        (f"{KEY}{PRICE}", "1", ""),
        (KEY, "1", "its file names no `price:`, and `budget_tokens:` in config/suites/demo.yaml is 0."),
        (KEY, "0\nbudget_tokens: 9", ""),
    ],
)
def test_a_paid_model_needs_a_budget(project: Project, more: str, budget: str, why: str) -> None:
    plan = plan_of(project, more, budget=budget)
    assert ("served" in plan.models) == (not why)
    assert not why or f"its model has a paid API, {why}" in plan.idle_reason(Run.parse(RUN))


def test_scores_are_refused_without_support_by_the_server(project: Project) -> None:
    with pytest.raises(UserError, match=r"requests 'score', but adapter 'openai' supports only choose, write\. If the model supports it, "
                                        r"set `settings: \{scores: logprob_token_ids\}`"):  # fmt: skip
        plan_of(project, protocol="entail")
    plan_of(project, "  scores: logprob_token_ids\n", protocol="entail")


def test_a_retired_model_is_named(project: Project, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for day in ("9999-01-01", "2020-02-29"):
            warn_about_models(
                plan_of(project, f"served_until: {{date: {day}, source: https://vendor.example/retired}}\n"), []
            )
    assert [one.message for one in caplog.records] == [
        "Model served was served until 2020-02-29 (https://vendor.example/retired). Cached answers stay valid; "
        "new requests to it will fail."
    ]


@pytest.mark.parametrize(
    ("more", "questions", "tokens", "said"),
    [
        (PRICE, 100, 50_000, "Cost: $0.30 of `budget_usd` 5 are spent; pending, with answers of maximal length: $0.10 (prices of served "
                             "2026-11-22, https://vendor.example/prices)."),
        ("", 100, 50_000, "Price unknown: served. 7 of `budget_tokens` 9 are used; pending, with answers of maximal length: 50,100 tokens."),
    ],
)  # fmt: skip
def test_a_plan_reports_spending_and_maximum_cost(
    project: Project, more: str, questions: int | None, tokens: float | None, said: str
) -> None:
    plan = plan_of(project, KEY + more, budget="5\nbudget_tokens: 9")
    plan.store.root = project.root
    ledger, all_of_it = Ledger(project.root), Budget(9.0, 9)
    ledger.reserve("x", RequestCost(0.3, 8), all_of_it)
    ledger.reserve("x", RequestCost(None, 7), all_of_it)
    load = None if questions is None else Workload(questions, 1, 0.0)
    planned = []
    for slug in ("served", "oracle"):
        job = ModelJob(ScoredRun(Run.parse(RUN.replace("served", slug))), RUN, "k", Path("r"), Path("q"), 1)
        planned.append(JobEstimate(PendingJob(job, slug, (), has_stale_inputs=False), load, prompt_tokens=tokens))
    (line,) = describe_costs(plan, planned)
    assert said in line
    assert list(describe_costs(plan, planned[1:])) == []


NO_URL = SERVED.replace("  url: http://127.0.0.1:8000/v1\n", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SERVED + PRICE, "price: this model has no settings.key, so it costs nothing. Remove the price, or set the key."),
        (f"{NO_URL}  url: https://user:secret@host/v1\n", "settings.url: should be an address"),
        (f"{SERVED}  key: sk-secret-0123\n", "settings.key: should be the name of an environment variable"),
        (HOSTED + "served_by: vlm\n", "served_by.engine: should be 'vllm' or 'runner', found 'vlm'. Did you mean 'vllm'?"),
        (HOSTED + "served_by: vllm\nsettings: {url: 'http://127.0.0.1:8000/v1', model: x}\n", "settings: served_by: the job that starts the server sets url, model. Remove them here."),
        (HOSTED + "served_by: vllm\nattention: eager\n", "the job's server does not use: attention. Remove"),
        (HOSTED + "served_by: vllm\ngpus: 2\ngpus_per_copy: 2\n", "the job's server does not use: gpus_per_copy. Remove"),
        (HOSTED + "served_by: {engine: vllm, arguments: [--port=1]}\n", "'--port=1': set by other settings or by the job"),
        (HOSTED + "served_by: {engine: vllm, arguments: [-tp, '2']}\n", "'-tp': write arguments with their long names"),
        (HOSTED + "served_by: {engine: vllm, arguments: [seed, '2']}\n", "'seed' is not the name of an argument. Begin with one, such as --seed."),
        (HOSTED + "served_by: {engine: vllm, variables: {LD_PRELOAD: x}}\n", "'LD_PRELOAD': only variables named VLLM_..."),
        (HOSTED + "served_by: {engine: vllm, environment: ../x}\n", "served_by.environment: should be a name"),
        (HOSTED + "served_by: runner\n", "served_by: engine 'runner' requires runner and environment."),
        (f"{HOSTED}served_by: {{{OWN}, max_frames: 8}}\n", "served_by: max_frames: engine 'runner' has no such setting."),
        (HOSTED + "served_by: {engine: runner, runner: ../own.py, environment: own}\n", "runner: '../own.py' should be a file"),
        (HOSTED + "served_by: vllm\nsettings: {scores: similarity}\n", "settings.scores: only a model runner supports 'similarity'. Use logprob_token_ids, or null."),
        (HOSTED.replace("openai", "transformers") + "served_by: vllm\n", "served_by: adapter 'transformers' does not query such a server. Use: openai."),
    ],
)  # fmt: skip
def test_a_mistake_in_the_models_file_is_named(project: Project, text: str, message: str) -> None:
    project.write(FILE, text)
    said = project.message()
    assert said.startswith(f"{FILE}: ") and message in said and "secret" not in said


def hosted(project: Project, more: str) -> ModelRunKey:
    return key_of(plan_of(project, more, model=HOSTED))


def test_the_key_contains_arguments_and_environment_of_the_server(project: Project) -> None:
    key = hosted(
        project, "gpus: 4\ndtype: bfloat16\ntrust_remote_code: true\nserved_by: vllm\nsettings: {frames: images}\n"
    )
    assert key.answers.serving is not None and key.hosting is not None
    told = " ".join(key.answers.serving.arguments)
    assert told == (
        '--dtype bfloat16 --limit-mm-per-prompt {"image":128,"video":0} --trust-remote-code '
        "--seed 0 --generation-config auto --enable-prompt-tokens-details"
    )
    assert key.hosting.arguments[:2] == ("--tensor-parallel-size", "4"), "devices shape no answer"
    assert {"vllm": "0.32.0", "torch": "2.13.0"}.items() <= key.answers.versions.items()
    assert key.answers.settings["model"] == "owner/name@0123456789012345678901234567890123456789"
    assert key.answers.settings["scores"] == "logprob_token_ids" and key.serving["max_images"] == 128
    assert not {"url", "key", "server"} & (key.serving.keys() | key.answers.settings.keys())


def test_the_context_length_is_automatic_by_default(project: Project) -> None:
    """A 7B of 128,000 tokens of context would not start on 24 GB; what fits is no part of the key."""
    for served_by, told in (("vllm", True), ("{engine: vllm, max_model_len: 4096}", False)):
        key = hosted(project, f"served_by: {served_by}\nsettings: {{frames: images}}\n")
        assert key.answers.serving is not None and key.hosting is not None
        assert (" --max-model-len auto " in f" {' '.join(key.hosting.arguments)} ") == told
        assert ("--max-model-len" in key.answers.serving.arguments) != told


def test_the_form_of_frames_must_be_set(project: Project) -> None:
    """Images are not told when they are: a video model would answer as usual, and worse."""
    message = r"^config/models/served\.yaml: settings\.frames: missing\. Write `settings: \{frames: video\}`"
    with pytest.raises(UserError, match=message):
        hosted(project, "served_by: vllm\n")
    blind = plan_of(project, "served_by: vllm\n", model=HOSTED)
    prompt = {"system": "", "user": "{caption}"}
    asked = {"form": "judge", "ask": "write", "max_tokens": 9, "sampling": {"rule": "none"}}
    assert RunKeys(blind).model_key("judge", "served", prompt, asked).answers.settings["frames"] is None


def test_only_settings_that_shape_responses_change_the_key(project: Project) -> None:
    def key(served_by: str, more: str = "") -> str:
        shown = "" if "settings" in more else "settings: {frames: images}\n"
        return hosted(project, f"served_by: {{engine: vllm{served_by}}}\n{more}{shown}").key

    first = key("")
    assert key(", gpu_memory: 0.5, start_minutes: 90") == first
    assert key("", "settings: {frames: images, concurrency: 64}\n") == first
    more = ("max_model_len: 4096", "quantised: fp8", "arguments: [--enforce-eager]", "variables: {VLLM_USE_V1: '1'}")
    others = [*(key(f", {one}") for one in more), key("", "dtype: float16\n"), key("", "settings: {frames: video}\n")]
    assert len({first, *others}) == 7
    project.write("envs/other.txt", "vllm==0.32.0\n")
    assert key(", environment: other") not in {first, *others}


@pytest.mark.parametrize(
    ("pins", "message"),
    [
        ("-r base.txt\n", r"envs/serve\.txt: line 1: '-r base\.txt' is not a pin"),
        (None, r"envs/serve\.txt: no such file\. Set `served_by\.environment` of the model's file to one of: none"),
    ],
)
def test_all_packages_of_an_environment_are_pinned(project: Project, pins: Any, message: str) -> None:
    plan = plan_of(project, "served_by: vllm\nsettings: {frames: images}\n", model=HOSTED)
    path = project.root / "envs" / "serve.txt"
    path.unlink() if pins is None else path.write_text(pins)
    with pytest.raises(UserError, match=message):
        all_settings(plan)


def test_runner_and_pins_are_in_the_key_but_time_limits_are_not(project: Project) -> None:
    def found(
        served_by: str = "", text: str = PROGRAM, pins: str = f"torch==2.13.0\nx @ git+https://h/x@{40 * 'a'}\n"
    ) -> ModelRunKey:
        project.write("own.py", text)
        project.write("envs/own.txt", pins)
        return hosted(project, f"gpus: 1\nserved_by: {{{OWN}{served_by}}}\n")

    first = found()
    assert {"torch": "2.13.0", "x": 40 * "a"}.items() <= first.answers.versions.items()
    assert first.hosting is not None and first.hosting.arguments[:2] == ("--device", "cuda")
    assert first.answers.settings["frames"] == "video" and first.serving["timeout_s"] == 1800
    assert found(", answer_minutes: 3, start_minutes: 9").key == first.key
    others = {found(text=PROGRAM.replace('"A"', '"B"')).key, found(pins="torch==2.12.0\n").key}
    assert len({first.key, *others}) == 3
    with pytest.raises(UserError, match=r"own\.py: does not define `scores\(.*set `scores: null` in `settings`"):
        found(text=PROGRAM.partition("def scores")[0])

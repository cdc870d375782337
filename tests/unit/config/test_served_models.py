"""Test the plan of models at servers, running or started by a job: budgets, keys, retirement and mistakes."""

import logging
from pathlib import Path
from typing import Any

import pytest
from reprise.commands.pending import JobEstimate
from reprise.commands.totals import describe_costs
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
SERVED_MODEL = """
label: Served
adapter: openai
settings:
  url: http://127.0.0.1:8000/v1
  model: toy
"""
HOSTED_MODEL = f"""
label: Hosted
adapter: openai
repo: owner/name
revision: {"0123456789" * 4}
"""
RUNNER_SETTINGS = "engine: runner, runner: own.py, environment: own"
RUNNER_SOURCE = """
def load(folder, device): pass
def answer(frames, times, prompt, max_tokens): return "A"
def scores(frames, times, prompt, options): return [0.5, 0.5]
"""
RUN = "velociti/mc/fps1/served"
KEY = "  key: OUR_API_KEY\n"
PRICE = "price: {input: 2, output: 8, date: 2026-11-22, source: https://vendor.example/prices}\n"


def make_plan(
    project: Project, extra_lines: str = "", protocol: str = "mc", budget: str = "0", model: str = SERVED_MODEL
) -> Plan:
    """Return a plan of the demo with one more run; `extra_lines` are added to the model's file."""
    project.write(FILE, model + extra_lines)
    project.write("envs/serve.txt", "vllm==0.32.0\ntorch==2.13.0\ncertifi==1\n")
    suite = "config/suites/demo.yaml"
    text = (ROOT / suite).read_text().replace("run: [local]", f"run: [local, served]\nbudget_usd: {budget}")
    extra = f"    clips: ids\n    extra_runs: [{protocol}/fps1/served]\n"
    project.write(suite, text.replace("    clips: ids\n", extra, 1))
    return project.plan()


def get_run_key(plan: Plan) -> ModelRunKey:
    (run_key,) = (key for name, key in all_settings(plan).items() if name == RUN)
    assert isinstance(run_key, ModelRunKey)
    return run_key


def test_address_and_price_of_a_server_are_not_in_the_key(project: Project) -> None:
    def make_key(extra_lines: str) -> ModelRunKey:
        return get_run_key(make_plan(project, extra_lines))

    with_server = "  server: vllm 0.33\n"
    first = make_key(with_server)
    priced = get_run_key(make_plan(project, f"{with_server}{KEY}{PRICE}", budget="1"))
    assert priced.price is not None and priced.price.output == 8 and first.price is None
    other_limits = make_key(f"{with_server}  concurrency: 32\n  timeout_s: 5\n  retries: 1\n  max_images: 99\n")
    other_address = get_run_key(make_plan(project, with_server, model=SERVED_MODEL.replace("8000", "9000")))
    assert first.key == other_limits.key == other_address.key == priced.key and "price" not in first.model_dump(
        mode="json"
    )
    assert (other_address.serving["url"], other_limits.serving["concurrency"]) == ("http://127.0.0.1:9000/v1", 32)
    changes = ("", "  server: sglang\n", f"{with_server}  temperature: 1\n", f"{with_server}  body: {{seed: 1}}\n")
    assert len({first.key, *(make_key(change).key for change in changes)}) == 5


@pytest.mark.parametrize(
    ("extra_lines", "budget", "reason"),
    [
        ("", "0", ""),
        (f"{KEY}{PRICE}", "0", "its file names a `price:`, and `budget_usd:` in config/suites/demo.yaml is 0."),
        (f"{KEY}{PRICE}", "1", ""),
        (KEY, "1", "its file names no `price:`, and `budget_tokens:` in config/suites/demo.yaml is 0."),
        (KEY, "0\nbudget_tokens: 9", ""),
    ],
)
def test_a_paid_model_needs_a_budget(project: Project, extra_lines: str, budget: str, reason: str) -> None:
    plan = make_plan(project, extra_lines, budget=budget)
    assert ("served" in plan.selected_models) == (not reason)
    assert not reason or f"its model has a paid API, {reason}" in plan.explain_skipped_run(Run.parse(RUN))


def test_scores_are_rejected_without_support_by_the_server(project: Project) -> None:
    with pytest.raises(UserError, match=r"requests 'score', but adapter 'openai' supports only choose, write\. If the model supports it, "
                                        r"set `settings: \{scores: logprob_token_ids\}`"):  # fmt: skip
        make_plan(project, protocol="entail")
    make_plan(project, "  scores: logprob_token_ids\n", protocol="entail")


def test_a_retired_model_is_named(project: Project, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for day in ("9999-01-01", "2020-02-29"):
            warn_about_models(
                make_plan(project, f"served_until: {{date: {day}, source: https://vendor.example/retired}}\n"), []
            )
    assert [record.message for record in caplog.records] == [
        "Model served was served until 2020-02-29 (https://vendor.example/retired). Cached answers stay valid; "
        "new requests to it will fail."
    ]


@pytest.mark.parametrize(
    ("extra_lines", "request_count", "tokens", "expected_message"),
    [
        (PRICE, 100, 50_000, "Cost: $0.30 of `budget_usd` 5 are spent; pending, with answers of maximal length: $0.10 (prices of served "
                             "2026-11-22, https://vendor.example/prices)."),
        ("", 100, 50_000, "Price unknown: served. 7 of `budget_tokens` 9 are used; pending, with answers of maximal length: 50,100 tokens."),
    ],
)  # fmt: skip
def test_a_plan_reports_spending_and_maximum_cost(
    project: Project, extra_lines: str, request_count: int | None, tokens: float | None, expected_message: str
) -> None:
    plan = make_plan(project, KEY + extra_lines, budget="5\nbudget_tokens: 9")
    plan.store.root = project.root
    ledger, full_budget = Ledger(project.root), Budget(9.0, 9)
    ledger.reserve("x", RequestCost(0.3, 8), full_budget)
    ledger.reserve("x", RequestCost(None, 7), full_budget)
    workload = None if request_count is None else Workload(request_count, 1, 0.0)
    estimates = []
    for slug in ("served", "oracle"):
        job = ModelJob(ScoredRun(Run.parse(RUN.replace("served", slug))), RUN, "k", Path("r"), Path("q"), 1)
        estimates.append(JobEstimate(PendingJob(job, slug, (), has_stale_inputs=False), workload, prompt_tokens=tokens))
    (line,) = describe_costs(plan, estimates)
    assert expected_message in line
    assert list(describe_costs(plan, estimates[1:])) == []


MODEL_WITHOUT_URL = SERVED_MODEL.replace("  url: http://127.0.0.1:8000/v1\n", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SERVED_MODEL + PRICE, "price: this model has no settings.key, so it costs nothing. Remove the price, or set the key."),
        (f"{MODEL_WITHOUT_URL}  url: https://user:secret@host/v1\n", "settings.url: should be an address"),
        (f"{SERVED_MODEL}  key: sk-secret-0123\n", "settings.key: should be the name of an environment variable"),
        (HOSTED_MODEL + "served_by: vlm\n", "served_by.engine: should be 'vllm' or 'runner', found 'vlm'. Did you mean 'vllm'?"),
        (HOSTED_MODEL + "served_by: vllm\nsettings: {url: 'http://127.0.0.1:8000/v1', model: x}\n", "settings: served_by: the job that starts the server sets url, model. Remove them here."),
        (HOSTED_MODEL + "served_by: vllm\nattention: eager\n", "the job's server does not use: attention. Remove"),
        (HOSTED_MODEL + "served_by: vllm\ngpus: 2\ngpus_per_copy: 2\n", "the job's server does not use: gpus_per_copy. Remove"),
        (HOSTED_MODEL + "served_by: {engine: vllm, arguments: [--port=1]}\n", "'--port=1': set by other settings or by the job"),
        (HOSTED_MODEL + "served_by: {engine: vllm, arguments: [-tp, '2']}\n", "'-tp': write arguments with their long names"),
        (HOSTED_MODEL + "served_by: {engine: vllm, arguments: [seed, '2']}\n", "'seed' is not the name of an argument. Begin with one, such as --seed."),
        (HOSTED_MODEL + "served_by: {engine: vllm, variables: {LD_PRELOAD: x}}\n", "'LD_PRELOAD': only variables named VLLM_..."),
        (HOSTED_MODEL + "served_by: {engine: vllm, environment: ../x}\n", "served_by.environment: should be a name"),
        (HOSTED_MODEL + "served_by: runner\n", "served_by: engine 'runner' requires runner and environment."),
        (f"{HOSTED_MODEL}served_by: {{{RUNNER_SETTINGS}, max_frames: 8}}\n", "served_by: max_frames: engine 'runner' has no such setting."),
        (HOSTED_MODEL + "served_by: {engine: runner, runner: ../own.py, environment: own}\n", "runner: '../own.py' should be a file"),
        (HOSTED_MODEL + "served_by: vllm\nsettings: {scores: similarity}\n", "settings.scores: only a model runner supports 'similarity'. Use logprob_token_ids, or null."),
        (HOSTED_MODEL.replace("openai", "transformers") + "served_by: vllm\n", "served_by: adapter 'transformers' does not query such a server. Use: openai."),
    ],
)  # fmt: skip
def test_a_mistake_in_the_models_file_is_named(project: Project, text: str, message: str) -> None:
    project.write(FILE, text)
    project.edit("config/suites/demo.yaml", "\noverview:\n", "\noverview:\n  - served\n")
    reported_message = project.message()
    assert reported_message.startswith(f"{FILE}: ") and message in reported_message and "secret" not in reported_message


def make_hosted_key(project: Project, extra_lines: str) -> ModelRunKey:
    return get_run_key(make_plan(project, extra_lines, model=HOSTED_MODEL))


def test_the_key_contains_arguments_and_environment_of_the_server(project: Project) -> None:
    key = make_hosted_key(
        project, "gpus: 4\ndtype: bfloat16\ntrust_remote_code: true\nserved_by: vllm\nsettings: {frames: images}\n"
    )
    assert key.answers.serving is not None and key.hosting is not None
    arguments = " ".join(key.answers.serving.arguments)
    assert arguments == (
        '--dtype bfloat16 --limit-mm-per-prompt {"image":128,"video":0} --trust-remote-code '
        "--seed 0 --generation-config auto --enable-prompt-tokens-details"
    )
    assert key.hosting.arguments[:2] == ("--tensor-parallel-size", "4"), "devices do not affect answers"
    assert {"vllm": "0.32.0", "torch": "2.13.0"}.items() <= key.answers.versions.items()
    assert key.answers.settings["model"] == "owner/name@0123456789012345678901234567890123456789"
    assert key.answers.settings["scores"] == "logprob_token_ids" and key.serving["max_images"] == 128
    assert not {"url", "key", "server"} & (key.serving.keys() | key.answers.settings.keys())


def test_the_context_length_is_automatic_by_default(project: Project) -> None:
    """A 7B model with a context of 128,000 tokens would not start on 24 GB; the automatic length is not in the key."""
    for served_by, is_automatic in (("vllm", True), ("{engine: vllm, max_model_len: 4096}", False)):
        key = make_hosted_key(project, f"served_by: {served_by}\nsettings: {{frames: images}}\n")
        assert key.answers.serving is not None and key.hosting is not None
        assert (" --max-model-len auto " in f" {' '.join(key.hosting.arguments)} ") == is_automatic
        assert ("--max-model-len" in key.answers.serving.arguments) != is_automatic


def test_the_frames_setting_of_a_served_model_is_required(project: Project) -> None:
    """Images have no timestamps: a video model would answer without an error, but worse."""
    message = r"^config/models/served\.yaml: settings\.frames: missing\. Write `settings: \{frames: video\}`"
    with pytest.raises(UserError, match=message):
        make_hosted_key(project, "served_by: vllm\n")
    text_only_plan = make_plan(project, "served_by: vllm\n", model=HOSTED_MODEL)
    prompt = {"system": "", "user": "{caption}"}
    protocol = {"form": "judge", "request_type": "write", "max_tokens": 9, "sampling": {"rule": "none"}}
    assert RunKeys(text_only_plan).model_key("judge", "served", prompt, protocol).answers.settings["frames"] is None


def test_only_settings_that_affect_responses_change_the_key(project: Project) -> None:
    def make_key(served_by: str, extra_lines: str = "") -> str:
        settings = "" if "settings" in extra_lines else "settings: {frames: images}\n"
        return make_hosted_key(project, f"served_by: {{engine: vllm{served_by}}}\n{extra_lines}{settings}").key

    first = make_key("")
    assert make_key(", gpu_memory: 0.5, start_minutes: 90") == first
    assert make_key("", "settings: {frames: images, concurrency: 64}\n") == first
    server_settings = (
        "max_model_len: 4096",
        "quantised: fp8",
        "arguments: [--enforce-eager]",
        "variables: {VLLM_USE_V1: '1'}",
    )
    others = [
        *(make_key(f", {setting}") for setting in server_settings),
        make_key("", "dtype: float16\n"),
        make_key("", "settings: {frames: video}\n"),
    ]
    assert len({first, *others}) == 7
    project.write("envs/other.txt", "vllm==0.32.0\n")
    assert make_key(", environment: other") not in {first, *others}


@pytest.mark.parametrize(
    ("pins", "message"),
    [
        ("-r base.txt\n", r"envs/serve\.txt: line 1: '-r base\.txt' is not a pin"),
        (None, r"envs/serve\.txt: no such file\. Set `served_by\.environment` of the model's file to one of: none"),
    ],
)
def test_all_packages_of_an_environment_are_pinned(project: Project, pins: Any, message: str) -> None:
    plan = make_plan(project, "served_by: vllm\nsettings: {frames: images}\n", model=HOSTED_MODEL)
    path = project.root / "envs" / "serve.txt"
    path.unlink() if pins is None else path.write_text(pins)
    with pytest.raises(UserError, match=message):
        all_settings(plan)


def test_runner_and_pins_are_in_the_key_but_time_limits_are_not(project: Project) -> None:
    def make_key(
        served_by: str = "", source: str = RUNNER_SOURCE, pins: str = f"torch==2.13.0\nx @ git+https://h/x@{40 * 'a'}\n"
    ) -> ModelRunKey:
        project.write("own.py", source)
        project.write("envs/own.txt", pins)
        return make_hosted_key(project, f"gpus: 1\nserved_by: {{{RUNNER_SETTINGS}{served_by}}}\n")

    first = make_key()
    assert {"torch": "2.13.0", "x": 40 * "a"}.items() <= first.answers.versions.items()
    assert first.hosting is not None and first.hosting.arguments[:2] == ("--device", "cuda")
    assert first.answers.settings["frames"] == "video" and first.serving["timeout_s"] == 1800
    assert make_key(", answer_minutes: 3, start_minutes: 9").key == first.key
    others = {make_key(source=RUNNER_SOURCE.replace('"A"', '"B"')).key, make_key(pins="torch==2.12.0\n").key}
    assert len({first.key, *others}) == 3
    with pytest.raises(UserError, match=r"own\.py: does not define `scores\(.*set `scores: null` in `settings`"):
        make_key(source=RUNNER_SOURCE.partition("def scores")[0])

"""Models at servers as the configuration and the plan see them: what they need, what their keys hold, when they end."""

import logging
from pathlib import Path

import pytest
from reprise.commands.left import Planned
from reprise.commands.plan import money
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.core.paths import Run, Scored
from reprise.models.asking.money.prices import Budget, Entry, Ledger
from reprise.models.keys import ModelRunKey
from reprise.plan.answers import Job
from reprise.plan.costs import Load
from reprise.plan.runs import Plan
from reprise.plan.states import Asking
from reprise.plan.suite import collect_keys
from reprise.plan.targets import warn_of_models

from tests.unit.config.conftest import CODE, Project

FILE = "config/models/served.yaml"
SERVED = """
label: Served
adapter: openai
settings:
  url: http://127.0.0.1:8000/v1
  model: toy
"""
RUN = "velociti/mc/fps1/served"
KEY = "  key: OUR_API_KEY\n"
PRICE = "price: {input: 2, output: 8, date: 2026-11-22, source: https://vendor.example/prices}\n"


def plan_of(project: Project, more: str = "", protocol: str = "mc", budget: str = "0") -> Plan:
    """A plan of the demo with one more run, of a model whose file has these lines too."""
    project.write(FILE, SERVED + more)
    suite = "config/suites/demo.yaml"
    text = (Path(__file__).parents[3] / suite).read_text()
    text = text.replace("run: [local]", f"run: [local, served]\nbudget_usd: {budget}")
    extra = f"    clips: ids\n    extra_runs: [{protocol}/fps1/served]\n"
    project.write(suite, text.replace("    clips: ids\n", extra, 1))
    return Plan(load(project.root))


def key_of(plan: Plan) -> ModelRunKey:
    (found,) = (key for path, key in collect_keys(plan, CODE).items() if str(path).endswith(f"{RUN}.json"))
    assert isinstance(found, ModelRunKey)
    return found


def test_how_a_server_is_reached_shapes_no_answer_and_what_answers_does(
    here: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def key(more: str) -> ModelRunKey:
        return key_of(plan_of(here, more))

    named = "  server: vllm 0.33\n"
    first = key(named)
    moved = key(f"{named}  concurrency: 32\n  timeout_s: 5\n  retries: 1\n  max_images: 99\n")
    monkeypatch.setattr("tests.unit.config.test_served_models.SERVED", SERVED.replace("8000", "9000"))
    elsewhere = key(named)
    assert first.key == moved.key == elsewhere.key
    assert (elsewhere.serving["url"], moved.serving["concurrency"]) == ("http://127.0.0.1:9000/v1", 32)
    others = [
        key(""),
        *(key(more) for more in ("  server: sglang\n", f"{named}  temperature: 1\n", f"{named}  body: {{seed: 1}}\n")),
    ]
    assert len({first.key, *(other.key for other in others)}) == 5


@pytest.mark.parametrize(
    ("more", "budget", "why"),
    [
        ("", "0", ""),
        (f"{KEY}{PRICE}", "0", "its file names a `price:`, and `budget_usd:` in config/suites/demo.yaml is 0."),
        (f"{KEY}{PRICE}", "0\nbudget_tokens: 9", "its file names a `price:`, and `budget_usd:` in config"),
        (f"{KEY}{PRICE}", "1", ""),
        (KEY, "1", "its file names no `price:`, and `budget_tokens:` in config/suites/demo.yaml is 0."),
        (KEY, "0\nbudget_tokens: 9", ""),
    ],
)
def test_a_model_that_is_paid_for_needs_a_budget(project: Project, more: str, budget: str, why: str) -> None:
    plan = plan_of(project, more, budget=budget)
    assert ("served" in plan.models) == (not why)
    assert not why or f"its model is behind an API with a key and {why}" in plan.why_idle(Run.parse(RUN))


def test_a_price_is_in_the_key_of_its_runs_and_shapes_no_answer(here: Project) -> None:
    priced, unpriced = (key_of(plan_of(here, more, budget="1\nbudget_tokens: 9")) for more in (KEY + PRICE, KEY))
    assert priced.price is not None and priced.price.output == 8 and unpriced.price is None
    assert priced.key == unpriced.key and "price" not in unpriced.model_dump(mode="json")


def test_scores_are_refused_where_the_server_gives_none(project: Project) -> None:
    with pytest.raises(UserError, match=r"asks for 'score', adapter 'openai' gives choose, write\. Where its model can, "
                                        r"set `settings: \{scores: logprob_token_ids\}`"):  # fmt: skip
        plan_of(project, protocol="entail")
    plan_of(project, "  scores: logprob_token_ids\n", protocol="entail")


@pytest.mark.parametrize(
    ("served_until", "said"),
    [
        ("{date: 2020-02-29, source: https://vendor.example/retired}",
         ["Model served was served until 2020-02-29 (https://vendor.example/retired). Answers that are there stay; new "
          "questions to it will fail."]),
        ("{date: 9999-01-01, source: https://vendor.example/retired}", []),
        ("null", []),
    ],
)  # fmt: skip
def test_a_model_that_its_vendor_has_ended_is_named(
    project: Project, caplog: pytest.LogCaptureFixture, served_until: str, said: list[str]
) -> None:
    plan = plan_of(project, f"served_until: {served_until}\n")
    with caplog.at_level(logging.WARNING):
        warn_of_models(plan, [])
        assert [one.message for one in caplog.records] == said
        warn_of_models(plan, ["results/tables/vinoground/table3.md"])
    assert [one.message for one in caplog.records] == said, "of other targets nothing is said"


@pytest.mark.parametrize(
    ("more", "questions", "tokens", "said"),
    [
        (PRICE, 100, 50_000, "Money: $0.30 of `budget_usd` 5 are spent; left to ask, with answers as long as they may be: $0.10 (prices of served "
                             "2026-11-22, https://vendor.example/prices)."),
        (PRICE, 100, None, "as long as they may be: ? (prices"),
        ("", 100, 50_000, "Price unknown: served. 7 of `budget_tokens` 9 are used; left to ask, with answers as long as they may be: 50,100 tokens."),
        (f"{PRICE}#", None, 5, "as long as they may be: ?"),
    ],
)  # fmt: skip
def test_a_plan_says_what_was_spent_and_what_asking_costs_at_most(
    project: Project, more: str, questions: int | None, tokens: float | None, said: str
) -> None:
    plan = plan_of(project, KEY + more, budget="5\nbudget_tokens: 9")
    plan.store.root = project.root
    ledger, all_of_it = Ledger(project.root), Budget(9.0, 9)
    ledger.reserve("x", Entry(0.3, 8), all_of_it)
    ledger.reserve("x", Entry(None, 7), all_of_it)
    load = None if questions is None else Load(questions, 1, 0.0)
    planned = []
    for slug in ("served", "oracle"):
        job = Job(Scored(Run.parse(RUN.replace("served", slug))), Path("k"), Path("r"))
        planned.append(Planned(Asking(job, slug, (), is_remade=False), load, tokens=tokens))
    (line,) = money(plan, planned)
    assert said in line
    assert list(money(plan, planned[1:])) == []


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("dtype: float16\n", "adapter 'openai' does not go by: dtype. Remove what this names."),
        (PRICE, "price: this model has no settings.key, so that nobody is paid. Remove it, or name the key."),
        ("  url: localhost:8000\n", "settings.url: should be an address such as http://127.0.0.1:8000/v1, without"),
        ("  url: https://user:secret@host/v1\n", "settings.url: should be an address"),
        ("  key: sk-secret-0123\n", "settings.key: should be the name of an environment variable"),
    ],
)
def test_a_mistake_in_the_models_file_is_named(project: Project, more: str, message: str) -> None:
    text = SERVED.replace("  url: http://127.0.0.1:8000/v1\n", "") if "url:" in more else SERVED
    project.write(FILE, text + more)
    said = project.message()
    assert said.startswith(f"{FILE}: ") and message in said and "secret" not in said

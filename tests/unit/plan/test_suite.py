"""What the Snakemake rules ask: paths of wildcards, what a wrong target is told, and what a part of a name means."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.plan.naming import fitting, nearest
from reprise.plan.runs import Plan
from reprise.plan.site import PartitionLimits, Site
from reprise.plan.suite import Suite, all_settings
from reprise.tables.keys import ReproductionKey

from tests.unit.config.conftest import Project


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan(load(Path(), {"suite": "demo"}))


@pytest.fixture(scope="module")
def suite(plan: Plan) -> Suite:
    return Suite(plan, {})


def test_a_wrong_table_or_figure_is_told_those_that_exist(suite: Suite) -> None:
    """Another workflow that has this one as a module may ask for them."""
    for files, wildcards, said in (
        (suite.tables.metrics, {"benchmark": "velociti", "table": "table99"}, "tables/velociti/table99: unknown table"),
        (suite.tables.statistics, {"benchmark": "velocity", "table": "table2"}, "Did you mean 'velociti/table2'?"),
        (suite.figures.metrics, {"benchmark": "velociti", "figure": "fig99"}, "figures/velociti/fig99: unknown figure"),
        (suite.tables.parts, {"table": "table99", "kind": "md"}, "no paper of suite 'demo' has it. There are: table1 ("),
    ):  # fmt: skip
        with pytest.raises(UserError, match=re.escape(said)):
            files(SimpleNamespace(**wildcards))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("vinoground/authors/linspace32/llava-onevision-72b", "`run:` in config/suites/paper.yaml does not select 'llava-onevision-72b' (it needs"),
        ("vinoground/paper/black32/gpt-4o", "`run:` in config/suites/paper.yaml does not select 'gpt-4o'."),
    ],
)  # fmt: skip
def test_a_run_that_is_shown_but_not_made_says_why(name: str, why: str) -> None:
    plan = Plan(load(Path(), {"suite": "paper"}))
    with pytest.raises(UserError) as error:
        plan.find_run(name)
    assert f"{name}: suite 'paper' shows this run, but does not make it: " in str(error.value)
    assert why in str(error.value)


@pytest.mark.parametrize(
    ("run", "before"),
    [
        ("vinoground/cot.judged/fps1/toy-llava-ov", ["results/demo/responses/vinoground/cot/fps1/toy-llava-ov.parquet"]),
        ("vinoground/cot/fps1/toy-llava-ov", []),
        ("vinoground/cot.judged/black8/toy-llava-ov", []),  # the suite does not ask the other one so
        ("velociti/entail.subset/fps1/toy-llava-ov", []),  # the other one asks more
    ],
)  # fmt: skip
def test_a_run_waits_for_one_that_asks_the_same(suite: Suite, run: str, before: list[str]) -> None:
    names = ("benchmark", "protocol", "sampling", "model")
    wildcards = SimpleNamespace(**dict(zip(names, run.split("/"), strict=True)))
    assert [str(path) for path in suite.inference.asked_alike(wildcards)] == before


BIG, SMALL = SimpleNamespace(model="qwen2-vl-72b"), SimpleNamespace(model="llava-onevision-7b")
CPU, GPU = PartitionLimits(max_runtime=300), PartitionLimits(max_runtime=2000, max_mem_mb=400_000, max_gpu=8)


def test_a_job_asks_for_more_at_each_attempt_and_no_more_than_the_site_has(plan: Plan) -> None:
    here, there = (Suite(plan, {}, site=site).inference for site in (None, Site(partitions={"cpu": CPU, "gpu": GPU})))
    asked = [(here.gpus(one), here.memory_mb(one, 1), here.minutes(one, 1)) for one in (BIG, SMALL)]
    assert asked == [(4, 160_000, 24 * 60), (1, 24_000, 8 * 60)]
    assert here.memory_mb(SMALL, 3) == 72_000 and here.minutes(SMALL, 3) == 24 * 60
    assert [there.memory_mb(BIG, attempt) for attempt in (1, 2, 3)] == [160_000, 320_000, 400_000]
    assert [there.minutes(BIG, attempt) for attempt in (1, 2)] == [1440, 2000]
    assert [here.stage_minutes(SMALL, 2), there.stage_minutes(SMALL, 2)] == [480, 300]


def test_a_number_beside_the_papers_names_its_conditions(project: Project) -> None:
    project.edit("config/suites/paper.yaml", "run: [none]", "run: [llava-onevision-7b]")
    model = "config/models/llava-onevision-7b.yaml"
    project.edit(model, "revision: unpinned", f"revision: {'0123456789' * 4}")
    project.edit(model, "dtype: checkpoint", "dtype: float16\nsettings: {quantised: awq}")
    plan = project.plan("paper")
    reproduction = all_settings(plan)["reproduction"]
    assert isinstance(reproduction, ReproductionKey)
    found = reproduction.conditions["velociti/entail/fps1/llava-onevision-7b"]
    assert found[:2] == ("protocol entail", "frames fps1")
    assert found[2:] == ("revision 012345678901", "weights in float16", "quantised: awq")


NAMES = [
    "velociti/entail/fps1/oracle",
    "velociti/entail.subset/fps1/oracle",
    "velociti/mc/fps1/oracle",
    "velociti/mc/fps1/toy-llava-ov",
    "velociti/mc/fps1/toy-llava-ov-early",
    "vinoground/paper/black8/oracle",
]


def test_words_mean_the_names_that_have_them_in_this_order() -> None:
    meant = {
        "velociti/mc/fps1/oracle": NAMES[2:3], "mc/oracle": NAMES[2:3], "mc/toy-llava-ov": NAMES[3:4], "mc/toy": NAMES[3:5],
        "entail/oracle": NAMES[:1], "entail.s": NAMES[1:2], "vino": NAMES[5:], "early": NAMES[4:5],
        "velociti/mc/fps1/toy-llava": [], "oracle/mc": [], "nothing": [], "": [], "/": [],
    }  # fmt: skip
    assert {words: fitting(words, NAMES) for words in meant} == meant


def test_the_nearest_name_is_suggested_whole_or_in_part() -> None:
    assert nearest("velociti/mc/fps1/orcale", NAMES) == " Did you mean 'velociti/mc/fps1/oracle'?"
    assert nearest("orcale", NAMES) == " Did you mean 'oracle'?"
    assert nearest("something else", NAMES) == ""

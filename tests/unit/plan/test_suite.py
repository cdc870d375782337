"""Test the objects of the Snakemake rules: paths from wildcards, messages about unknown targets, abbreviated names."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from reprise.config.load import load
from reprise.core.errors import UserError
from reprise.plan.name_matching import match_names, suggest_closest
from reprise.plan.runs import Plan
from reprise.plan.site import SlurmPartition, SlurmSite
from reprise.plan.suite import SuiteRules, all_settings
from reprise.tables.keys import ReproductionKey

from tests.unit.config.conftest import Project


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan(load(Path(), {"suite": "demo"}))


@pytest.fixture(scope="module")
def suite(plan: Plan) -> SuiteRules:
    return SuiteRules(plan, {})


def test_an_unknown_table_or_figure_is_reported_with_the_existing_ones(suite: SuiteRules) -> None:
    """A workflow that imports this one as a module may request them."""
    for files, wildcards, message in (
        (suite.tables.metrics, {"benchmark": "velociti", "table": "table99"}, "tables/velociti/table99: unknown table"),
        (suite.tables.statistics, {"benchmark": "velocity", "table": "table2"}, "Did you mean 'velociti/table2'?"),
        (suite.figures.metrics, {"benchmark": "velociti", "figure": "fig99"}, "figures/velociti/fig99: unknown figure"),
        (suite.tables.parts, {"table": "table99", "kind": "md"}, "no paper of suite 'demo' has it. Available: table1 ("),
    ):  # fmt: skip
        with pytest.raises(UserError, match=re.escape(message)):
            files(SimpleNamespace(**wildcards))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("vinoground/authors/linspace32/llava-onevision-72b", "`run:` in config/suites/paper.yaml does not select 'llava-onevision-72b' (it needs"),
        ("vinoground/paper/black32/gpt-4o", "`run:` in config/suites/paper.yaml does not select 'gpt-4o'."),
    ],
)  # fmt: skip
def test_a_run_that_is_not_selected_is_reported_with_the_reason(name: str, reason: str) -> None:
    plan = Plan(load(Path(), {"suite": "paper"}))
    with pytest.raises(UserError) as caught:
        plan.find_run(name)
    assert f"{name}: suite 'paper' shows this run, but does not compute it: " in str(caught.value)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("run", "earlier_responses"),
    [
        ("vinoground/cot.judged/fps1/toy-llava-ov", ["results/demo/responses/vinoground/cot/fps1/toy-llava-ov.parquet"]),
        ("vinoground/cot/fps1/toy-llava-ov", []),
        ("vinoground/cot.judged/black8/toy-llava-ov", []),  # the suite has no such run of the other protocol
        ("velociti/entail.subset/fps1/toy-llava-ov", []),  # the other protocol has more items
    ],
)  # fmt: skip
def test_a_run_waits_for_a_run_with_the_same_requests(
    suite: SuiteRules, run: str, earlier_responses: list[str]
) -> None:
    names = ("benchmark", "protocol", "sampling", "model")
    wildcards = SimpleNamespace(**dict(zip(names, run.split("/"), strict=True)))
    assert [str(path) for path in suite.inference.equivalent_answers(wildcards)] == earlier_responses


LARGE_JOB, SMALL_JOB = SimpleNamespace(model="qwen2-vl-72b"), SimpleNamespace(model="llava-onevision-7b")
CPU, GPU = SlurmPartition(max_runtime=300), SlurmPartition(max_runtime=2000, max_mem_mb=400_000, max_gpu=8)


def test_a_job_requests_more_resources_at_each_attempt_up_to_the_limits_of_the_site(plan: Plan) -> None:
    local_rules, cluster_rules = (
        SuiteRules(plan, {}, site=site).inference for site in (None, SlurmSite(partitions={"cpu": CPU, "gpu": GPU}))
    )
    resources = [
        (local_rules.gpus(job), local_rules.memory_mb(job, 1), local_rules.minutes(job, 1))
        for job in (LARGE_JOB, SMALL_JOB)
    ]
    assert resources == [(4, 160_000, 24 * 60), (1, 24_000, 8 * 60)]
    assert local_rules.memory_mb(SMALL_JOB, 3) == 72_000 and local_rules.minutes(SMALL_JOB, 3) == 24 * 60
    assert [cluster_rules.memory_mb(LARGE_JOB, attempt) for attempt in (1, 2, 3)] == [160_000, 320_000, 400_000]
    assert [cluster_rules.minutes(LARGE_JOB, attempt) for attempt in (1, 2)] == [1440, 2000]
    assert [local_rules.stage_minutes(SMALL_JOB, 2), cluster_rules.stage_minutes(SMALL_JOB, 2)] == [480, 300]


def test_a_reproduced_number_has_its_conditions(project: Project) -> None:
    suite, model = "config/suites/paper.yaml", "config/models/llava-onevision-7b.yaml"
    project.edit(suite, "run: [none]", "run: [llava-onevision-7b, qwen2-72b]\njudges: [qwen2-72b]")
    project.edit(model, "revision: unpinned", f"revision: {'0123456789' * 4}")
    project.edit(model, "dtype: checkpoint", "dtype: float16\nsettings: {quantised: awq}")
    project.edit("config/models/qwen2-72b.yaml", "dtype: checkpoint", "settings: {quantised: awq}")
    plan = project.plan("paper")
    reproduction = all_settings(plan)["reproduction"]
    assert isinstance(reproduction, ReproductionKey)
    conditions = reproduction.conditions["velociti/entail/fps1/llava-onevision-7b"]
    assert conditions[:2] == ("protocol entail", "frames fps1")
    assert conditions[2:] == ("revision 012345678901", "weights in float16")
    run_obstacles = {run.name: ("quantised: awq",) for run in plan.runs()}
    assert reproduction.obstacles == run_obstacles | {"qwen2-72b": ("judge quantised: awq",)}


def test_numbers_of_other_data_cannot_be_compared_with_the_paper(project: Project) -> None:
    suite = "config/suites/paper.yaml"
    project.edit(suite, "run: [none]", "run: [llava-onevision-72b]")
    project.edit(suite, "{file: resources/subsets/velociti-150.csv}", "{per_test: 150}")
    project.edit(suite, "{kind: huggingface, repo: microsoft/TemporalBench, revision: unpinned}", "{kind: rehearsal}")
    reproduction = all_settings(project.plan("paper"))["reproduction"]
    assert isinstance(reproduction, ReproductionKey)
    reasons = {name.rpartition("/")[0]: reasons for name, reasons in reproduction.obstacles.items()}
    assert reasons["temporalbench"] == ("not the released data",), "counts of the data"
    assert reasons["temporalbench/short/linspace32"] == ("not the released data",)
    subset_reasons = {reasons for name, reasons in reproduction.obstacles.items() if ".subset/" in name}
    assert subset_reasons == {("another subset than the paper's",)}
    assert "velociti/entail/fps1" not in reasons
    limited = all_settings(project.plan("paper-limit40"))["reproduction"]
    assert isinstance(limited, ReproductionKey)
    assert limited.obstacles["vinoground/data"] == ("only 40 items per benchmark (--limit)",)


NAMES = [
    "velociti/entail/fps1/oracle",
    "velociti/entail.subset/fps1/oracle",
    "velociti/mc/fps1/oracle",
    "velociti/mc/fps1/toy-llava-ov",
    "velociti/mc/fps1/toy-llava-ov-early",
    "vinoground/paper/black8/oracle",
]


def test_a_query_matches_names_with_its_parts_in_order() -> None:
    matches = {
        "velociti/mc/fps1/oracle": NAMES[2:3], "mc/oracle": NAMES[2:3], "mc/toy-llava-ov": NAMES[3:4], "mc/toy": NAMES[3:5],
        "entail/oracle": NAMES[:1], "entail.s": NAMES[1:2], "vino": NAMES[5:], "early": NAMES[4:5],
        "velociti/mc/fps1/toy-llava": [], "oracle/mc": [], "nothing": [], "": [], "/": [],
    }  # fmt: skip
    assert {query: match_names(query, NAMES) for query in matches} == matches


def test_the_closest_name_or_part_is_suggested() -> None:
    assert suggest_closest("velociti/mc/fps1/orcale", NAMES) == " Did you mean 'velociti/mc/fps1/oracle'?"
    assert suggest_closest("orcale", NAMES) == " Did you mean 'oracle'?"
    assert suggest_closest("something else", NAMES) == ""

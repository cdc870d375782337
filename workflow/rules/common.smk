# What all rules share: the plan of the configured suite, wildcard constraints, input functions.
import re
import sys

from reprise.plan.plan import load_plan
from reprise.plan.snake import or_stop
from reprise.plan.targets import check_targets, targets_of, warn_of_unpinned

PYTHON = sys.executable
PLAN = or_stop(load_plan, config)
if "--target-jobs" not in sys.argv:  # a job of this workflow, not a person
    or_stop(check_targets, PLAN, targets_of(sys.argv))
    warn_of_unpinned(PLAN, targets_of(sys.argv))
    PLAN.imports.warn_of_unused(PLAN.models)
SUITE = PLAN.config.name
STORE = PLAN.config.main.store
IMPORTED = PLAN.imports.models
ASKED = set(PLAN.config.models) - IMPORTED
JUDGES = {judge for name in PLAN.config.benchmarks for judge in PLAN.judges_of(name)}


def one_of(names):
    """A wildcard's pattern: one of these names and nothing else."""
    return "|".join(map(re.escape, sorted(names))) or "(?!)"


wildcard_constraints:
    suite=re.escape(SUITE),
    benchmark=one_of(PLAN.config.benchmarks),
    protocol=one_of(
        {name for spec in PLAN.config.benchmarks.values() for name in spec.protocols}
    ),
    sampling=one_of(PLAN.config.main.samplings),
    model=one_of(PLAN.config.models),
    reader="authors|robust",
    judge=one_of(JUDGES),
    shard=r"\d+",
    table=r"table\d+",
    kind="tex|md|html",
    clip=r"[^/\s]+",


def shards_of(stage):
    """Every shard of a stage, for the benchmark of the asking rule."""
    return expand(
        f"results/{{{{suite}}}}/{stage}/{{{{benchmark}}}}/{{shard}}.parquet",
        shard=range(PLAN.config.suite.shards),
    )


def every_ledger(wildcards):
    """The ledgers of all videos that this site works on."""
    return expand(
        f"results/{SUITE}/{{stage}}/{{benchmark}}/{{shard}}.parquet",
        stage=["sources", "clips"],
        benchmark=PLAN.data_benchmarks(),
        shard=range(PLAN.config.suite.shards),
    )


def every_table():
    return expand(
        "results/tables/{table}.{kind}",
        table=PLAN.numbers(),
        kind=["tex", "md", "html"],
    )


def table_metrics(wildcards):
    """The metrics of the runs behind a table that this site can make."""
    scored = PLAN.table_scored(wildcards.benchmark, wildcards.table)
    return [f"results/{SUITE}/metrics/{one.name}.parquet" for one in scored]


def statistics_facts(wildcards):
    """Facts of the videos, where numbers of the data need them."""
    return (
        [f"results/{SUITE}/facts/{wildcards.benchmark}.parquet"]
        if PLAN.measures_videos(wildcards.benchmark)
        else []
    )


def human_ratings(wildcards):
    return PLAN.ratings_file(wildcards.benchmark)


def run_name(wildcards):
    return "{w.benchmark}/{w.protocol}/{w.sampling}/{w.model}".format(w=wildcards)


def imported_files(wildcards):
    """The files that hold an imported run's answers."""
    return PLAN.imports.answer_files(run_name(wildcards))


def rating_files(wildcards):
    """The file that holds an imported judge's ratings of a run."""
    return PLAN.imports.rating_files(run_name(wildcards), wildcards.judge)


def table_problems(wildcards):
    """What is wrong with the imported files behind a table."""
    scored = PLAN.table_scored(wildcards.benchmark, wildcards.table)
    answers = [one.run.name for one in scored if one.run.model in IMPORTED]
    ratings = [one.name for one in scored if one.judge in IMPORTED]
    return [
        *expand(f"results/{SUITE}/responses/{{run}}.problems.csv", run=answers),
        *expand(f"results/{SUITE}/judge_responses/{{run}}.problems.csv", run=ratings),
    ]


def table_statistics(wildcards):
    """Numbers of the data, for a table that shows them where the data can be had."""
    if PLAN.needs_data(wildcards.benchmark, wildcards.table):
        return [f"results/{SUITE}/statistics/{wildcards.benchmark}.parquet"]
    return []


def parts_of_table(wildcards):
    """The papers that have a Table N; asking for one that none has is the user's mistake."""
    return [
        f"results/tables/{benchmark}/{wildcards.table}.{wildcards.kind}"
        for benchmark in or_stop(PLAN.benchmarks_with, wildcards.table)
    ]


def model_weights(wildcards):
    """The note of a fetched hub snapshot; nothing for a local checkpoint or a model without weights."""
    return weights_of(wildcards.model)


def judge_weights(wildcards):
    return weights_of(wildcards.judge)


def weights_of(slug):
    return (
        [f"results/{SUITE}/weights/{slug}.json"]
        if PLAN.config.models[slug].repo
        else []
    )

# The making of a benchmark: raw annotations, candidates, texts by a language model, filters, review by people, a release.


rule construction_source:
    input:
        key="<suite>/keys/construction/{benchmark}/source.json",
    output:
        "<suite>/construction/{benchmark}/source/files.json",
    log:
        "<suite>/logs/construction/{benchmark}/source.log",
    wildcard_constraints:
        benchmark=PLAN.made.here(),
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.release --key {input.key:q} --store {STORE:q} --out {output:q} 2> {log:q}"


rule construction_candidates:
    input:
        key="<suite>/keys/construction/{benchmark}/candidates.json",
        files="<suite>/construction/{benchmark}/source/files.json",
    output:
        pool="<suite>/construction/{benchmark}/pool.parquet",
        texts="<suite>/construction/{benchmark}/texts.parquet",
        candidates="<suite>/construction/{benchmark}/candidates.parquet",
    log:
        "<suite>/logs/construction/{benchmark}/candidates.log",
    wildcard_constraints:
        benchmark=PLAN.made.here(),
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.construction_candidates --key {input.key:q} --files {input.files:q}"
        " --out {output:q} 2> {log:q}"


rule construction_requests:
    input:
        key="<suite>/keys/construction/{benchmark}/requests.json",
        tables=PLAN.made.tables("texts", "candidates"),
        replies=PLAN.made.rounds_before,
    output:
        "<suite>/construction/{benchmark}/requests/{round}.parquet",
    log:
        "<suite>/logs/construction/{benchmark}/requests/{round}.log",
    wildcard_constraints:
        benchmark=PLAN.made.here(),
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.construction_requests --key {input.key:q} --tables {input.tables:q}"
        " --replies {input.replies:q} --out {output:q} 2> {log:q}"


rule construction_write:
    input:
        key="<suite>/keys/construction/{benchmark}/writer.json",
        requests="<suite>/construction/{benchmark}/requests/{round}.parquet",
        weights=PLAN.weights,
        environment=PLAN.environment,
        retry=PLAN.answer_retry,
    output:
        replies="<suite>/construction/{benchmark}/replies/{round}.parquet",
        timings="<suite>/construction/{benchmark}/replies/{round}.timings.parquet",
    log:
        "<suite>/logs/construction/{benchmark}/write/{round}.log",
    wildcard_constraints:
        benchmark=PLAN.made.here(),
    threads: PLAN.threads
    resources:
        gpu=PLAN.gpus,
        mem_mb=PLAN.memory_mb,
        runtime=PLAN.minutes,
    shell:
        "{PYTHON:q} -m reprise.stages.infer --key {input.key:q} --requests {input.requests:q} --store {STORE:q}"
        " --threads {threads} --attempts {ATTEMPTS} --budget {BUDGET} --out {output.replies:q} --timings {output.timings:q}"
        " --log {log:q} 2> {log:q}"


rule construction_samples:
    input:
        key="<suite>/keys/construction/{benchmark}/samples.json",
        tables=PLAN.made.tables("pool", "texts", "candidates"),
        replies=PLAN.made.every_round,
    output:
        written="<suite>/construction/{benchmark}/written.parquet",
        samples="<suite>/construction/{benchmark}/samples.parquet",
    log:
        "<suite>/logs/construction/{benchmark}/samples.log",
    wildcard_constraints:
        benchmark=PLAN.made.here(),
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.construction_samples --key {input.key:q} --tables {input.tables:q}"
        " --replies {input.replies:q} --out {output:q} 2> {log:q}"


rule construction_review:
    input:
        key="<suite>/keys/construction/{benchmark}/review.json",
        tables=PLAN.made.tables("pool", "texts", "written", "samples"),
        verdicts=PLAN.made.verdicts,
    output:
        reviewed="<suite>/construction/{benchmark}/reviewed.parquet",
        votes="<suite>/construction/{benchmark}/votes.parquet",
        tasks="<suite>/construction/{benchmark}/review/tasks.csv",
        json="<suite>/construction/{benchmark}/review/tasks.json",
        problems="<suite>/construction/{benchmark}/review/problems.csv",
    log:
        "<suite>/logs/construction/{benchmark}/review.log",
    wildcard_constraints:
        benchmark=PLAN.made.here(),
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.construction_review --key {input.key:q} --tables {input.tables:q}"
        " --tasks {output.tasks:q} --json {output.json:q} --problems {output.problems:q}"
        " --out {output.reviewed:q} {output.votes:q} 2> {log:q}"


rule construction_release:
    input:
        key="<suite>/keys/construction/{benchmark}/release.json",
        tables=PLAN.made.tables("reviewed"),
    output:
        "<suite>/release/{benchmark}/files.json",
    log:
        "<suite>/logs/construction/{benchmark}/release.log",
    wildcard_constraints:
        benchmark=PLAN.made.here(),
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.construction_release --key {input.key:q} --tables {input.tables:q}"
        " --out {output:q} 2> {log:q}"


rule construction_statistics:
    input:
        key="<suite>/keys/construction/{benchmark}/statistics.json",
        tables=PLAN.made.tables(
            "pool", "texts", "candidates", "written", "samples", "reviewed", "votes"
        ),
    output:
        statistics="<suite>/construction/{benchmark}/statistics.parquet",
        csv="<suite>/construction/{benchmark}/statistics.csv",
        md="<suite>/construction/{benchmark}/statistics.md",
        filters="<suite>/construction/{benchmark}/filters.csv",
    log:
        "<suite>/logs/construction/{benchmark}/statistics.log",
    wildcard_constraints:
        benchmark=PLAN.made.here(),
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.construction_statistics --key {input.key:q} --tables {input.tables:q}"
        " --filters {output.filters:q} --csv {output.csv:q} --md {output.md:q} --out {output.statistics:q} 2> {log:q}"

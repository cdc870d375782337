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


rule construction_clips:
    input:
        key="<suite>/keys/construction/{benchmark}/clips.json",
        files="<suite>/construction/{benchmark}/source/files.json",
    output:
        "<suite>/construction/{benchmark}/clips.parquet",
    log:
        "<suite>/logs/construction/{benchmark}/clips.log",
    wildcard_constraints:
        benchmark=PLAN.made.measured(),
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.construction_clips --key {input.key:q} --files {input.files:q} --out {output:q} 2> {log:q}"


use rule sources as construction_sources with:
    input:
        key="<suite>/keys/sources/{benchmark}.json",
        retry="<suite>/keys/retries/{benchmark}/{shard}.json",
        release="<suite>/construction/{benchmark}/source/files.json",
        clips="<suite>/construction/{benchmark}/clips.parquet",
    output:
        "<suite>/construction/{benchmark}/sources/{shard}.parquet",
    log:
        "<suite>/logs/construction/{benchmark}/sources/{shard}.log",


use rule clips as construction_cuts with:
    input:
        key="<suite>/keys/clips/{benchmark}.json",
        clips="<suite>/construction/{benchmark}/clips.parquet",
        sources="<suite>/construction/{benchmark}/sources/{shard}.parquet",
    output:
        "<suite>/construction/{benchmark}/clips/{shard}.parquet",
    log:
        "<suite>/logs/construction/{benchmark}/clips/{shard}.log",


use rule facts as construction_facts with:
    input:
        key="<suite>/keys/facts/{benchmark}.json",
        ledgers=PLAN.made.ledgers,
    output:
        "<suite>/construction/{benchmark}/facts.parquet",
    log:
        "<suite>/logs/construction/{benchmark}/facts.log",


rule construction_candidates:
    input:
        key="<suite>/keys/construction/{benchmark}/candidates.json",
        files="<suite>/construction/{benchmark}/source/files.json",
        facts=PLAN.made.facts,
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
        " --facts {input.facts:q} --out {output:q} 2> {log:q}"


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
        " --store {STORE:q}"
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
        template="<suite>/construction/{benchmark}/review/template.xml",
        problems="<suite>/construction/{benchmark}/review/problems.csv",
    log:
        "<suite>/logs/construction/{benchmark}/review.log",
    wildcard_constraints:
        benchmark=PLAN.made.here(),
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.construction_review --key {input.key:q} --tables {input.tables:q}"
        " --tasks {output.tasks:q} --json {output.json:q} --template {output.template:q} --problems {output.problems:q}"
        " --out {output.reviewed:q} {output.votes:q} 2> {log:q}"


rule construction_release:
    input:
        key="<suite>/keys/construction/{benchmark}/release.json",
        tables=PLAN.made.released,
        sets=PLAN.made.drawn,
    output:
        "<suite>/release/{benchmark}/files.json",
    log:
        "<suite>/logs/construction/{benchmark}/release.log",
    wildcard_constraints:
        benchmark=PLAN.made.here(),
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.construction_release --key {input.key:q} --tables {input.tables:q}"
        " --sets {input.sets:q} --out {output:q} 2> {log:q}"


# MMBench-Video: what annotators fill in, and the filter of questions that one frame answers.


rule construction_guidelines:
    input:
        key="<suite>/keys/construction/{benchmark}/guidelines.json",
        tables=PLAN.made.tables("pool"),
    output:
        guidelines="<suite>/construction/{benchmark}/annotation/guidelines.md",
        tasks="<suite>/construction/{benchmark}/annotation/questions.csv",
    log:
        "<suite>/logs/construction/{benchmark}/guidelines.log",
    wildcard_constraints:
        benchmark=PLAN.made.here(),
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.construction_guidelines --key {input.key:q} --tables {input.tables:q}"
        " --guidelines {output.guidelines:q} --tasks {output.tasks:q} 2> {log:q}"


rule construction_draw:
    input:
        key="<suite>/keys/construction/{benchmark}/draw.json",
        questions=PLAN.made.set_file,
    output:
        "<suite>/construction/{benchmark}/sets/{set}.csv",
    log:
        "<suite>/logs/construction/{benchmark}/sets/{set}.log",
    wildcard_constraints:
        benchmark=PLAN.made.here(),
        set=PLAN.made.sets(),
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.construction_draw --key {input.key:q} --set {wildcards.set:q}"
        " --file {input.questions:q} --out {output:q} 2> {log:q}"


rule construction_unfiltered:
    input:
        key="<suite>/keys/construction/{benchmark}/release.json",
        tables=PLAN.made.tables("reviewed"),
    output:
        "<suite>/release/{benchmark}-unfiltered/files.json",
    log:
        "<suite>/logs/construction/{benchmark}/unfiltered.log",
    wildcard_constraints:
        benchmark=PLAN.made.filtered(),
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.construction_release --key {input.key:q} --tables {input.tables:q}"
        " --sets --out {output:q} 2> {log:q}"


rule construction_static:
    input:
        key="<suite>/keys/construction/{benchmark}/static.json",
        reviewed=PLAN.made.tables("reviewed"),
        ratings=PLAN.made.ratings,
        checks=PLAN.made.checks_by_hand,
    output:
        static="<suite>/construction/{benchmark}/static.parquet",
        tasks="<suite>/construction/{benchmark}/review/static.csv",
        problems="<suite>/construction/{benchmark}/review/static_problems.csv",
    log:
        "<suite>/logs/construction/{benchmark}/static.log",
    wildcard_constraints:
        benchmark=PLAN.made.filtered(),
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.construction_static --key {input.key:q} --reviewed {input.reviewed:q}"
        " --ratings {input.ratings:q} --tasks {output.tasks:q} --problems {output.problems:q} --out {output.static:q}"
        " 2> {log:q}"


rule construction_statistics:
    input:
        key="<suite>/keys/construction/{benchmark}/statistics.json",
        tables=PLAN.made.counted,
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


rule construction_subset:
    input:
        key="<suite>/keys/construction/{benchmark}/subset.json",
        asked="<suite>/annotations/{benchmark}/items.parquet",
        verdicts=PLAN.made.subset_verdicts,
    output:
        rows="<suite>/construction/{benchmark}/subset/{model}.csv",
        scores="<suite>/construction/{benchmark}/subset/{model}.scores.csv",
    log:
        "<suite>/logs/construction/{benchmark}/subset/{model}.log",
    wildcard_constraints:
        benchmark=PLAN.made.searched(),
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.construction_subset --key {input.key:q} --items {input.asked:q}"
        " --verdicts {input.verdicts:q} --scores {output.scores:q} --out {output.rows:q} 2> {log:q}"

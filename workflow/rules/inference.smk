# Weights come in once, in a light local rule; then every run is one job. An imported run is read from its files.


rule weights:
    output:
        "<suite>/weights/{model}.json",
    log:
        "<suite>/logs/weights/{model}.log",
    localrule: True
    params:
        repo=lambda wildcards: PLAN.model(wildcards).repo,
        revision=lambda wildcards: PLAN.model(wildcards).revision,
        code=lambda wildcards: (
            "fetched" if PLAN.model(wildcards).trust_remote_code else "left"
        ),
    shell:
        "{PYTHON:q} -m reprise.stages.weights --repo {params.repo:q} --revision {params.revision:q}"
        " --model {wildcards.model:q} --code {params.code:q} --store {STORE:q} --out {output:q} 2> {log:q}"


rule serve_environment:
    input:
        pins="envs/{environment}.txt",
    output:
        "<suite>/environments/{environment}.json",
    log:
        "<suite>/logs/environments/{environment}.log",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.serve_environment --environment {wildcards.environment:q} --store {STORE:q}"
        " --out {output:q} 2> {log:q}"


rule infer:
    input:
        key="<suite>/keys/{benchmark}/{protocol}/{sampling}/{model}.json",
        requests="<suite>/requests/{benchmark}/{protocol}.parquet",
        frames="<suite>/frames/{benchmark}/{sampling}.parquet",
        ledgers=PLAN.ledgers("clips"),
        weights=PLAN.weights,
        environment=PLAN.environment,
        retry=PLAN.answer_retry,
    output:
        responses="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        timings="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.timings.parquet",
    log:
        "<suite>/logs/infer/{benchmark}/{protocol}/{sampling}/{model}.log",
    wildcard_constraints:
        model=PLAN.split.whole_models(),
    threads: PLAN.threads
    resources:
        gpu=PLAN.gpus,
        mem_mb=PLAN.memory_mb,
        runtime=PLAN.minutes,
    shell:
        "{PYTHON:q} -m reprise.stages.infer --key {input.key:q} --requests {input.requests:q} --frames {input.frames:q}"
        " --ledgers {input.ledgers:q} --store {STORE:q} --threads {threads}"
        " --attempts {ATTEMPTS} --budget {BUDGET} --out {output.responses:q} --timings {output.timings:q}"
        " --log {log:q} 2> {log:q}"


# A run of a model with `pieces:` is asked by several jobs, each about a share of its clips.


rule infer_piece:
    input:
        key="<suite>/keys/{benchmark}/{protocol}/{sampling}/{model}.json",
        requests="<suite>/requests/{benchmark}/{protocol}.parquet",
        frames="<suite>/frames/{benchmark}/{sampling}.parquet",
        ledgers=PLAN.ledgers("clips"),
        weights=PLAN.weights,
        environment=PLAN.environment,
        retry=PLAN.answer_retry,
    output:
        responses="<suite>/pieces/{benchmark}/{protocol}/{sampling}/{model}/{piece}.parquet",
        timings="<suite>/pieces/{benchmark}/{protocol}/{sampling}/{model}/{piece}.timings.parquet",
    log:
        "<suite>/logs/infer_piece/{benchmark}/{protocol}/{sampling}/{model}/{piece}.log",
    wildcard_constraints:
        model=PLAN.split.models(),
    threads: PLAN.threads
    resources:
        gpu=PLAN.gpus,
        mem_mb=PLAN.memory_mb,
        runtime=PLAN.minutes,
    shell:
        "{PYTHON:q} -m reprise.stages.infer --key {input.key:q} --requests {input.requests:q} --frames {input.frames:q}"
        " --ledgers {input.ledgers:q} --store {STORE:q} --threads {threads} --piece {wildcards.piece:q}"
        " --attempts {ATTEMPTS} --budget {BUDGET} --out {output.responses:q} --timings {output.timings:q}"
        " --log {log:q} 2> {log:q}"


rule join_pieces:
    input:
        key="<suite>/keys/{benchmark}/{protocol}/{sampling}/{model}.json",
        requests="<suite>/requests/{benchmark}/{protocol}.parquet",
        pieces=PLAN.split.answers,
        timings=PLAN.split.timings,
    output:
        responses="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        timings="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.timings.parquet",
    log:
        "<suite>/logs/join_pieces/{benchmark}/{protocol}/{sampling}/{model}.log",
    wildcard_constraints:
        model=PLAN.split.models(),
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.join_pieces --key {input.key:q} --requests {input.requests:q} --pieces {input.pieces:q}"
        " --piece-timings {input.timings:q} --out {output.responses:q} --timings {output.timings:q} 2> {log:q}"


rule import_answers:
    input:
        key="<suite>/keys/{benchmark}/{protocol}/{sampling}/{model}.json",
        item_table="<suite>/annotations/{benchmark}/items.parquet",
        requests="<suite>/requests/{benchmark}/{protocol}.parquet",
        files=PLAN.answer_files,
    output:
        responses="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        problems="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.problems.csv",
    log:
        "<suite>/logs/import_answers/{benchmark}/{protocol}/{sampling}/{model}.log",
    wildcard_constraints:
        model=PLAN.imported_models(),
    localrule: True
    params:
        stage=PLAN.surveyed.stage,
    shell:
        "{PYTHON:q} -m reprise.stages.{params.stage:q} --key {input.key:q} --items {input.item_table:q} --requests {input.requests:q}"
        " --files {input.files:q} --out {output.responses:q} --problems {output.problems:q} 2> {log:q}"

# Weights come in once, in a light local rule; then every run is one job. An imported run is read from its files.


rule weights:
    output:
        out="<suite>/weights/{model}.json",
    log:
        "<suite>/logs/weights/{model}.log",
    localrule: True
    params:
        repo=lambda wildcards: SUITE.inference.model(wildcards).repo,
        revision=lambda wildcards: SUITE.inference.model(wildcards).revision,
        code=lambda wildcards: (
            "fetched" if SUITE.inference.model(wildcards).trust_remote_code else "left"
        ),
        files=lambda wildcards: SUITE.inference.model(wildcards).files,
        version=SUITE.settings("weights"),
        retry=SUITE.inference.retry_weights,
    shell:
        RUN
        + "weights --version {params.version:q} --repo {params.repo:q} --revision {params.revision:q} --model {wildcards.model:q} "
        "--code {params.code:q} --files {params.files:q} --out {output.out:q} --retry {params.retry:q} 2> {log:q}"


rule serve_environment:
    input:
        pins=SUITE.inference.pins,
    output:
        out="<suite>/environments/{environment}.json",
    log:
        "<suite>/logs/environments/{environment}.log",
    localrule: True
    params:
        version=SUITE.settings("serve_environment"),
    shell:
        RUN + "serve_environment --version {params.version:q} --pins {input.pins:q} "
        "--environment {wildcards.environment:q} --out {output.out:q} 2> {log:q}"


rule infer:
    input:
        requests="<suite>/requests/{benchmark}/{protocol}.parquet",
        frames="<suite>/frames/{benchmark}/{sampling}.parquet",
        ledgers=SUITE.media.clips,
        notes=SUITE.inference.notes,
        asked_before=SUITE.inference.asked_alike,
    output:
        responses="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        timings="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.timings.parquet",
    log:
        "<suite>/logs/infer/{benchmark}/{protocol}/{sampling}/{model}.log",
    wildcard_constraints:
        model=SUITE.inference.whole_models,
    priority: SUITE.inference.priority
    # On a cluster these runs share an allocation, one after the other: the model stays loaded.
    group:
        "answers_{benchmark}_{model}"
    threads: SUITE.inference.threads
    resources:
        loaded_model=1,
        gpu=SUITE.inference.gpus,
        mem_mb=SUITE.inference.memory_mb,
        runtime=SUITE.inference.minutes,
    params:
        settings=SUITE.settings("{benchmark}/{protocol}/{sampling}/{model}"),
        piece=[],
        retry=SUITE.inference.retry_answers,
    shell:
        RUN
        + "infer --settings {params.settings:q} --requests {input.requests:q} --frames {input.frames:q} "
        "--ledgers {input.ledgers:q} --piece {params.piece:q} --threads {threads:q} --log {log:q} "
        "--responses {output.responses:q} --timings {output.timings:q} --retry {params.retry:q} 2> {log:q}"


# A run of a model with `pieces:` is asked by several jobs, each about a share of its clips. Inputs, resources, the other
# params and the command are those of `infer`.


use rule infer as infer_piece with:
    output:
        responses="<suite>/pieces/{benchmark}/{protocol}/{sampling}/{model}/{piece}.parquet",
        timings="<suite>/pieces/{benchmark}/{protocol}/{sampling}/{model}/{piece}.timings.parquet",
    log:
        "<suite>/logs/infer_piece/{benchmark}/{protocol}/{sampling}/{model}/{piece}.log",
    wildcard_constraints:
        model=SUITE.inference.split_models,
    group:
        "answers_{benchmark}_{protocol}_{sampling}_{model}_{piece}"
    params:
        piece="{piece}",


rule join_pieces:
    input:
        requests="<suite>/requests/{benchmark}/{protocol}.parquet",
        pieces=SUITE.inference.pieces,
        piece_timings=SUITE.inference.piece_timings,
    output:
        responses="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        timings="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.timings.parquet",
    log:
        "<suite>/logs/join_pieces/{benchmark}/{protocol}/{sampling}/{model}.log",
    wildcard_constraints:
        model=SUITE.inference.split_models,
    localrule: True
    params:
        settings=SUITE.settings("join_pieces"),
        run_settings=SUITE.settings("runs/{benchmark}/{protocol}/{sampling}/{model}"),
    shell:
        RUN
        + "join_pieces --settings {params.settings:q} --run-settings {params.run_settings:q} "
        "--requests {input.requests:q} --pieces {input.pieces:q} --piece-timings {input.piece_timings:q} "
        "--responses {output.responses:q} --timings {output.timings:q} 2> {log:q}"


rule import_answers:
    input:
        item_table="<suite>/annotations/{benchmark}/items.parquet",
        requests="<suite>/requests/{benchmark}/{protocol}.parquet",
        files=SUITE.inference.answer_files,
    output:
        out="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        problems="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.problems.csv",
    log:
        "<suite>/logs/import_answers/{benchmark}/{protocol}/{sampling}/{model}.log",
    wildcard_constraints:
        model=SUITE.inference.imported_models,
    localrule: True
    params:
        settings=SUITE.settings("{benchmark}/{protocol}/{sampling}/{model}"),
    shell:
        RUN
        + "import_answers --settings {params.settings:q} --item-table {input.item_table:q} --requests {input.requests:q} "
        "--files {input.files:q} --out {output.out:q} --problems {output.problems:q} 2> {log:q}"

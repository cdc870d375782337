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
    shell:
        command("weights")


rule serve_environment:
    input:
        pins=SUITE.inference.pins,
    output:
        out="<suite>/environments/{environment}.json",
    log:
        "<suite>/logs/environments/{environment}.log",
    localrule: True
    shell:
        command("serve_environment")


rule infer:
    input:
        key="<suite>/keys/{benchmark}/{protocol}/{sampling}/{model}.json",
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
    threads: SUITE.inference.threads
    resources:
        gpu=SUITE.inference.gpus,
        mem_mb=SUITE.inference.memory_mb,
        runtime=SUITE.inference.minutes,
    params:
        settings=SUITE.settings("{benchmark}/{protocol}/{sampling}/{model}"),
        piece=[],
    shell:
        command("infer")


# A run of a model with `pieces:` is asked by several jobs, each about a share of its clips.


use rule infer as infer_piece with:
    output:
        responses="<suite>/pieces/{benchmark}/{protocol}/{sampling}/{model}/{piece}.parquet",
        timings="<suite>/pieces/{benchmark}/{protocol}/{sampling}/{model}/{piece}.timings.parquet",
    log:
        "<suite>/logs/infer_piece/{benchmark}/{protocol}/{sampling}/{model}/{piece}.log",
    wildcard_constraints:
        model=SUITE.inference.split_models,
    params:
        piece="{piece}",


rule join_pieces:
    input:
        key="<suite>/keys/{benchmark}/{protocol}/{sampling}/{model}.json",
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
    shell:
        command("join_pieces")


rule import_answers:
    input:
        key="<suite>/keys/{benchmark}/{protocol}/{sampling}/{model}.json",
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
        stage=SUITE.inference.reader_of_files,
    shell:
        command("import_answers", name="{params.stage:q}")

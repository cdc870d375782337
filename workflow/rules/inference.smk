# Fetch the weights of each model once, then run one job per run. The answers of imported runs come from files.


rule weights:
    output:
        out="<suite>/weights/{model}.json",
    log:
        "<suite>/logs/weights/{model}.log",
    localrule: True
    params:
        repo=lambda wildcards: SUITE.inference.model(wildcards).repo,
        revision=lambda wildcards: SUITE.inference.model(wildcards).revision,
        # Whether the repository's code is fetched too, because the model executes it.
        code=lambda wildcards: (
            "fetched" if SUITE.inference.model(wildcards).trust_remote_code else "left"
        ),
        files=lambda wildcards: SUITE.inference.model(wildcards).files,
        version=SUITE.settings("weights"),
        retry=SUITE.inference.retry_weights,
    shell:
        RUN
        + "weights --version {params.version:q} --repo {params.repo:q} --revision {params.revision:q} "
        "--model {wildcards.model:q} --code {params.code:q} --files {params.files:q} --out {output.out:q} "
        "--retry {params.retry:q} 2> {log:q}"


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
        manifests=SUITE.media.clip_manifests,
        prerequisites=SUITE.inference.prerequisites,
        # Another run with the same requests goes first, because this run takes its answers from the response cache.
        equivalent_answers=SUITE.inference.equivalent_answers,
    output:
        responses="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        timings="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.timings.parquet",
    log:
        "<suite>/logs/infer/{benchmark}/{protocol}/{sampling}/{model}.log",
    wildcard_constraints:
        model=SUITE.inference.unpartitioned_models,
    priority: SUITE.inference.priority
    # On a cluster, the runs of a group share an allocation, in which the model stays loaded.
    group:
        "answers_{benchmark}_{model}"
    threads: SUITE.inference.threads
    resources:
        # The Slurm profile limits this to 1, so that the jobs of one allocation query the model one after another.
        loaded_model=1,
        gpu=SUITE.inference.gpus,
        mem_mb=SUITE.inference.memory_mb,
        runtime=SUITE.inference.minutes,
    params:
        settings=SUITE.settings("{benchmark}/{protocol}/{sampling}/{model}"),
        partition=[],
        retry=SUITE.inference.retry_answers,
    shell:
        RUN
        + "infer --settings {params.settings:q} --requests {input.requests:q} --frames {input.frames:q} "
        "--manifests {input.manifests:q} --partition-name {params.partition:q} --threads {threads:q} --log {log:q} "
        "--responses {output.responses:q} --timings {output.timings:q} --retry {params.retry:q} 2> {log:q}"


# A model with `partitions:` runs in several jobs, each for a part of the clips. These jobs have the inputs, resources,
# command and other params of `infer`.


use rule infer as infer_partition with:
    output:
        responses="<suite>/partitions/{benchmark}/{protocol}/{sampling}/{model}/{partition}.parquet",
        timings="<suite>/partitions/{benchmark}/{protocol}/{sampling}/{model}/{partition}.timings.parquet",
    log:
        "<suite>/logs/infer_partition/{benchmark}/{protocol}/{sampling}/{model}/{partition}.log",
    wildcard_constraints:
        model=SUITE.inference.partitioned_models,
    group:
        "answers_{benchmark}_{protocol}_{sampling}_{model}_{partition}"
    params:
        partition="{partition}",


rule join_partitions:
    input:
        requests="<suite>/requests/{benchmark}/{protocol}.parquet",
        partitions=SUITE.inference.partitions,
        partition_timings=SUITE.inference.partition_timings,
    output:
        responses="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        timings="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.timings.parquet",
    log:
        "<suite>/logs/join_partitions/{benchmark}/{protocol}/{sampling}/{model}.log",
    wildcard_constraints:
        model=SUITE.inference.partitioned_models,
    localrule: True
    params:
        settings=SUITE.settings("join_partitions"),
        run_settings=SUITE.settings("runs/{benchmark}/{protocol}/{sampling}/{model}"),
    shell:
        RUN
        + "join_partitions --settings {params.settings:q} --run-settings {params.run_settings:q} "
        "--requests {input.requests:q} --partitions {input.partitions:q} "
        "--partition-timings {input.partition_timings:q} --responses {output.responses:q} "
        "--timings {output.timings:q} 2> {log:q}"


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
        + "import_answers --settings {params.settings:q} --item-table {input.item_table:q} "
        "--requests {input.requests:q} --files {input.files:q} --out {output.out:q} --problems {output.problems:q} 2> {log:q}"

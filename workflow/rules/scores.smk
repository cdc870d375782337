# What the readers make of the answers, and what the benchmark makes of that: two stages in one process, because starting
# Python and its libraries costs more than either.


rule score:
    input:
        key="results/{suite}/keys/verdicts/{benchmark}.json",
        metric_key="results/{suite}/keys/metrics/{benchmark}.json",
        run_key="results/{suite}/keys/{benchmark}/{protocol}/{sampling}/{model}.json",
        item_table="results/{suite}/annotations/{benchmark}/items.parquet",
        requests="results/{suite}/requests/{benchmark}/{protocol}.parquet",
        responses="results/{suite}/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
    output:
        authors="results/{suite}/verdicts/{benchmark}/{protocol}/{sampling}/{model}/authors.parquet",
        robust="results/{suite}/verdicts/{benchmark}/{protocol}/{sampling}/{model}/robust.parquet",
        metrics="results/{suite}/metrics/{benchmark}/{protocol}/{sampling}/{model}.parquet",
    log:
        "results/{suite}/logs/score/{benchmark}/{protocol}/{sampling}/{model}.log",
    shell:
        "{PYTHON:q} -m reprise.stages.chain"
        " verdicts --key {input.key} --run-key {input.run_key} --protocol {wildcards.protocol}"
        " --requests {input.requests} --responses {input.responses} --store {STORE:q}"
        " --authors {output.authors} --robust {output.robust}"
        " --then metrics --key {input.metric_key} --run-key {input.run_key} --protocol {wildcards.protocol}"
        " --items {input.item_table} --authors {output.authors} --robust {output.robust}"
        " --out {output.metrics} 2> {log}"


rule judge_requests:
    input:
        key="results/{suite}/keys/judge_requests/{benchmark}/{protocol}.json",
        run_key="results/{suite}/keys/{benchmark}/{protocol}/{sampling}/{model}.json",
        item_table="results/{suite}/annotations/{benchmark}/items.parquet",
        requests="results/{suite}/requests/{benchmark}/{protocol}.parquet",
        responses="results/{suite}/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
    output:
        answers="results/{suite}/answers/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        requests="results/{suite}/judge_requests/{benchmark}/{protocol}/{sampling}/{model}.parquet",
    log:
        "results/{suite}/logs/judge_requests/{benchmark}/{protocol}/{sampling}/{model}.log",
    shell:
        "{PYTHON:q} -m reprise.stages.chain"
        " judge_requests --key {input.key} --run-key {input.run_key} --items {input.item_table}"
        " --requests {input.requests} --responses {input.responses}"
        " --answers {output.answers} --out {output.requests} 2> {log}"


rule judge:
    input:
        key="results/{suite}/keys/judges/{benchmark}/{protocol}/{judge}.json",
        requests="results/{suite}/judge_requests/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        weights=judge_weights,
    output:
        responses="results/{suite}/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
        timings="results/{suite}/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.timings.parquet",
    log:
        "results/{suite}/logs/judge/{benchmark}/{protocol}/{sampling}/{model}/{judge}.log",
    wildcard_constraints:
        judge=one_of(ASKED & JUDGES),
    threads: lambda wildcards: PLAN.config.models[wildcards.judge].threads
    resources:
        gpu=lambda wildcards: PLAN.config.models[wildcards.judge].gpus,
        mem_mb=lambda wildcards: PLAN.config.models[wildcards.judge].memory_mb,
    shell:
        "{PYTHON:q} -m reprise.stages.infer --key {input.key} --requests {input.requests} --store {STORE:q}"
        " --threads {threads} --out {output.responses} --timings {output.timings} 2> {log}"


rule import_ratings:
    input:
        key="results/{suite}/keys/judges/{benchmark}/{protocol}/{judge}.json",
        item_table="results/{suite}/annotations/{benchmark}/items.parquet",
        answers="results/{suite}/answers/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        files=rating_files,
    output:
        responses="results/{suite}/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
        problems="results/{suite}/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.problems.csv",
    log:
        "results/{suite}/logs/import_ratings/{benchmark}/{protocol}/{sampling}/{model}/{judge}.log",
    wildcard_constraints:
        judge=one_of(IMPORTED & JUDGES),
    shell:
        "{PYTHON:q} -m reprise.stages.import_ratings --key {input.key} --benchmark {wildcards.benchmark}"
        " --items {input.item_table} --answers {input.answers} --files {input.files:q}"
        " --out {output.responses} --problems {output.problems} 2> {log}"


rule score_judged:
    input:
        key="results/{suite}/keys/judgements/{benchmark}.json",
        metric_key="results/{suite}/keys/metrics/{benchmark}.json",
        run_key="results/{suite}/keys/{benchmark}/{protocol}/{sampling}/{model}.json",
        judge_key="results/{suite}/keys/judges/{benchmark}/{protocol}/{judge}.json",
        item_table="results/{suite}/annotations/{benchmark}/items.parquet",
        answers="results/{suite}/answers/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        responses="results/{suite}/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
        ratings=human_ratings,
    output:
        authors="results/{suite}/verdicts/{benchmark}/{protocol}/{sampling}/{model}/{judge}.authors.parquet",
        robust="results/{suite}/verdicts/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
        metrics="results/{suite}/metrics/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
    log:
        "results/{suite}/logs/score/{benchmark}/{protocol}/{sampling}/{model}/{judge}.log",
    shell:
        "{PYTHON:q} -m reprise.stages.chain"
        " judgements --key {input.key} --run-key {input.run_key} --judge-key {input.judge_key}"
        " --answers {input.answers} --responses {input.responses}"
        " --authors {output.authors} --robust {output.robust}"
        " --then metrics --key {input.metric_key} --run-key {input.run_key} --protocol {wildcards.protocol}"
        " --judge {wildcards.judge} --items {input.item_table} --authors {output.authors} --robust {output.robust}"
        " --ratings {input.ratings} --out {output.metrics} 2> {log}"

# What the readers make of the answers, and what the benchmark makes of that: two stages in one process, because starting
# Python and its libraries costs more than either.


rule score:
    input:
        key="<suite>/keys/verdicts/{benchmark}/{protocol}.json",
        metric_key="<suite>/keys/metrics/{benchmark}/{protocol}.json",
        run_key="<suite>/keys/{benchmark}/{protocol}/{sampling}/{model}.json",
        item_table="<suite>/annotations/{benchmark}/items.parquet",
        requests="<suite>/requests/{benchmark}/{protocol}.parquet",
        responses="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        facts=PLAN.analysed_facts,
    output:
        authors="<suite>/verdicts/{benchmark}/{protocol}/{sampling}/{model}/authors.parquet",
        robust="<suite>/verdicts/{benchmark}/{protocol}/{sampling}/{model}/robust.parquet",
        metrics="<suite>/metrics/{benchmark}/{protocol}/{sampling}/{model}.parquet",
    log:
        "<suite>/logs/score/{benchmark}/{protocol}/{sampling}/{model}.log",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.chain"
        " verdicts --key {input.key:q} --run-key {input.run_key:q}"
        " --requests {input.requests:q} --responses {input.responses:q} --store {STORE:q}"
        " --authors {output.authors:q} --robust {output.robust:q}"
        " --then metrics --key {input.metric_key:q} --run-key {input.run_key:q}"
        " --items {input.item_table:q} --authors {output.authors:q} --robust {output.robust:q}"
        " --requests {input.requests:q} --responses {input.responses:q}"
        " --facts {input.facts:q} --out {output.metrics:q} 2> {log:q}"


rule judge_requests:
    input:
        key="<suite>/keys/judge_requests/{benchmark}/{protocol}.json",
        run_key="<suite>/keys/{benchmark}/{protocol}/{sampling}/{model}.json",
        item_table="<suite>/annotations/{benchmark}/items.parquet",
        requests="<suite>/requests/{benchmark}/{protocol}.parquet",
        responses="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
    output:
        answers="<suite>/answers/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        requests="<suite>/judge_requests/{benchmark}/{protocol}/{sampling}/{model}.parquet",
    log:
        "<suite>/logs/judge_requests/{benchmark}/{protocol}/{sampling}/{model}.log",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.chain"
        " judge_requests --key {input.key:q} --run-key {input.run_key:q} --items {input.item_table:q}"
        " --requests {input.requests:q} --responses {input.responses:q}"
        " --answers {output.answers:q} --out {output.requests:q} 2> {log:q}"


rule judge:
    input:
        key="<suite>/keys/judges/{benchmark}/{protocol}/{judge}.json",
        requests="<suite>/judge_requests/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        weights=PLAN.weights,
        environment=PLAN.environment,
        retry=PLAN.answer_retry,
    output:
        responses="<suite>/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
        timings="<suite>/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.timings.parquet",
    log:
        "<suite>/logs/judge/{benchmark}/{protocol}/{sampling}/{model}/{judge}.log",
    wildcard_constraints:
        judge=PLAN.asked_judges(),
    threads: PLAN.threads
    resources:
        gpu=PLAN.gpus,
        mem_mb=PLAN.memory_mb,
        runtime=PLAN.minutes,
    shell:
        "{PYTHON:q} -m reprise.stages.infer --key {input.key:q} --requests {input.requests:q} --store {STORE:q}"
        " --threads {threads} --attempts {ATTEMPTS} --budget {BUDGET} --out {output.responses:q} --timings {output.timings:q}"
        " --log {log:q} 2> {log:q}"


rule import_ratings:
    input:
        key="<suite>/keys/judges/{benchmark}/{protocol}/{judge}.json",
        item_table="<suite>/annotations/{benchmark}/items.parquet",
        answers="<suite>/answers/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        files=PLAN.rating_files,
    output:
        responses="<suite>/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
        problems="<suite>/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.problems.csv",
    log:
        "<suite>/logs/import_ratings/{benchmark}/{protocol}/{sampling}/{model}/{judge}.log",
    wildcard_constraints:
        judge=PLAN.imported_judges(),
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.import_ratings --key {input.key:q}"
        " --items {input.item_table:q} --answers {input.answers:q} --files {input.files:q}"
        " --out {output.responses:q} --problems {output.problems:q} 2> {log:q}"


rule score_judged:
    input:
        key="<suite>/keys/judgements.json",
        metric_key="<suite>/keys/metrics/{benchmark}/{protocol}.json",
        run_key="<suite>/keys/{benchmark}/{protocol}/{sampling}/{model}.json",
        judge_key="<suite>/keys/judges/{benchmark}/{protocol}/{judge}.json",
        item_table="<suite>/annotations/{benchmark}/items.parquet",
        answers="<suite>/answers/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        requests="<suite>/requests/{benchmark}/{protocol}.parquet",
        judge_requests="<suite>/judge_requests/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        given="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        responses="<suite>/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
        ratings=PLAN.surveyed.ratings,
        facts=PLAN.analysed_facts,
    output:
        authors="<suite>/verdicts/{benchmark}/{protocol}/{sampling}/{model}/{judge}.authors.parquet",
        robust="<suite>/verdicts/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
        metrics="<suite>/metrics/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
    log:
        "<suite>/logs/score/{benchmark}/{protocol}/{sampling}/{model}/{judge}.log",
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.chain"
        " judgements --run-key {input.run_key:q} --judge-key {input.judge_key:q}"
        " --answers {input.answers:q} --responses {input.responses:q}"
        " --authors {output.authors:q} --robust {output.robust:q}"
        " --then metrics --key {input.metric_key:q} --run-key {input.run_key:q}"
        " --judge {wildcards.judge:q} --items {input.item_table:q} --authors {output.authors:q} --robust {output.robust:q}"
        " --ratings {input.ratings:q} --requests {input.requests:q} --responses {input.given:q}"
        " --judge-requests {input.judge_requests:q} --replies {input.responses:q}"
        " --facts {input.facts:q} --out {output.metrics:q} 2> {log:q}"

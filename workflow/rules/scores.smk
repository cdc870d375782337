# What the readers make of the answers, and what the benchmark makes of that: two stages in one process, because starting
# Python and its libraries costs more than either.


rule score:
    input:
        key="results/{suite}/keys/verdicts/{benchmark}/{protocol}.json",
        metric_key="results/{suite}/keys/metrics/{benchmark}/{protocol}.json",
        run_key="results/{suite}/keys/{benchmark}/{protocol}/{sampling}/{model}.json",
        item_table="results/{suite}/annotations/{benchmark}/items.parquet",
        requests="results/{suite}/requests/{benchmark}/{protocol}.parquet",
        responses="results/{suite}/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        facts=PLAN.analysed_facts,
    output:
        authors="results/{suite}/verdicts/{benchmark}/{protocol}/{sampling}/{model}/authors.parquet",
        robust="results/{suite}/verdicts/{benchmark}/{protocol}/{sampling}/{model}/robust.parquet",
        metrics="results/{suite}/metrics/{benchmark}/{protocol}/{sampling}/{model}.parquet",
    log:
        "results/{suite}/logs/score/{benchmark}/{protocol}/{sampling}/{model}.log",
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
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.chain"
        " judge_requests --key {input.key:q} --run-key {input.run_key:q} --items {input.item_table:q}"
        " --requests {input.requests:q} --responses {input.responses:q}"
        " --answers {output.answers:q} --out {output.requests:q} 2> {log:q}"


rule judge:
    input:
        key="results/{suite}/keys/judges/{benchmark}/{protocol}/{judge}.json",
        requests="results/{suite}/judge_requests/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        weights=PLAN.weights,
        environment=PLAN.environment,
        retry=PLAN.answer_retry,
    output:
        responses="results/{suite}/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
        timings="results/{suite}/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.timings.parquet",
    log:
        "results/{suite}/logs/judge/{benchmark}/{protocol}/{sampling}/{model}/{judge}.log",
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
        key="results/{suite}/keys/judges/{benchmark}/{protocol}/{judge}.json",
        item_table="results/{suite}/annotations/{benchmark}/items.parquet",
        answers="results/{suite}/answers/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        files=PLAN.rating_files,
    output:
        responses="results/{suite}/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
        problems="results/{suite}/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.problems.csv",
    log:
        "results/{suite}/logs/import_ratings/{benchmark}/{protocol}/{sampling}/{model}/{judge}.log",
    wildcard_constraints:
        judge=PLAN.imported_judges(),
    localrule: True
    shell:
        "{PYTHON:q} -m reprise.stages.import_ratings --key {input.key:q}"
        " --items {input.item_table:q} --answers {input.answers:q} --files {input.files:q}"
        " --out {output.responses:q} --problems {output.problems:q} 2> {log:q}"


rule score_judged:
    input:
        key="results/{suite}/keys/judgements.json",
        metric_key="results/{suite}/keys/metrics/{benchmark}/{protocol}.json",
        run_key="results/{suite}/keys/{benchmark}/{protocol}/{sampling}/{model}.json",
        judge_key="results/{suite}/keys/judges/{benchmark}/{protocol}/{judge}.json",
        item_table="results/{suite}/annotations/{benchmark}/items.parquet",
        answers="results/{suite}/answers/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        requests="results/{suite}/requests/{benchmark}/{protocol}.parquet",
        judge_requests="results/{suite}/judge_requests/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        given="results/{suite}/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        responses="results/{suite}/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
        ratings=PLAN.human_ratings,
        facts=PLAN.analysed_facts,
    output:
        authors="results/{suite}/verdicts/{benchmark}/{protocol}/{sampling}/{model}/{judge}.authors.parquet",
        robust="results/{suite}/verdicts/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
        metrics="results/{suite}/metrics/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
    log:
        "results/{suite}/logs/score/{benchmark}/{protocol}/{sampling}/{model}/{judge}.log",
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

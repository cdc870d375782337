# Extract answers from responses, query judges, and compute the metrics of the benchmark.


rule verdicts:
    input:
        requests="<suite>/requests/{benchmark}/{protocol}.parquet",
        responses="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
    output:
        authors="<suite>/verdicts/{benchmark}/{protocol}/{sampling}/{model}/authors.parquet",
        robust="<suite>/verdicts/{benchmark}/{protocol}/{sampling}/{model}/robust.parquet",
    log:
        "<suite>/logs/verdicts/{benchmark}/{protocol}/{sampling}/{model}.log",
    localrule: True
    params:
        settings=SUITE.settings("verdicts/{benchmark}/{protocol}"),
        run_settings=SUITE.settings("runs/{benchmark}/{protocol}/{sampling}/{model}"),
    shell:
        RUN
        + "verdicts --settings {params.settings:q} --run-settings {params.run_settings:q} "
        "--requests {input.requests:q} --responses {input.responses:q} --authors {output.authors:q} "
        "--robust {output.robust:q} 2> {log:q}"


rule metrics:
    input:
        item_table="<suite>/annotations/{benchmark}/items.parquet",
        requests="<suite>/requests/{benchmark}/{protocol}.parquet",
        responses="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        authors="<suite>/verdicts/{benchmark}/{protocol}/{sampling}/{model}/authors.parquet",
        robust="<suite>/verdicts/{benchmark}/{protocol}/{sampling}/{model}/robust.parquet",
        clip_metadata=SUITE.scores.clip_metadata,
    output:
        metrics="<suite>/metrics/{benchmark}/{protocol}/{sampling}/{model}.parquet",
    log:
        "<suite>/logs/metrics/{benchmark}/{protocol}/{sampling}/{model}.log",
    localrule: True
    params:
        settings=SUITE.settings("metrics/{benchmark}/{protocol}"),
        run_settings=SUITE.settings("runs/{benchmark}/{protocol}/{sampling}/{model}"),
    shell:
        RUN
        + "metrics --settings {params.settings:q} --run-settings {params.run_settings:q} "
        "--item-table {input.item_table:q} --requests {input.requests:q} --responses {input.responses:q} "
        "--authors {input.authors:q} --robust {input.robust:q} --clip-metadata {input.clip_metadata:q} "
        "--metrics {output.metrics:q} 2> {log:q}"


rule judge_requests:
    input:
        item_table="<suite>/annotations/{benchmark}/items.parquet",
        requests="<suite>/requests/{benchmark}/{protocol}.parquet",
        responses="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
    output:
        answers="<suite>/answers/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        judge_requests="<suite>/judge_requests/{benchmark}/{protocol}/{sampling}/{model}.parquet",
    log:
        "<suite>/logs/judge_requests/{benchmark}/{protocol}/{sampling}/{model}.log",
    localrule: True
    params:
        settings=SUITE.settings("judge_requests/{benchmark}/{protocol}"),
        run_settings=SUITE.settings("runs/{benchmark}/{protocol}/{sampling}/{model}"),
    shell:
        RUN
        + "judge_requests --settings {params.settings:q} --run-settings {params.run_settings:q} "
        "--item-table {input.item_table:q} --requests {input.requests:q} --responses {input.responses:q} "
        "--answers {output.answers:q} --judge-requests {output.judge_requests:q} 2> {log:q}"


# A judge is queried like any model: its jobs have the threads, resources, command and other params of `infer`.


use rule infer as judge with:
    input:
        requests="<suite>/judge_requests/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        frames=[],
        manifests=[],
        prerequisites=SUITE.inference.prerequisites,
    output:
        responses="<suite>/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
        timings="<suite>/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.timings.parquet",
    log:
        "<suite>/logs/judge/{benchmark}/{protocol}/{sampling}/{model}/{judge}.log",
    wildcard_constraints:
        judge=SUITE.scores.queried_judges,
    group:
        "replies_{benchmark}_{judge}"
    params:
        settings=SUITE.settings("judges/{benchmark}/{protocol}/{judge}"),


rule import_ratings:
    input:
        item_table="<suite>/annotations/{benchmark}/items.parquet",
        answers="<suite>/answers/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        files=SUITE.scores.rating_files,
    output:
        responses="<suite>/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
        problems="<suite>/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.problems.csv",
    log:
        "<suite>/logs/import_ratings/{benchmark}/{protocol}/{sampling}/{model}/{judge}.log",
    wildcard_constraints:
        judge=SUITE.scores.imported_judges,
    localrule: True
    params:
        settings=SUITE.settings("judges/{benchmark}/{protocol}/{judge}"),
    shell:
        RUN
        + "import_ratings --settings {params.settings:q} --item-table {input.item_table:q} --answers {input.answers:q} "
        "--files {input.files:q} --responses {output.responses:q} --problems {output.problems:q} 2> {log:q}"


rule judgements:
    input:
        answers="<suite>/answers/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        replies="<suite>/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
    output:
        authors="<suite>/verdicts/{benchmark}/{protocol}/{sampling}/{model}/{judge}.authors.parquet",
        robust="<suite>/verdicts/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
    log:
        "<suite>/logs/judgements/{benchmark}/{protocol}/{sampling}/{model}/{judge}.log",
    localrule: True
    params:
        settings=SUITE.settings("judgements"),
        run_settings=SUITE.settings("runs/{benchmark}/{protocol}/{sampling}/{model}"),
        judge_settings=SUITE.settings("runs/judges/{benchmark}/{protocol}/{judge}"),
    shell:
        RUN
        + "judgements --settings {params.settings:q} --run-settings {params.run_settings:q} "
        "--judge-settings {params.judge_settings:q} --judge {wildcards.judge:q} --answers {input.answers:q} "
        "--replies {input.replies:q} --authors {output.authors:q} --robust {output.robust:q} 2> {log:q}"


rule judged_metrics:
    input:
        item_table="<suite>/annotations/{benchmark}/items.parquet",
        requests="<suite>/requests/{benchmark}/{protocol}.parquet",
        responses="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        judge_requests="<suite>/judge_requests/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        replies="<suite>/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
        authors="<suite>/verdicts/{benchmark}/{protocol}/{sampling}/{model}/{judge}.authors.parquet",
        robust="<suite>/verdicts/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
        ratings=SUITE.scores.ratings,
        clip_metadata=SUITE.scores.clip_metadata,
    output:
        metrics="<suite>/metrics/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
    log:
        "<suite>/logs/judged_metrics/{benchmark}/{protocol}/{sampling}/{model}/{judge}.log",
    localrule: True
    params:
        settings=SUITE.settings("metrics/{benchmark}/{protocol}"),
        run_settings=SUITE.settings("runs/{benchmark}/{protocol}/{sampling}/{model}"),
    shell:
        RUN
        + "metrics --settings {params.settings:q} --run-settings {params.run_settings:q} "
        "--judge {wildcards.judge:q} --item-table {input.item_table:q} --requests {input.requests:q} "
        "--responses {input.responses:q} --judge-requests {input.judge_requests:q} --replies {input.replies:q} "
        "--ratings {input.ratings:q} --authors {input.authors:q} --robust {input.robust:q} "
        "--clip-metadata {input.clip_metadata:q} --metrics {output.metrics:q} 2> {log:q}"


rule health:
    input:
        metrics=SUITE.scores.all_metrics,
    output:
        csv="<suite>/health.csv",
    log:
        "<suite>/logs/health.log",
    localrule: True
    params:
        settings=SUITE.settings("health"),
    shell:
        RUN
        + "health --settings {params.settings:q} --metrics {input.metrics:q} --csv {output.csv:q} 2> {log:q}"

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
        facts=SUITE.scores.facts,
        judge_requests=[],
        replies=[],
        ratings=[],
    output:
        authors="<suite>/verdicts/{benchmark}/{protocol}/{sampling}/{model}/authors.parquet",
        robust="<suite>/verdicts/{benchmark}/{protocol}/{sampling}/{model}/robust.parquet",
        metrics="<suite>/metrics/{benchmark}/{protocol}/{sampling}/{model}.parquet",
    log:
        "<suite>/logs/score/{benchmark}/{protocol}/{sampling}/{model}.log",
    localrule: True
    params:
        settings=SUITE.settings("verdicts/{benchmark}/{protocol}"),
        judge=[],
    shell:
        command("verdicts", "metrics")


rule judge_requests:
    input:
        key="<suite>/keys/judge_requests/{benchmark}/{protocol}.json",
        run_key="<suite>/keys/{benchmark}/{protocol}/{sampling}/{model}.json",
        item_table="<suite>/annotations/{benchmark}/items.parquet",
        requests="<suite>/requests/{benchmark}/{protocol}.parquet",
        responses="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
    output:
        answers="<suite>/answers/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        asked="<suite>/judge_requests/{benchmark}/{protocol}/{sampling}/{model}.parquet",
    log:
        "<suite>/logs/judge_requests/{benchmark}/{protocol}/{sampling}/{model}.log",
    localrule: True
    params:
        settings=SUITE.settings("judge_requests/{benchmark}/{protocol}"),
    shell:
        command("judge_requests")


use rule infer as judge with:
    input:
        key="<suite>/keys/judges/{benchmark}/{protocol}/{judge}.json",
        requests="<suite>/judge_requests/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        frames=[],
        ledgers=[],
        notes=SUITE.inference.notes,
    output:
        responses="<suite>/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
        timings="<suite>/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.timings.parquet",
    log:
        "<suite>/logs/judge/{benchmark}/{protocol}/{sampling}/{model}/{judge}.log",
    wildcard_constraints:
        judge=SUITE.scores.asked_judges,
    params:
        settings=SUITE.settings("judges/{benchmark}/{protocol}/{judge}"),


rule import_ratings:
    input:
        key="<suite>/keys/judges/{benchmark}/{protocol}/{judge}.json",
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
        command("import_ratings")


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
        responses="<suite>/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
        replies="<suite>/judge_responses/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
        ratings=SUITE.scores.ratings,
        facts=SUITE.scores.facts,
    output:
        authors="<suite>/verdicts/{benchmark}/{protocol}/{sampling}/{model}/{judge}.authors.parquet",
        robust="<suite>/verdicts/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
        metrics="<suite>/metrics/{benchmark}/{protocol}/{sampling}/{model}/{judge}.parquet",
    log:
        "<suite>/logs/score/{benchmark}/{protocol}/{sampling}/{model}/{judge}.log",
    localrule: True
    params:
        judge="{judge}",
    shell:
        command("judgements", "metrics")


rule health:
    input:
        key="<suite>/keys/health.json",
        metrics=SUITE.scores.every,
    output:
        csv="<suite>/health.csv",
    log:
        "<suite>/logs/health.log",
    localrule: True
    shell:
        command("health")

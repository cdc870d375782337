# What the readers make of the answers, and what the benchmark makes of that.


rule verdicts:
    input:
        key="results/{suite}/keys/verdicts/{benchmark}.json",
        run_key="results/{suite}/keys/{benchmark}/{protocol}/{sampling}/{model}.json",
        requests="results/{suite}/requests/{benchmark}/{protocol}.parquet",
        responses="results/{suite}/responses/{benchmark}/{protocol}/{sampling}/{model}.parquet",
    output:
        authors="results/{suite}/verdicts/{benchmark}/{protocol}/{sampling}/{model}/authors.parquet",
        robust="results/{suite}/verdicts/{benchmark}/{protocol}/{sampling}/{model}/robust.parquet",
    log:
        "results/{suite}/logs/verdicts/{benchmark}/{protocol}/{sampling}/{model}.log",
    shell:
        "{PYTHON:q} -m reprise.verdicts --key {input.key} --run-key {input.run_key} --protocol {wildcards.protocol}"
        " --requests {input.requests} --responses {input.responses} --store {STORE:q}"
        " --authors {output.authors} --robust {output.robust} 2> {log}"


rule metrics:
    input:
        key="results/{suite}/keys/metrics/{benchmark}.json",
        run_key="results/{suite}/keys/{benchmark}/{protocol}/{sampling}/{model}.json",
        item_table="results/{suite}/annotations/{benchmark}/items.parquet",
        authors="results/{suite}/verdicts/{benchmark}/{protocol}/{sampling}/{model}/authors.parquet",
        robust="results/{suite}/verdicts/{benchmark}/{protocol}/{sampling}/{model}/robust.parquet",
    output:
        "results/{suite}/metrics/{benchmark}/{protocol}/{sampling}/{model}.parquet",
    log:
        "results/{suite}/logs/metrics/{benchmark}/{protocol}/{sampling}/{model}.log",
    shell:
        "{PYTHON:q} -m reprise.metrics --key {input.key} --run-key {input.run_key} --protocol {wildcards.protocol}"
        " --items {input.item_table} --authors {input.authors} --robust {input.robust} --out {output} 2> {log}"
